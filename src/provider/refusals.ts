import type { ProviderErrorCode } from "../errors/errors.ts";
import type { Advice, Call, Fix } from "../errors/advice.ts";
import type { ProviderRequest, ProviderResponse, RefusalCode } from "./protocol.ts";

/**
 * A refusal by the provider and its meaning. To support another refusal, add a row to {@linkcode
 * REFUSALS}. The row determines the code, the advice, and whether to try again. Names and messages
 * are those of the real service.
 */
export interface Refusal {
  /** How the name of the error begins. Default: any name. */
  readonly names?: readonly string[];
  /** A pattern for the message. Default: any message. */
  readonly says?: RegExp;
  /** The lowest and the highest HTTP status. If set, only the status decides. */
  readonly status?: readonly [from: number, to: number];
  /** A header of the response. If set, only the presence of this header decides. */
  readonly header?: string;
  /** Purposes of the request. Default: any purpose. */
  readonly flows?: readonly ProviderRequest["flow"][];
  readonly code: RefusalCode;
  /** Replaces the advice of the code in {@linkcode MEANINGS}. */
  readonly advice?: Partial<Advice>;
  /** Whether to repeat the request a little later. Default: whether the code is transient. */
  readonly repeatable?: boolean;
  /** Whether the refresh token will never work again. */
  readonly isFinal?: true;
}

const LOGIN: Call = { call: "login" };
const LOGIN_AGAIN: Call = { call: "login", options: { force: true } };
const SUPPORT = "the support channel of your subscription";

/** Error names that mean a rejected password or refresh token. */
const NOT_ACCEPTED = [
  "NotAuthorizedException",
  "InvalidPasswordException",
  "UserNotFoundException",
];

/** The organization that runs the platform wrote the rule and its message, which the error quotes. */
const BY_RULE: Partial<Advice> = {
  problem: "a rule of your platform refused the request; your settings are not the cause",
  fix: `do what the rule asks for, or ask ${SUPPORT} about it`,
};
/** Error names for a rule that failed. */
const BROKEN_RULE = ["UnexpectedLambdaException", "InvalidLambdaResponseException"];

/** The next step if no code arrives. */
const WITHOUT_SENT_CODE: Fix = [
  "use a code of an authenticator app, or log in with the portal string: run ",
  { call: "login", options: { strategy: "portal" } },
];

/**
 * The first matching row applies. One name has many causes, so rows that match the message come
 * before rows that match only the name.
 */
export const REFUSALS: readonly Refusal[] = [
  // The firewall demands a test that only a browser can pass, and may use any status.
  { header: "x-amzn-waf-action", code: "BLOCKED" },

  { names: ["TooManyRequestsException", "Throttling"], code: "THROTTLED" },
  {
    names: ["LimitExceededException"],
    says: /daily e-?mail limit/i,
    code: "THROTTLED",
    repeatable: false,
    advice: {
      problem: "the provider cannot send more e-mails with codes today",
      fix: WITHOUT_SENT_CODE,
    },
  },
  // The quota covers hours or days, and another attempt would only use up more of the quota.
  { names: ["LimitExceededException"], code: "THROTTLED", repeatable: false },
  { status: [429, 429], code: "THROTTLED" },
  { status: [500, 599], code: "SERVER_ERROR" },

  { names: ["UserLambdaValidationException"], code: "REJECTED", advice: BY_RULE },

  {
    says: /password attempts exceeded/i,
    code: "LOCKED_OUT",
  },
  {
    // The last alternative matches the message of operations that receive the secret itself.
    says: /secret_? ?hash|secret was not received|verify secret for client/i,
    code: "SECRET_HASH_REJECTED",
  },
  { says: /security reasons/i, code: "BLOCKED" },
  { says: /user is disabled/i, code: "USER_DISABLED" },
  {
    says: /temporary password has expired|user account has expired/i,
    code: "PASSWORD_RESET_REQUIRED",
  },

  // The failed request used up the code in the answer, so the request is not repeated.
  { flows: ["challenge"], names: BROKEN_RULE, code: "REJECTED", advice: BY_RULE },
  { names: BROKEN_RULE, code: "REJECTED", advice: BY_RULE, repeatable: true },
  {
    names: ["CodeDeliveryFailureException"],
    code: "REJECTED",
    advice: { problem: "the provider could not send the code", fix: WITHOUT_SENT_CODE },
  },

  {
    flows: ["challenge"],
    // The real service sends EnableSoftwareTokenMFAException for a wrong code of a new app.
    names: ["CodeMismatchException", "EnableSoftwareTokenMFAException", "ExpiredCodeException"],
    code: "CODE_REJECTED",
  },
  {
    flows: ["challenge"],
    names: ["InvalidPasswordException", "PasswordHistoryPolicyViolationException"],
    code: "NEW_PASSWORD_REJECTED",
  },
  {
    flows: ["challenge"],
    names: ["NotAuthorizedException", "UserNotFoundException"],
    code: "CHALLENGE_EXPIRED",
  },

  {
    flows: ["login"],
    names: NOT_ACCEPTED,
    code: "INVALID_CREDENTIALS",
  },

  {
    flows: ["refresh"],
    names: ["RefreshTokenReuseException"],
    code: "REFRESH_REJECTED",
    isFinal: true,
    advice: {
      problem:
        "the refresh token was already used; another program has the new one, or it was lost",
      fix: ["let all programs of this account use the same .env, and run ", LOGIN_AGAIN],
    },
  },
  {
    flows: ["refresh"],
    names: NOT_ACCEPTED,
    says: /refresh token has (expired|been revoked)|invalid refresh token/i,
    code: "REFRESH_REJECTED",
    isFinal: true,
  },
  {
    flows: ["refresh"],
    says: /\bdevice does not exist/i,
    code: "REFRESH_REJECTED",
    isFinal: true,
    advice: { problem: "the provider no longer knows the device of this login" },
  },
  // If refresh tokens rotate, the flow REFRESH_TOKEN_AUTH is disabled, and the operation
  // GetTokensFromRefreshToken replaces the flow.
  { flows: ["refresh"], says: /REFRESH_TOKEN_AUTH|\brotation\b/i, code: "FLOW_DISABLED" },
  { flows: ["refresh"], names: NOT_ACCEPTED, code: "REFRESH_REJECTED" },

  {
    names: ["InvalidParameterException"],
    says: /\bflow\b|auth method not supported/i,
    code: "FLOW_DISABLED",
  },
  { names: ["TooManyFailedAttemptsException"], code: "LOCKED_OUT" },
  { names: ["ResourceNotFoundException"], code: "CLIENT_UNKNOWN" },
  {
    names: ["PasswordResetRequiredException"],
    code: "PASSWORD_RESET_REQUIRED",
  },
  { names: ["UserNotConfirmedException"], code: "USER_NOT_CONFIRMED" },
  { names: ["InternalErrorException"], code: "SERVER_ERROR" },
  { names: ["ForbiddenException"], code: "BLOCKED" },
];

