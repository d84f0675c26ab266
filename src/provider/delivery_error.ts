import { type Delivery, DOING } from "./send.ts";
import {
  type AuthError,
  ProviderError,
  type ProviderErrorCode,
  SessionExpiredError,
} from "../errors/errors.ts";
import type { ProviderRequest, Refused } from "./protocol.ts";
import { VARIABLES } from "../settings/options.ts";
import type { SettingOrigin } from "../settings/settings.ts";
import { REFRESH_DAYS } from "../values/tokens.ts";

/** The message of each code: what it means, and what to do next. */
const TEXTS: Readonly<Record<ProviderErrorCode, readonly [problem: string, next: string]>> = {
  INVALID_CREDENTIALS: [
    "the provider rejected the user name or the password",
    "check both, then run login() again",
  ],
  LOCKED_OUT: [
    "the provider refuses further attempts after too many wrong passwords or codes",
    "wait up to 15 minutes, then run login() again with the right password; trying before that is " +
    "refused, too, but does not make the wait longer",
  ],
  SECRET_HASH_REJECTED: [
    "the provider rejected SECRET_HASH, or wants one",
    "check APP_CLIENT_SECRET, which must not be empty for a client that has a secret, and APP_CLIENT_ID",
  ],
  CLIENT_UNKNOWN: [
    "the provider knows no such app client",
    "check APP_CLIENT_ID and USER_POOL_ID, and that AUTH_URL is the one of your region",
  ],
  FLOW_DISABLED: [
    "the app client does not allow this way to sign in",
    "ask the support channel of your subscription to enable it, or log in with the portal string",
  ],
  PASSWORD_RESET_REQUIRED: [
    "the provider wants the password to be reset first",
    "reset it in the portal, or have an administrator reset it, then run login() again",
  ],
  USER_DISABLED: [
    "the account is disabled",
    "ask the support channel of your subscription to enable it",
  ],
  USER_NOT_CONFIRMED: [
    "the account is not confirmed yet",
    "follow the link or code in the invitation, then run login() again",
  ],
  BLOCKED: [
    "a protection of the provider blocked the request, whatever the password is",
    "wait, or try from another network; if it stays, give the request id and the time to the " +
    "support channel of your subscription",
  ],
  THROTTLED: ["the provider is receiving too many requests", "wait, then try again"],
  REJECTED: ["the provider rejected the request", "compare the settings with your subscription's"],
  UNEXPECTED_RESPONSE: [
    "the answer is not one of the token endpoint",
    "check AUTH_URL, and whether a proxy or a login page stands in between",
  ],
  UNREACHABLE: [
    "the provider cannot be reached",
    "check AUTH_URL, the network and any proxy, then try again",
  ],
  TIMEOUT: [
    "the provider did not answer in time",
    "try again, or raise AUTH_TIMEOUT_MS (timeoutMs)",
  ],
  SERVER_ERROR: ["the provider failed", "try again in a few minutes"],
};

/** Where user name and password came from: the message of a rejected login says it. */
export interface CredentialOrigins {
  readonly username: SettingOrigin | "typed";
  readonly password: SettingOrigin | "typed";
  /** Path of the `.env`, where one of them came from it. */
  readonly envFile?: string | undefined;
}

/**
 * The error of a request that was refused.
 *
 * @param authenticatedAt Time of the last login, milliseconds since 1970, if known.
 * @param advice What else the user should know before the next try.
 * @param origins Where user name and password came from, if it was a login.
 */
export function deliveryError(
  flow: ProviderRequest["flow"],
  delivery: Delivery,
  now: number,
  authenticatedAt?: number,
  advice?: string,
  origins?: CredentialOrigins,
): AuthError {
  const { attempts, retryAfterSeconds } = delivery;
  const outcome = refusalIn(delivery);
  const cannot = `Cannot ${DOING[flow]}`;
  if (outcome.code === "REFRESH_REJECTED") {
    if (outcome.reused) {
      return new SessionExpiredError(
        "REFRESH_REJECTED",
        `${cannot}: the refresh token was used before (${outcome.seen}), and the one that replaced it ` +
          "is with another program or was lost on its way; let all programs of this account use the " +
          "same .env, and run login({ force: true })",
      );
    }
    const days = authenticatedAt === undefined ? 0 : (now - authenticatedAt) / 86_400_000;
    return days > REFRESH_DAYS
      ? new SessionExpiredError(
        "REFRESH_WINDOW_OVER",
        `${cannot}: the login is ${Math.floor(days)} days old and the provider no longer accepts ` +
          "its refresh token; run login({ force: true })",
      )
      : new SessionExpiredError(
        "REFRESH_REJECTED",
        `${cannot}: the provider rejected the refresh token (${outcome.seen}); run login({ force: true })`,
      );
  }
  const code = isProviderCode(outcome.code) ? outcome.code : "REJECTED";
  const [problem, next] = TEXTS[code];
  const wait = retryAfterSeconds === undefined
    ? ""
    : `; it asks to wait ${retryAfterSeconds} seconds`;
  const notes = [
    code === "INVALID_CREDENTIALS" && origins && originsText(origins),
    advice,
  ].filter((note) => note).map((note) => `; ${note}`).join("");
  const tried = attempts > 1 ? `, after ${attempts} attempts` : "";
  return new ProviderError(
    code,
    `${cannot}: ${problem} (${outcome.seen}${tried})${wait}${notes}`,
    next,
    {
      attempts,
      ...(outcome.status !== undefined && { status: outcome.status }),
      ...(outcome.providerCode !== undefined && { providerCode: outcome.providerCode }),
      ...(outcome.requestId !== undefined && { requestId: outcome.requestId }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      cause: outcome.cause,
    },
  );
}

function originsText({ username, password, envFile = "the .env" }: CredentialOrigins): string {
  const from = (origin: SettingOrigin | "typed", name: "username" | "password") => {
    if (origin === "typed") return "was typed";
    if (origin === "option") return `came as the option ${name}`;
    return `came from ${VARIABLES[name]} in ${origin === "file" ? envFile : "the environment"}`;
  };
  return `the user name ${from(username, "username")}, the password ${from(password, "password")}`;
}

/** What was refused. An answer of another kind than the request asks for is as good as none. */
function refusalIn({ outcome }: Delivery): Refused {
  if (outcome.kind === "refused") return outcome;
  return {
    kind: "refused",
    code: "UNEXPECTED_RESPONSE",
    repeatable: false,
    isFinal: false,
    seen: outcome.kind === "challenge"
      ? `a further step, ${outcome.name}, where none belongs`
      : "an answer to another request",
  };
}

function isProviderCode(code: Refused["code"]): code is ProviderErrorCode {
  return Object.hasOwn(TEXTS, code);
}
