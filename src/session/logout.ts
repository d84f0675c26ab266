import { ConfigError } from "../errors/errors.ts";
import type { Advice, Fix } from "../errors/advice.ts";
import type { SignOutResult } from "../provider/sign_out.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Configuration } from "./configuration.ts";
import { SharedWork } from "./shared_work.ts";

/**
 * What a logout requests from the provider: nothing, the revocation of this session, or the end of
 * all sessions of the account.
 */
export type RemoteLogout = "keep" | "revoke" | "everywhere";

const BY_STRENGTH: readonly RemoteLogout[] = ["keep", "revoke", "everywhere"];

/** The provider signs out other devices only if the request contains a valid access token. */
const TO_END_OTHERS: Fix = [
  "to sign out other devices, run ",
  { call: "login" },
  " first, then log out again",
];

const COPIES_STAY_VALID = "delete any copies of the tokens, because they stay valid";

/** What a logout removed from this computer. */
export interface Removed {
  /** The tokens that the session had. */
  readonly tokens: readonly (Tokens | undefined)[];
  /** The reason why the store still contains the tokens. */
  readonly problem?: ConfigError | undefined;
}

/**
 * A logout in progress, and the callers waiting for it. A second call of `logout()` joins the
 * first, so that both return the same result. The logout takes effect when the tokens are removed
 * from memory. Afterwards, a caller can only stop waiting for the provider.
 */
export class Logout extends SharedWork<SignOutResult["ended"]> {
  /** Settled when the tokens are removed from this computer, or could not be removed. */
  removed: Promise<Removed> = Promise.resolve({ tokens: [] });
  /** The strongest request of the callers. */
  remote: RemoteLogout = "keep";
  /** The position of the latest caller in the order of logins and logouts. */
  order = 0;

  /** Adds the request of one more caller, when the logout takes effect. */
  ask(remote: RemoteLogout, order: number): void {
    if (BY_STRENGTH.indexOf(remote) > BY_STRENGTH.indexOf(this.remote)) this.remote = remote;
    this.order = order;
  }
}

/**
 * Ends a session at the provider, after it was ended on this computer. The provider revokes the
 * tokens even if the store cannot be written, so that the tokens in the store become useless.
 *
 * @param place Where the tokens were stored; `undefined`: nowhere.
 * @returns Where the session was ended, and a notice if that is less than was requested.
 * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if the store still contains
 * the tokens.
 */
export async function finishLogout(
  { remote, givenUp }: Logout,
  configuration: Configuration,
  { tokens, problem }: Removed,
  place: string | undefined,
): Promise<Pick<SignOutResult, "ended"> & { readonly notice: Advice | undefined }> {
  const { ended, problem: missed } = await signOutAtProvider(
    configuration,
    tokens,
    remote,
    givenUp,
  );
  if (problem) {
    throw new ConfigError(
      problem.code,
      `${problem.problem} (the session has ended here; ${place} may still contain its tokens)`,
      problem.fix,
      problem.cause,
    );
  }
  const notice = missed === undefined ? undefined : {
    problem: `signed out here, but ${missed}`,
    fix: remote === "everywhere" ? TO_END_OTHERS : COPIES_STAY_VALID,
  };
  return { ended, notice };
}

async function signOutAtProvider(
  configuration: Configuration,
  tokens: readonly (Tokens | undefined)[],
  remote: RemoteLogout,
  signal: AbortSignal,
): Promise<SignOutResult> {
  if (remote === "keep") return { ended: "here" };
  try {
    // Few processes log out, so this module is loaded on demand.
    const { endAtProvider } = await import("../provider/sign_out.ts");
    return await endAtProvider(configuration, tokens, remote === "everywhere", signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return {
      ended: "here",
      problem: "perhaps not at the provider: the wait for its response was canceled",
    };
  }
}
