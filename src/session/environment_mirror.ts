import { environment, mayUseVariable } from "../platform/environment.ts";
import { Secret } from "../platform/secret.ts";
import { linesOf, readStored, type StoredTokens } from "./stored_tokens.ts";
import { accountOf, makeTokens, type Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";

/** The tokens in the process environment: what child processes and other clients find there. */
export class EnvironmentMirror {
  /** What this session put there, by variable. */
  readonly #mirrored = new Map<string, Secret>();

  /**
   * Puts the tokens there, where the permission is there, or takes out what was put there. What is
   * somebody else's stays.
   */
  show(tokens: Tokens | undefined, configuration: Configuration): void {
    const { exportEnv } = configuration;
    if (tokens === undefined || exportEnv === "none") return this.withdraw();
    const isFree = environment("ACCESS_TOKEN") === this.#mirrored.get("ACCESS_TOKEN")?.reveal();
    if (!isFree && tokensInEnvironment(configuration, tokens).note !== undefined) return;
    this.#put("ACCESS_TOKEN", tokens.accessToken);
    if (exportEnv !== "both") return;
    this.#put("REFRESH_TOKEN", tokens.refreshToken);
    // A child process needs this line to refresh: it names the device and the form of the request.
    const facts = linesOf(tokens).get("AUTH_SESSION");
    this.#put("AUTH_SESSION", facts === undefined ? undefined : new Secret(facts));
  }

  /** Takes out what this session put there. */
  withdraw(): void {
    for (const [variable, value] of this.#mirrored) {
      if (environment(variable) === value.reveal()) set(variable, undefined);
    }
    this.#mirrored.clear();
  }

  /**
   * Takes out the tokens of a session that ended: what this session put there, and copies of its
   * tokens that were there before, such as those of a `.env` that was loaded into the environment.
   */
  clear(ended: Tokens | undefined, configuration: Configuration): void {
    this.withdraw();
    if (configuration.exportEnv === "none") return;
    const { own } = tokensInEnvironment(configuration, ended);
    const refreshToken = ended?.refreshToken?.reveal();
    const isCopy = refreshToken !== undefined && environment("REFRESH_TOKEN") === refreshToken;
    if (own !== undefined) set("ACCESS_TOKEN", undefined);
    if (own === undefined && !isCopy) return;
    set("REFRESH_TOKEN", undefined);
    set("AUTH_SESSION", undefined);
  }

  #put(variable: string, value: Secret | undefined): void {
    const text = value?.reveal() || undefined;
    // An equal value is not ours to withdraw, or is already recorded.
    if (environment(variable) === text) return;
    set(variable, text);
    if (value !== undefined && text !== undefined) this.#mirrored.set(variable, value);
    else this.#mirrored.delete(variable);
  }
}

/**
 * The tokens to begin with: those of the store, or later ones of the same client and account in the
 * environment. Of those two `iat` decides, as a `.env` that was loaded into the environment is a
 * stale copy of itself.
 */
export function firstTokens(
  configuration: Configuration,
  notices: Notices,
  kept: Tokens | undefined,
): Tokens | undefined {
  if (configuration.exportEnv === "none") return kept;
  const { own, note } = tokensInEnvironment(configuration, kept);
  if (note === undefined) notices.clear("ENVIRONMENT_IGNORED");
  else notices.set("ENVIRONMENT_IGNORED", note.problem, note.fix);
  if (own === undefined || kept === undefined) return own ?? kept;
  if ((own.claims.iat ?? 0) <= (kept.claims.iat ?? 0)) return kept;
  if (own.refreshToken) return own;
  const { authenticatedAt, learned, refreshToken } = kept;
  return { ...own, refreshToken, authenticatedAt, learned };
}

/**
 * The tokens in the environment if they are this session's. Where the settings or the kept tokens name
 * a client, a token must name the same one; a variable like ACCESS_TOKEN is used by others, too.
 *
 * @returns Why they are passed over as `note`.
 */
function tokensInEnvironment(
  { settings, world }: Configuration,
  kept: Tokens | undefined,
): { own?: Tokens; note?: StoredTokens["note"] } {
  const clientId = settings.text("clientId") ?? kept?.claims.clientId;
  const { parts, note } = readStored(environment, "environment", clientId, world.now());
  if (parts === undefined) return note === undefined ? {} : { note };
  const own = makeTokens(parts, world);
  if (kept !== undefined && own.accessToken.reveal() === kept.accessToken.reveal()) return { own };
  const other = (what: string) => ({
    note: {
      problem: `the tokens in the environment ${what}: they are neither used nor replaced`,
      fix: "unset ACCESS_TOKEN and REFRESH_TOKEN if nobody needs them",
    },
  });
  if (clientId !== undefined && own.claims.clientId !== clientId) {
    return other(
      own.claims.clientId === undefined
        ? "do not name the app client of this session"
        : "belong to another app client",
    );
  }
  const account = kept && accountOf(kept.claims);
  if (kept !== undefined && account !== accountOf(own.claims)) {
    return other("belong to another account");
  }
  return { own };
}

function set(variable: string, value: string | undefined): void {
  if (!mayUseVariable(variable)) return;
  if (value) Deno.env.set(variable, value);
  else Deno.env.delete(variable);
}
