import { type Delivery, DOING } from "./send.ts";
import { type AuthError, ProviderError, SessionExpiredError } from "../errors/errors.ts";
import type { ProviderRequest, RefusalCode, Refused } from "./protocol.ts";
import { MEANINGS } from "./refusals.ts";
import { VARIABLES } from "../settings/options.ts";
import type { SettingOrigin } from "../settings/settings.ts";
import { REFRESH_DAYS } from "./tokens.ts";
import { counted } from "../errors/amounts.ts";

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
  const refused = refusalIn(delivery);
  const code = hasMeaning(refused.code) ? refused.code : "REJECTED";
  const { problem, detail = "", fix } = { ...MEANINGS[code], ...refused.words };
  const cannot = `Cannot ${DOING[flow]}`;
  if (code === "REFRESH_REJECTED") {
    const days = authenticatedAt === undefined ? 0 : (now - authenticatedAt) / 86_400_000;
    // Words of its own say more than the age.
    if (days > REFRESH_DAYS && refused.words === undefined) {
      return new SessionExpiredError(
        "REFRESH_WINDOW_OVER",
        `${cannot}: the login is ${Math.floor(days)} days old and the provider no longer accepts ` +
          "its refresh token",
        fix,
      );
    }
    return new SessionExpiredError(code, `${cannot}: ${problem} (${refused.seen})${detail}`, fix);
  }
  const tried = attempts > 1 ? `, after ${attempts} attempts` : "";
  const parts = [`${cannot}: ${problem} (${refused.seen}${tried})${detail}`];
  if (retryAfterSeconds !== undefined) {
    parts.push(`it asks to wait ${counted(retryAfterSeconds, "second")}`);
  }
  if (code === "INVALID_CREDENTIALS" && origins) parts.push(originsText(origins));
  if (advice) parts.push(advice);
  const { status, providerCode, requestId, cause } = refused;
  return new ProviderError(code, parts.join("; "), fix, {
    attempts,
    status,
    providerCode,
    requestId,
    retryAfterSeconds,
    cause,
  });
}

function originsText({ username, password, envFile = "the .env" }: CredentialOrigins): string {
  const { username: USERNAME, password: PASSWORD } = VARIABLES;
  const place = (origin: "file" | "environment") => origin === "file" ? envFile : "the environment";
  if (username === password) {
    if (username === "typed") return "both were typed";
    if (username === "option") return "both came as options";
    return `both came from ${place(username)} (${USERNAME}, ${PASSWORD})`;
  }
  const from = (origin: CredentialOrigins["username"], variable: string) => {
    if (origin === "typed") return "was typed";
    return origin === "option" ? "came as an option" : `came from ${variable} in ${place(origin)}`;
  };
  return `the user name ${from(username, USERNAME)}, the password ${from(password, PASSWORD)}`;
}

/** What was refused. An answer of the wrong kind is treated as `UNEXPECTED_RESPONSE`. */
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

function hasMeaning(code: RefusalCode): code is keyof typeof MEANINGS {
  return Object.hasOwn(MEANINGS, code);
}
