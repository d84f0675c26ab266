import type { ProviderErrorCode } from "../errors/errors.ts";
import type { Call, Fix } from "../errors/advice.ts";
import type { Meaning, ProviderAnswer, ProviderRequest, RefusalCode } from "./protocol.ts";

/**
 * What the provider refuses, and what that means. A new refusal is one row of {@linkcode REFUSALS}:
 * its code, its words, which of its text may be quoted, and whether it may pass all follow from there.
 * The API document shows no errors (section 7): names and messages are those of the real service.
 */
export interface Refusal {
  /** Names of the error. Default: any name. */
  readonly names?: readonly (string | RegExp)[];
  /** What its message says. Default: anything. */
  readonly says?: RegExp;
  /** The lowest and the highest HTTP status, whatever name and message are. */
  readonly status?: readonly [from: number, to: number];
  /** A header of the answer, whatever its status, name and message are. */
  readonly header?: string;
  /** What the request was for. Default: anything. */
  readonly flows?: readonly ProviderRequest["flow"][];
  readonly code: RefusalCode;
  /** What it means and what to do, where {@linkcode MEANINGS} does not say it well. */
  readonly words?: Partial<Meaning>;
  /** Whether the same request may be sent again a little later. Default: as `mayPass` of the code. */
  readonly repeatable?: boolean;
  /** The refresh token will never work again. */
  readonly isFinal?: true;
  /** The one-time code was right but is used up: only the next one helps. */
  readonly codeAlreadyUsed?: true;
  /**
   * Whole sentences of the service, without the full stop. They are shown even if a password contains
   * one of their words.
   */
  readonly quotable?: readonly (string | RegExp)[];
}

const LOGIN: Call = { call: "login" };
const LOGIN_AGAIN: Call = { call: "login", options: { force: true } };
const SUPPORT = "the support channel of your subscription";

/** The names under which a password or a refresh token is refused. */
const NOT_ACCEPTED = [
  "NotAuthorizedException",
  "InvalidPasswordException",
  "UserNotFoundException",
];

/** The names where a program of the platform, which checks each request, failed itself. */
const BROKEN_RULE = [/^UnexpectedLambdaException/, "InvalidLambdaResponseException"];
const RULE_FAILED: Partial<Meaning> = {
  problem: "a program of your platform that checks each request failed",
  fix: `try again in a few minutes; if it stays, tell ${SUPPORT}`,
};

/** What to do where no code comes. */
const WITHOUT_SENT_CODE: Fix = [
  "use a code of an authenticator app, or log in with the portal string: run ",
  { call: "login", options: { strategy: "portal" } },
];

/** The sentences of the real service about a new password. */
const PASSWORD_POLICY =
  /^Password d(?:oes|id) not conform (?:to|with) (?:the )?(?:password )?policy(?:: Password (?:must have (?:uppercase|lowercase|numeric|symbol) characters|not long enough|has previously been used))?$/;

/**
 * The first row that fits counts. So what the message decides stands before what the name alone
 * decides: one name stands for many causes.
 */
