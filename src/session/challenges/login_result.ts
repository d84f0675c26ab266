import type { Provider } from "../../provider/provider.ts";
import type { Hold } from "../../provider/hold.ts";
import type { TokenResult } from "../../provider/token_request.ts";
import type { Tokens } from "../../provider/tokens.ts";
import type { ConfigError } from "../../errors/errors.ts";
import type { Settings } from "../../settings/settings.ts";
import type { World } from "../../platform/world.ts";
import type { NoticeTexts } from "../notices.ts";
import type { AuthenticatorKey } from "./challenge.ts";

/** The tokens of a login. The session changes only when the engine applies these tokens. */
export interface LoginResult {
  readonly tokens: Tokens;
  /** The provider's clock minus this machine's, in milliseconds, if the login showed it. */
  readonly clockOffsetMs?: number | undefined;
  /** Notices for the user, by code; `undefined` removes a notice. */
  readonly notices: NoticeTexts;
}

/** A login by user name and password. */
export interface PasswordLogin {
  readonly provider: Provider;
  readonly world: World;
  readonly settings: Settings;
  /** The name that the user typed or configured. */
  readonly username: string;
}

/** The services of a session for a login by password. */
export interface LoginSupport {
  readonly hold: Hold;
  /** Returns an error if the store cannot keep a session of this user. */
  wrongAccount(username: string): ConfigError | undefined;
  /**
   * Shows a key for an authenticator app under the running cell, or its QR code in the terminal.
   * @returns A function that removes the key from the output.
   */
  showKey(key: AuthenticatorKey): Promise<() => Promise<void>>;
}

/** Makes the result of a login, once the provider has issued tokens. */
export function loginResult(
  { settings, username }: PasswordLogin,
  tokens: Tokens,
  { clockOffsetMs }: TokenResult,
  hasNewPassword: boolean,
): LoginResult {
  const isOld = hasNewPassword && settings.origin("password") !== undefined;
  const problem = `the account has a new password; ${settings.placeOf("password")} is the old one`;
  return {
    tokens: { ...tokens, learned: { ...tokens.learned, loginName: username } },
    clockOffsetMs,
    notices: { OLD_PASSWORD: isOld ? { problem, fix: "replace it" } : undefined },
  };
}
