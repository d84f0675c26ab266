import { DOING } from "./protocol.ts";
import type { SendResult } from "./send.ts";
import { type AuthError, ProviderError, SessionExpiredError } from "../errors/errors.ts";
import type { ProviderRequest, RefusalCode, Refused } from "./protocol.ts";
import { MEANINGS } from "./refusals.ts";
import { REFRESH_DAYS } from "./tokens.ts";
import { counted } from "../errors/amounts.ts";

/**
 * Makes the error for a refused request.
 *
 * @param login Time of the login in milliseconds since 1970, if known.
 * @param hints Further parts of the problem.
 * @param doubts Further parts of the fix: what may be wrong with the values that were sent.
 */
export function refusalError(
  flow: ProviderRequest["flow"],
  { outcome, attempts, retryAfterSeconds, sentAt }: SendResult,
  { authenticatedAt = sentAt }: { readonly authenticatedAt?: number | undefined } = {},
  hints: readonly string[] = [],
  doubts: readonly string[] = [],
): AuthError {
  const refused: Refused = outcome.kind === "refused"
    ? outcome
    : { kind: "refused", code: "UNEXPECTED_RESPONSE", seen: "it does not fit this request" };
  const code = hasMeaning(refused.code) ? refused.code : "REJECTED";
  const { problem, fix = "" } = { ...MEANINGS[code], ...refused.advice };
  const cannot = `Cannot ${DOING[flow]}`;
  if (code === "REFRESH_REJECTED") {
    const days = (sentAt - authenticatedAt) / 86_400_000;
    // Specific advice is more helpful than the age of the login, so the age is then not mentioned.
    if (days <= REFRESH_DAYS || refused.advice !== undefined) {
      return new SessionExpiredError(code, `${cannot}: ${problem} (${refused.seen})`, fix);
    }
    return new SessionExpiredError(
      "REFRESH_WINDOW_OVER",
      `${cannot}: the login is ${Math.floor(days)} days old and the provider no longer accepts ` +
        "its refresh token",
      fix,
    );
  }
  const tried = attempts > 1 ? `, after ${attempts} attempts` : "";
  const parts = [`${cannot}: ${problem} (${refused.seen}${tried})`];
  if (retryAfterSeconds !== undefined) {
    parts.push(`the provider asks you to wait ${counted(retryAfterSeconds, "second")}`);
  }
  const { status, providerCode, requestId, cause } = refused;
  const steps = [fix, doubts.map((each) => `; ${each}`)].flat(2);
  return new ProviderError(code, [...parts, ...hints].join("; "), steps, {
    attempts,
    status,
    providerCode,
    requestId,
    retryAfterSeconds,
    cause,
  });
}

function hasMeaning(code: RefusalCode): code is keyof typeof MEANINGS {
  return Object.hasOwn(MEANINGS, code);
}
