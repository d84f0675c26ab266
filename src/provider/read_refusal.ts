import { type ChallengeErrorCode, isTransient, type ProviderErrorCode } from "../errors/errors.ts";
import type { ProviderAnswer, ProviderRequest, Refused } from "./protocol.ts";
import { redact } from "../values/secret.ts";

/**
 * What an answer without tokens means. The document shows no errors (section 7): the names and
 * sentences are those of the real service, in every form in which such services send them.
 *
 * @param odd What is wrong with an answer whose status says success.
 */
export function refusalOf(
  sent: Pick<ProviderRequest, "flow" | "secrets">,
  answer: ProviderAnswer,
  json: unknown,
  odd?: string,
): Refused {
  const { status, headers } = answer;
  const quote = (text: string, length?: number) => redact(text, sent.secrets, length);
  const { name, message } = errorOf(answer, json);
  const requestId = headers.get("x-amzn-requestid") ?? headers.get("x-request-id") ?? undefined;
  const succeeded = status >= 200 && status <= 299;
  const code = headers.has("x-amzn-waf-action")
    ? "BLOCKED"
    : succeeded || (name === "" && status < 500 && status !== 429)
    ? "UNEXPECTED_RESPONSE"
    : codeOf(name, message, status, sent.flow);
  const shownName = WELL_KNOWN.has(name) ? name : quote(name, 80);
  const sentence = message.replace(/\.$/, "");
  const said = FIXED.has(sentence) || POLICY.test(sentence)
    ? sentence
    : quote(sentence || "no message");
  const seen = name === "" ? describe(answer, json) : `${shownName}: ${said}`;
  return {
    kind: "refused",
    code,
    repeatable: isTransient(code) && name !== "LimitExceededException",
    isFinal: code === "REFRESH_REJECTED" &&
      (/refresh token has (expired|been revoked)|invalid refresh token/i.test(message) ||
        name === REUSE),
    ...(name === REUSE && { reused: true }),
    seen: `status ${status}, ${odd === undefined ? seen : quote(odd)}`,
    status,
    ...(name !== "" && { providerCode: shownName }),
    ...(requestId !== undefined && { requestId: quote(requestId, 80) }),
    ...(name !== "" && { message: said }),
    ...(name === "ExpiredCodeException" && { codeAlreadyUsed: true }),
  };
}