/**
 * `UNKNOWN` applies to an error whose name is in no row, and `NO_ERROR` to a response that is not
 * an error of the provider.
 */
const UNKNOWN: Refusal = { code: "REJECTED" };
const NO_ERROR: Refusal = { code: "UNEXPECTED_RESPONSE" };

/** The advice for each code. */
export const MEANINGS: Readonly<Record<ProviderErrorCode | "REFRESH_REJECTED", Advice>> = {
  INVALID_CREDENTIALS: {
    problem: "the provider rejected the user name or the password",
    fix: ["check both, then run ", LOGIN, " again"],
  },
  LOCKED_OUT: {
    problem: "the provider refuses further attempts after too many wrong passwords or codes",
    fix: [
      "wait up to 15 minutes, then run ",
      LOGIN,
      " again with the right password; attempts during the wait are refused, but do not extend it",
    ],
  },
  SECRET_HASH_REJECTED: {
    problem: "the provider rejected SECRET_HASH, or requires one",
    fix: "check APP_CLIENT_SECRET and APP_CLIENT_ID; if both worked before, the secret was " +
      `replaced, so ask ${SUPPORT} for the new one`,
  },
  CLIENT_UNKNOWN: {
    problem: "the provider does not know this app client",
    fix:
      "check APP_CLIENT_ID and USER_POOL_ID, and whether AUTH_URL is the address for your region",
  },
  FLOW_DISABLED: {
    problem: "the app client does not allow this way to sign in",
    fix: `ask ${SUPPORT} to enable it, or log in with the portal string`,
  },
  PASSWORD_RESET_REQUIRED: {
    problem: "the provider requires a password reset first",
    fix: [
      "reset the password in the portal, or ask an administrator to reset it, then run ",
      LOGIN,
      " again",
    ],
  },
  USER_DISABLED: {
    problem: "the account is disabled",
    fix: `ask ${SUPPORT} to enable it`,
  },
  USER_NOT_CONFIRMED: {
    problem: "the account is not confirmed yet",
    fix: ["open the link in the invitation or enter its code, then run ", LOGIN, " again"],
  },
  BLOCKED: {
    problem: "a security check of the provider blocked the request; the password may be right",
    fix:
      `wait, or try from another network; if that does not help, report the request id and the ` +
      `time to ${SUPPORT}`,
  },
  THROTTLED: {
    problem: "the provider is receiving too many requests",
    fix: "wait, then try again",
  },
  REJECTED: {
    problem: "the provider rejected the request",
    fix: "compare your settings with those that the support channel sent you",
  },
  UNEXPECTED_RESPONSE: {
    problem: "the response is not what a token endpoint sends",
    fix: "check AUTH_URL, and whether the response came from a proxy or a login page",
  },
  UNREACHABLE: {
    problem: "the provider cannot be reached",
    fix: "check AUTH_URL, the network and any proxy, then try again",
  },
  TIMEOUT: {
    problem: "the provider did not respond in time",
    fix: "try again, or increase AUTH_TIMEOUT_MS (timeoutMs)",
  },
  SERVER_ERROR: {
    problem: "the provider failed",
    fix: "try again in a few minutes",
  },
  REFRESH_REJECTED: {
    problem: "the provider rejected the refresh token",
    fix: ["run ", LOGIN_AGAIN],
  },
};

/** Finds the row for a response that is not a success. */
export function refusalFor(
  flow: ProviderRequest["flow"],
  { status, headers }: Pick<ProviderResponse, "status" | "headers">,
  name: string,
  message: string,
): Refusal {
  const isSuccess = status >= 200 && status <= 299;
  const found = REFUSALS.find((row) => {
    if (row.header !== undefined) return headers.has(row.header);
    if (isSuccess) return false;
    if (row.status !== undefined) return row.status[0] <= status && status <= row.status[1];
    return name !== "" && (row.names?.some((each) => name.startsWith(each)) ?? true) &&
      (row.says?.test(message) ?? true) && (row.flows?.includes(flow) ?? true);
  });
  return found ?? (isSuccess || name === "" ? NO_ERROR : UNKNOWN);
}
