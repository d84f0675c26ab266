import { environment, setVariable } from "../platform/environment.ts";
import { linesIn, readStored, type StoredTokens } from "./stored_tokens.ts";
import { isOfAnother } from "./whose.ts";
import { makeTokens, type Tokens } from "../provider/tokens.ts";
import { AUDIENCE_VARIABLE, audienceText, type Trust } from "../settings/trust.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";

/** Copies the tokens to the process environment, for child processes and other clients. */
export class EnvironmentMirror {
  /** The values that this session set, by the name of the variable. */
  readonly #mirrored = new Map<string, string>();

  /**
   * Sets the variables, unless they contain the tokens of another session or the permission to set
   * them is missing.
   */
  show(tokens: Tokens | undefined, configuration: Configuration): void {
    const { exportEnv } = configuration;
    if (tokens === undefined || exportEnv === "none") return this.withdraw();
    const isOurs = environment("ACCESS_TOKEN") === this.#mirrored.get("ACCESS_TOKEN");
    const { trust } = configuration.settings;
    // Tokens that the user put into the environment are kept if this session does not use them.
    if (!isOurs && (isApart(trust) || tokensInEnvironment(configuration, tokens).note)) return;
    const { accessToken, refreshToken } = tokens;
    this.#put("ACCESS_TOKEN", accessToken.reveal());
    if (exportEnv === "both") this.#put("REFRESH_TOKEN", refreshToken?.reveal() ?? "");
    // AUDIENCE_VARIABLE lets child processes send ACCESS_TOKEN to the hosts in the `.env`, so it
    // is set only if this session set ACCESS_TOKEN.
    const isPut = this.#mirrored.has("ACCESS_TOKEN");
    if (isPut && trust.audience !== undefined) {
      this.#put(AUDIENCE_VARIABLE, audienceText(trust.audience));
    }
  }

  /** Removes the values that this session set. */
  withdraw(): void {
    for (const [variable, text] of this.#mirrored) {
      if (environment(variable) === text) setVariable(variable, "");
    }
    this.#mirrored.clear();
  }

  /**
   * Removes the tokens of an ended session: the values that this session set, and tokens of the
   * same account that already existed, for example because a `.env` was loaded into the
   * environment.
   */
  clear(ended: Tokens | undefined, configuration: Configuration): void {
    const { exportEnv, settings: { trust } } = configuration;
    const isKept = exportEnv === "none" || isApart(trust);
    const { own } = isKept ? {} : tokensInEnvironment(configuration, ended);
    this.withdraw();
    if (own === undefined) return;
    setVariable("ACCESS_TOKEN", "");
    setVariable("REFRESH_TOKEN", "");
  }

  #put(variable: string, text: string): void {
    // An equal value is not recorded: it is already recorded, or it existed before this session,
    // and `withdraw()` must not remove it.
    if (environment(variable) === text) return;
    setVariable(variable, text);
    this.#mirrored.set(variable, text);
  }
}

/**
 * Returns the tokens at first use: those of the store, or those in the environment if they are
 * newer and belong to the same client and account. The environment may contain an outdated copy of
 * the `.env`, so the claim `iat` decides which tokens are newer.
 */
export function firstTokens(
  configuration: Configuration,
  notices: Notices,
  kept: Tokens | undefined,
): Tokens | undefined {
  if (configuration.exportEnv === "none") return kept;
  const { own, note } = tokensInEnvironment(configuration, kept);
  notices.set({ ENVIRONMENT_IGNORED: note });
  if (configuration.settings.trust.isFound) return kept;
  if (own === undefined || kept === undefined) return own ?? kept;
  if ((own.claims.iat ?? 0) <= (kept.claims.iat ?? 0)) return kept;
  if (own.refreshToken) return own;
  const { authenticatedAt, learned, refreshToken } = kept;
  return { ...own, refreshToken, authenticatedAt, learned };
}

/**
 * Returns the tokens in the environment if they belong to this session. Other programs also use
 * ACCESS_TOKEN. If the settings or the stored tokens contain a client, the token must therefore
 * belong to that client.
 *
 * @returns The tokens, or a `note` that says why they are ignored.
 */
function tokensInEnvironment(
  { issuer, world }: Configuration,
  kept: Tokens | undefined,
): { own?: Tokens; note?: StoredTokens["note"] } {
  const clientId = issuer.clientId ?? kept?.claims.clientId;
  const { parts, note } = readStored(linesIn(environment), "environment", { ...issuer, clientId });
  if (parts === undefined) return note === undefined ? {} : { note };
  const own = makeTokens(parts, world);
  if (kept !== undefined && own.accessToken.reveal() === kept.accessToken.reveal()) return { own };
  if (!isOfAnother(own.claims, clientId, kept?.claims)) return { own };
  return {
    note: {
      problem: "the tokens in the environment do not belong to the app client and the account of " +
        "this session, so they are neither used nor replaced",
      fix: "unset ACCESS_TOKEN and REFRESH_TOKEN if no other program needs them",
    },
  };
}

/**
 * Whether a session ignores the tokens that the user put into the environment. It does if a `.env`
 * that was found contains hosts, which must not receive these tokens.
 */
function isApart({ isFound, withheld }: Trust): boolean {
  return isFound || withheld !== undefined;
}