/** Name and message of an error, from the body's `__type` or `code`, the header, or plain text. */
function errorOf(answer: ProviderAnswer, json: unknown): { name: string; message: string } {
  const body = typeof json === "object" && json !== null ? json as Record<string, unknown> : {};
  const text = (...values: unknown[]) => values.find((v) => typeof v === "string" && v !== "");
  const message = String(text(body.message, body.Message, body.error_description) ?? "");
  const named = text(body.__type, body.code, body.Code, answer.headers.get("x-amzn-errortype")) ??
    (json === undefined ? /^\s*([\w.#]+Exception)\b/.exec(answer.text)?.[1] : undefined) ?? "";
  // "com.example#Name" and "Name:http://…" both name Name.
  const name = String(named).split("#").at(-1)?.split(":")[0]?.trim() ?? "";
  const plain = json === undefined && name !== ""
    ? answer.text.slice(answer.text.indexOf(name) + name.length).replace(/^[:\s]+/, "")
    : "";
  return { name, message: message || (plain.startsWith("<") ? "" : plain) };
}

const REUSE = "RefreshTokenReuseException";

const REJECTED_CREDENTIALS = new Set([
  "NotAuthorizedException",
  "InvalidPasswordException",
  "UserNotFoundException",
  REUSE,
]);

/** Why a provider did not end a session, where its own sentence does not say it. */
const NOT_ENDED: Readonly<Record<string, string>> = {
  UnsupportedTokenTypeException: "its refresh tokens cannot be revoked",
  UnsupportedOperationException: "revocation is switched off for the app client",
  UnauthorizedException: "the refresh token does not belong to the app client",
  UnknownOperationException: "it knows no such operation",
};

/** Why a provider did not end a session, for people. */
export function whyNotEnded({ providerCode = "", seen }: Refused): string {
  return Object.hasOwn(NOT_ENDED, providerCode) ? `${NOT_ENDED[providerCode]} (${seen})` : seen;
}

const THROTTLED = new Set(["TooManyRequestsException", "LimitExceededException"]);

const NAMED: Readonly<Record<string, ProviderErrorCode>> = {
  TooManyFailedAttemptsException: "LOCKED_OUT",
  ResourceNotFoundException: "CLIENT_UNKNOWN",
  PasswordResetRequiredException: "PASSWORD_RESET_REQUIRED",
  UserNotConfirmedException: "USER_NOT_CONFIRMED",
  InternalErrorException: "SERVER_ERROR",
  ForbiddenException: "BLOCKED",
};

/** What else is refused in a further step of a login. */
const STEP_NAMED: Readonly<Record<string, ChallengeErrorCode>> = {
  CodeMismatchException: "CODE_REJECTED",
  ExpiredCodeException: "CODE_REJECTED",
  // What the real service says of a wrong code for a new authenticator.
  EnableSoftwareTokenMFAException: "CODE_REJECTED",
  InvalidPasswordException: "NEW_PASSWORD_REJECTED",
  PasswordHistoryPolicyViolationException: "NEW_PASSWORD_REJECTED",
  NotAuthorizedException: "CHALLENGE_EXPIRED",
  UserNotFoundException: "CHALLENGE_EXPIRED",
};

/** Sentences of the real service. They are shown even if a password contains one of their words. */
const FIXED: ReadonlySet<string> = new Set([
  "Incorrect username or password",
  "Password attempts exceeded",
  "Temporary password has expired and must be reset by an administrator",
  "Password reset required for the user",
  "User is disabled",
  "Password has previously been used",
  "Rate exceeded",
]);

/** The real service's sentences about a new password, which are shown likewise. */
const POLICY =
  /^Password d(?:oes|id) not conform (?:to|with) (?:the )?(?:password )?policy(?:: Password (?:must have (?:uppercase|lowercase|numeric|symbol) characters|not long enough|has previously been used))?$/;

/** Names that are shown likewise. */
const WELL_KNOWN: ReadonlySet<string> = new Set([
  ...REJECTED_CREDENTIALS,
  ...THROTTLED,
  ...Object.keys(NAMED),
  ...Object.keys(STEP_NAMED),
  ...Object.keys(NOT_ENDED),
  "InvalidParameterException",
]);

/** One name stands for many causes: these are told by the message. */
const SAID: readonly (readonly [RegExp, ProviderErrorCode])[] = [
  [/password attempts exceeded/i, "LOCKED_OUT"],
  [/secret_? ?hash|secret was not received/i, "SECRET_HASH_REJECTED"],
  [/security reasons/i, "BLOCKED"],
  [/user is disabled/i, "USER_DISABLED"],
  [/temporary password has expired/i, "PASSWORD_RESET_REQUIRED"],
];

function codeOf(
  name: string,
  message: string,
  status: number,
  flow: ProviderRequest["flow"],
): Refused["code"] {
  if (status === 429 || THROTTLED.has(name) || name.startsWith("Throttling")) return "THROTTLED";
  if (status >= 500) return "SERVER_ERROR";
  const said = SAID.find(([pattern]) => pattern.test(message));
  if (said) return said[1];
  if (flow === "challenge" && Object.hasOwn(STEP_NAMED, name)) {
    return STEP_NAMED[name] ?? "REJECTED";
  }
  if (REJECTED_CREDENTIALS.has(name)) {
    if (flow === "login" || flow === "challenge") return "INVALID_CREDENTIALS";
    return flow === "refresh" ? "REFRESH_REJECTED" : "REJECTED";
  }
  if (
    name === "InvalidParameterException" && /\bflow\b|auth method not supported/i.test(message)
  ) return "FLOW_DISABLED";
  return Object.hasOwn(NAMED, name) ? NAMED[name] ?? "REJECTED" : "REJECTED";
}

/** What kind of body it is. It is not quoted: it may repeat what was sent. */
function describe(answer: ProviderAnswer, json: unknown): string {
  const { status, text } = answer;
  if (status >= 300 && status < 400) return "a redirect";
  if (text.trim() === "") return "an empty body";
  if (/^\s*</.test(text)) return `an HTML or XML page of ${text.length} characters`;
  if (json === undefined) return `${text.length} characters that are not whole JSON`;
  if (Array.isArray(json)) return "a JSON array";
  return typeof json === "object" && json !== null
    ? "a JSON object without an error name"
    : `JSON null, text or a number`;
}
