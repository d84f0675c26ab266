import { environment, mayUseVariable } from "../platform/environment.ts";
import type { Secret } from "../platform/secret.ts";
import { readStored, type StoredTokens } from "./stored_tokens.ts";
import { accountOf, makeTokens, type Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";

/** Sets the tokens in the process environment, for child processes and other clients. */
export class EnvironmentMirror {
  /** What this session set, by variable. */
  readonly #mirrored = new Map<string, Secret>();

  /** Sets the tokens, unless the variables contain other tokens or may not be set. */
  show(tokens: Tokens | undefined, configuration: Configuration): void {
    const { exportEnv } = configuration;
    if (tokens === undefined || exportEnv === "none") return this.withdraw();
    const isOurs = environment("ACCESS_TOKEN") === this.#mirrored.get("ACCESS_TOKEN")?.reveal();
    if (!isOurs && tokensInEnvironment(configuration, tokens).note !== undefined) return;
    this.#put("ACCESS_TOKEN", tokens.accessToken);
    if (exportEnv === "both") this.#put("REFRESH_TOKEN", tokens.refreshToken);
  }

  /** Removes what this session set. */
  withdraw(): void {
    for (const [variable, value] of this.#mirrored) {
      if (environment(variable) === value.reveal()) set(variable, undefined);
    }
    this.#mirrored.clear();
  }

  /**
   * Removes the tokens of a session that ended: those that this session set, and copies that existed
   * before, such as those of a `.env` that was loaded into the environment.
   */
  clear(ended: Tokens | undefined, configuration: Configuration): void {
    this.withdraw();
    if (configuration.exportEnv === "none") return;
    const { own } = tokensInEnvironment(configuration, ended);
    const refreshToken = ended?.refreshToken?.reveal();
    const isCopy = refreshToken !== undefined && environment("REFRESH_TOKEN") === refreshToken;
    if (own !== undefined) set("ACCESS_TOKEN", undefined);
    if (own !== undefined || isCopy) set("REFRESH_TOKEN", undefined);
  }

  #put(variable: string, value: Secret | undefined): void {
    const text = value?.reveal() || undefined;
    // An equal value existed before this session, or is already recorded.
    if (environment(variable) === text) return;
    set(variable, text);
    if (value !== undefined && text !== undefined) this.#mirrored.set(variable, value);
    else this.#mirrored.delete(variable);
  }
}

/**
 * The tokens at first use: those of the store, or newer ones of the same client and account in the
 * environment. `iat` decides, because a `.env` loaded into the environment is a stale copy of itself.
 */
export function firstTokens(
  configuration: Configuration,
  notices: Notices,
  kept: Tokens | undefined,
): Tokens | undefined {
  if (configuration.exportEnv === "none") return kept;
  const { own, note } = tokensInEnvironment(configuration, kept);
  notices.replace({ ENVIRONMENT_IGNORED: note });
  if (own === undefined || kept === undefined) return own ?? kept;
  if ((own.claims.iat ?? 0) <= (kept.claims.iat ?? 0)) return kept;
  if (own.refreshToken) return own;
  const { authenticatedAt, learned, refreshToken } = kept;
  return { ...own, refreshToken, authenticatedAt, learned };
}

/**
 * The tokens in the environment if they belong to this session. If the settings or the stored tokens
 * name a client, a token must name the same one, because other programs use ACCESS_TOKEN too.
 *
 * @returns Why they are ignored as `note`.
 */
function tokensInEnvironment(
  { settings, world }: Configuration,
  kept: Tokens | undefined,
): { own?: Tokens; note?: StoredTokens["note"] } {
  const clientId = settings.text("clientId") ?? kept?.claims.clientId;
  const { parts, note } = readStored(environment, "environment", clientId);
  if (parts === undefined) return note === undefined ? {} : { note };
  const own = makeTokens(parts, world);
  if (kept !== undefined && own.accessToken.reveal() === kept.accessToken.reveal()) return { own };
  const other = (what: string) => ({
    note: {
      problem: `the tokens in the environment ${what}: they are not used or replaced`,
      fix: "unset ACCESS_TOKEN and REFRESH_TOKEN if no other program needs them",
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
