import type { ProviderSettings } from "../../provider/protocol.ts";
import type { TokenResult } from "../../provider/token_request.ts";
import type { Tokens } from "../../provider/tokens.ts";
import type { ConfigError } from "../../errors/errors.ts";
import type { Settings } from "../../settings/settings.ts";
import type { World } from "../../platform/world.ts";
import type { NoticeTexts } from "../notices.ts";
import type { SessionStatus } from "../status.ts";
import type { AuthenticatorKey } from "./challenge.ts";

/** The tokens of a login. Nothing has changed until the session takes them over. */
export interface LoginResult {
  readonly tokens: Tokens;
  /** The provider's clock minus this machine's, in milliseconds, if the login showed it. */
  readonly clockOffsetMs: number | undefined;
  /** What the user should know, by code; `undefined` removes a notice. */
  readonly notices: NoticeTexts;
}

/** A login by user name and password. */
export interface PasswordLogin {
  readonly provider: ProviderSettings;
  readonly world: World;
  readonly settings: Settings;
  /** The name that the user logs in with. */
  readonly username: string;
  /** Without it, no step is answered by a later call, and no authenticator key is requested. */
  readonly support: StepSupport | undefined;
}

/** What a session offers to a login by password. */
export interface StepSupport {
  /** Why its store cannot keep the session of this user. */
  refusal(username: string): ConfigError | undefined;
  /** Loads the display of a key for an authenticator app. */
  keyDisplay(): Promise<KeyDisplay>;
  /**
   * Runs the rest of the login in a later call, and keeps its result as `login()` does.
   *
   * @param work Receives whether no later login or logout has won.
   */
  inLaterCall(
    work: (signal: AbortSignal | undefined, isWanted: boolean) => Promise<LoginResult>,
  ): Promise<SessionStatus>;
}

/** How a notebook shows a key for an authenticator app. */
interface KeyDisplay {
  /** Makes a key show as text and picture if it is the value of a cell. */
  displayableKey(key: AuthenticatorKey): AuthenticatorKey;
  /** Shows it now. @returns Removes it from the output again. */
  showKey(key: AuthenticatorKey): Promise<() => Promise<void>>;
}

/** The result of a login, once the provider has issued tokens. */
export function loginResult(
  { settings, username }: PasswordLogin,
  tokens: Tokens,
  { clockOffsetMs, warning }: TokenResult,
  hasNewPassword: boolean,
): LoginResult {
  const isOld = hasNewPassword && settings.origin("password") !== undefined;
  const problem = `the account has a new password; ${settings.placeOf("password")} is the old one`;
  return {
    tokens: { ...tokens, learned: { ...tokens.learned, loginName: username } },
    clockOffsetMs,
    notices: {
      DEVICE_NOT_CONFIRMED: warning,
      OLD_PASSWORD: isOld ? { problem, fix: "replace it" } : undefined,
    },
  };
}
