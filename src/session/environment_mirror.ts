import { readStored, type StoredTokens } from "../values/stored_tokens.ts";
import type { Secret } from "../values/secret.ts";
import type { SessionContext } from "./configuration.ts";
import { environment, mayUseVariable } from "../runtime/environment.ts";
import { accountOf, makeTokens, type Tokens } from "../values/tokens.ts";

/**
 * The newer of the file's tokens and those in the process environment: a `.env` that was loaded into
 * the environment is a stale copy of itself.
 */
export function newerOf(context: SessionContext, file: Tokens | undefined): Tokens | undefined {
  if (context.exportEnv === "none") return file;
  const { settings, world, warnings } = context;
  const found: StoredTokens = readStored(
    environment,
    "environment",
    settings.text("clientId"),
    world.now(),
  );
  if (found.note) warnings.set("environment", found.note);
  if (!found.parts) return file;
  const own = makeTokens(found.parts, world);
  if (!file) return own;
  if ((own.claims.iat ?? 0) <= (file.claims.iat ?? 0)) return file;
  const account = accountOf(own.claims);
  const sameAccount = account !== undefined && account === accountOf(file.claims) &&
    own.claims.clientId === file.claims.clientId;
  if (own.refreshToken || !sameAccount) return own;
  return { ...own, refreshToken: file.refreshToken, authenticatedAt: file.authenticatedAt };
}

/** Mirrors the tokens to the process environment, where the permission is there. */
export function exportTokens(context: SessionContext, tokens: Tokens): void {
  const { exportEnv } = context;
  if (exportEnv === "none") return;
  mirror(context, "ACCESS_TOKEN", tokens.accessToken);
  if (exportEnv === "both") mirror(context, "REFRESH_TOKEN", tokens.refreshToken);
}

/** Takes out of the process environment what this session put there. */
export function withdrawTokens(context: SessionContext): void {
  for (const [variable, value] of context.mirrored) {
    if (environment(variable) === value.reveal()) set(variable, undefined);
  }
  context.mirrored.clear();
}

/** Takes the tokens out of the process environment, unless the session keeps out of it. */
export function clearEnvironment(context: SessionContext): void {
  withdrawTokens(context);
  if (context.exportEnv === "none") return;
  set("ACCESS_TOKEN", undefined);
  set("REFRESH_TOKEN", undefined);
}

function mirror(context: SessionContext, variable: string, value: Secret | undefined): void {
  const text = value?.reveal() || undefined;
  // What is there already was put there by somebody else, or was noted then.
  if (environment(variable) === text) return;
  set(variable, text);
  if (value !== undefined && text !== undefined) context.mirrored.set(variable, value);
  else context.mirrored.delete(variable);
}

function set(variable: string, value: string | undefined): void {
  if (!mayUseVariable(variable)) return;
  if (value) Deno.env.set(variable, value);
  else Deno.env.delete(variable);
}