export const REFUSALS: readonly Refusal[] = [
  // A demand of the firewall that only a browser can meet, at any status.
  { header: "x-amzn-waf-action", code: "BLOCKED" },

  { names: ["TooManyRequestsException"], code: "THROTTLED", quotable: ["Rate exceeded"] },
  {
    names: ["LimitExceededException"],
    says: /daily e-?mail limit/i,
    code: "THROTTLED",
    repeatable: false,
    words: {
      problem: "the provider has sent as many e-mails with codes today as it may",
      fix: WITHOUT_SENT_CODE,
    },
  },
  // A quota of hours or days: another try only uses up more of it.
  { names: ["LimitExceededException"], code: "THROTTLED", repeatable: false },
  { names: [/^Throttling/], code: "THROTTLED" },
  { status: [429, 429], code: "THROTTLED" },
  { status: [500, 599], code: "SERVER_ERROR" },

  // What its message says is the organisation's own.
  {
    names: ["UserLambdaValidationException"],
    code: "REJECTED",
    words: {
      problem: "a rule of your platform, not your settings, refused the request",
      fix: `do what the rule asks for, or ask ${SUPPORT} about it`,
    },
  },

  {
    says: /password attempts exceeded/i,
    code: "LOCKED_OUT",
    quotable: ["Password attempts exceeded"],
  },
  {
    // The last is what operations say that are sent the secret itself.
    says: /secret_? ?hash|secret was not received|verify secret for client/i,
    code: "SECRET_HASH_REJECTED",
  },
  { says: /security reasons/i, code: "BLOCKED" },
  { says: /user is disabled/i, code: "USER_DISABLED", quotable: ["User is disabled"] },
  {
    says: /temporary password has expired/i,
    code: "PASSWORD_RESET_REQUIRED",
    quotable: ["Temporary password has expired and must be reset by an administrator"],
  },
  {
    says: /user account has expired/i,
    code: "PASSWORD_RESET_REQUIRED",
    words: {
      problem: "the account has expired",
      fix: [`ask ${SUPPORT} for an administrator to reset it, then run `, LOGIN, " again"],
    },
    quotable: ["User account has expired, it must be reset by an administrator"],
  },

  // A code that was sent with the answer is used up: a second try would be told another reason.
  { flows: ["challenge"], names: BROKEN_RULE, code: "REJECTED", words: RULE_FAILED },
  { names: BROKEN_RULE, code: "REJECTED", words: RULE_FAILED, repeatable: true },
  {
    names: [
      "CodeDeliveryFailureException",
      "InvalidSmsRoleAccessPolicyException",
      "InvalidSmsRoleTrustRelationshipException",
      "InvalidEmailRoleAccessPolicyException",
    ],
    code: "REJECTED",
    words: { problem: "the provider could not send the code", fix: WITHOUT_SENT_CODE },
  },

  {
    flows: ["challenge"],
    // The second is what the real service says of a wrong code for a new authenticator app.
    names: ["CodeMismatchException", "EnableSoftwareTokenMFAException"],
    code: "CODE_REJECTED",
  },
  {
    flows: ["challenge"],
    names: ["ExpiredCodeException"],
    code: "CODE_REJECTED",
    codeAlreadyUsed: true,
  },
  {
    flows: ["challenge"],
    names: ["InvalidPasswordException", "PasswordHistoryPolicyViolationException"],
    code: "NEW_PASSWORD_REJECTED",
    quotable: [PASSWORD_POLICY, "Password has previously been used"],
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
    quotable: ["Incorrect username or password"],
  },

  {
    flows: ["refresh"],
    names: ["RefreshTokenReuseException"],
    code: "REFRESH_REJECTED",
    isFinal: true,
    words: {
      problem: "the refresh token was used before",
      detail: ", and the one that replaced it is with another program or was lost on its way",
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
    words: { problem: "the device of this login was removed at the provider" },
  },
  // Where refresh tokens rotate, this flow is off, and GetTokensFromRefreshToken takes its place.
  { flows: ["refresh"], says: /REFRESH_TOKEN_AUTH|\brotation\b/i, code: "FLOW_DISABLED" },
  { flows: ["refresh"], names: NOT_ACCEPTED, code: "REFRESH_REJECTED" },

  {
    flows: ["sign-out"],
    names: ["UnsupportedTokenTypeException"],
    code: "REJECTED",
    words: { problem: "its refresh tokens cannot be revoked" },
  },
  {
    flows: ["sign-out"],
    names: ["UnsupportedOperationException"],
    code: "REJECTED",
    words: { problem: "revocation is switched off for the app client" },
  },
  {
    flows: ["sign-out"],
    names: ["UnauthorizedException"],
    code: "REJECTED",
    words: { problem: "the refresh token does not belong to the app client" },
  },
  {
    flows: ["sign-out"],
    names: ["UnknownOperationException"],
    code: "REJECTED",
    words: { problem: "it knows no such operation" },
  },

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
    quotable: ["Password reset required for the user"],
  },
  { names: ["UserNotConfirmedException"], code: "USER_NOT_CONFIRMED" },
  { names: ["InternalErrorException"], code: "SERVER_ERROR" },
  { names: ["ForbiddenException"], code: "BLOCKED" },
];

/** An error with a name that no row knows, and an answer that is no error of the provider. */
const UNKNOWN: Refusal = { code: "REJECTED" };
const NO_ERROR: Refusal = { code: "UNEXPECTED_RESPONSE" };

/** What each code means, and what to do next. */
export const MEANINGS: Readonly<Record<ProviderErrorCode | "REFRESH_REJECTED", Meaning>> = {
  INVALID_CREDENTIALS: {
    problem: "the provider rejected the user name or the password",
    fix: ["check both, then run ", LOGIN, " again"],
  },
  LOCKED_OUT: {
    problem: "the provider refuses further attempts after too many wrong passwords or codes",
    fix: [
      "wait up to 15 minutes, then run ",
      LOGIN,
      " again with the right password; trying before that is refused, too, but does not make the " +
      "wait longer",
    ],
  },
  SECRET_HASH_REJECTED: {
    problem: "the provider rejected SECRET_HASH, or wants one",
    fix: "check APP_CLIENT_SECRET, which must not be empty for a client that has a secret, and " +
      `APP_CLIENT_ID; if both were right before, the secret was replaced: ask ${SUPPORT} for the new one`,
  },
  CLIENT_UNKNOWN: {
    problem: "the provider knows no such app client",
    fix: "check APP_CLIENT_ID and USER_POOL_ID, and that AUTH_URL is the one of your region",
  },
  FLOW_DISABLED: {
    problem: "the app client does not allow this way to sign in",
    fix: `ask ${SUPPORT} to enable it, or log in with the portal string`,
  },
  PASSWORD_RESET_REQUIRED: {
    problem: "the provider wants the password to be reset first",
    fix: [
      "reset it in the portal, or have an administrator reset it, then run ",
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
    fix: ["follow the link or code in the invitation, then run ", LOGIN, " again"],
  },
  BLOCKED: {
    problem: "a protection of the provider blocked the request, whatever the password is",
    fix: `wait, or try from another network; if it stays, give the request id and the time to ` +
      SUPPORT,
  },
  THROTTLED: {
    problem: "the provider is receiving too many requests",
    fix: "wait, then try again",
  },
  REJECTED: {
    problem: "the provider rejected the request",
    fix: "compare the settings with your subscription's",
  },
  UNEXPECTED_RESPONSE: {
    problem: "the answer is not one of the token endpoint",
    fix: "check AUTH_URL, and whether a proxy or a login page stands in between",
  },
  UNREACHABLE: {
    problem: "the provider cannot be reached",
    fix: "check AUTH_URL, the network and any proxy, then try again",
  },
  TIMEOUT: {
    problem: "the provider did not answer in time",
    fix: "try again, or raise AUTH_TIMEOUT_MS (timeoutMs)",
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

/** The row of an answer that brought nothing of what was asked for. */
export function refusalFor(
  flow: ProviderRequest["flow"],
  { status, headers }: Pick<ProviderAnswer, "status" | "headers">,
  name: string,
  message: string,
): Refusal {
  const isSuccess = status >= 200 && status <= 299;
  const found = REFUSALS.find((row) => {
    if (row.header !== undefined) return headers.has(row.header);
    if (isSuccess) return false;
    if (row.status !== undefined) return row.status[0] <= status && status <= row.status[1];
    return name !== "" && fitsAny(name, row.names) && (row.says?.test(message) ?? true) &&
      (row.flows?.includes(flow) ?? true);
  });
  return found ?? (isSuccess || name === "" ? NO_ERROR : UNKNOWN);
}

function fitsAny(text: string, known: Refusal["names"]): boolean {
  return known === undefined ||
    known.some((each) => typeof each === "string" ? each === text : each.test(text));
}

/** Whether the name of an error is shown even if a password contains it. */
export function isQuotableName(name: string): boolean {
  return REFUSALS.some(({ names }) => names?.includes(name));
}

/** Whether a sentence of the provider is shown likewise. */
export function isQuotableSentence(sentence: string): boolean {
  return REFUSALS.some(({ quotable }) => quotable !== undefined && fitsAny(sentence, quotable));
}
