/** The table of refusals: each row has an example here and a section in the documents. */
import { assertEquals } from "@std/assert";
import { isTransient } from "../../src/errors/errors.ts";
import type {
  ProviderRequest,
  ProviderResponse,
  RefusalCode,
} from "../../src/provider/protocol.ts";
import { readRefusal } from "../../src/provider/read_refusal.ts";
import { MEANINGS, refusalFor, REFUSALS } from "../../src/provider/refusals.ts";
import { documentText } from "../support/documented_flags.ts";

type Flow = ProviderRequest["flow"];

/** A refusal and its code, which is the same for all flows or differs between them. */
type Example = readonly [
  name: string,
  message: string,
  codes: RefusalCode | Partial<Record<Flow | "other", RefusalCode>>,
  more?: {
    /** Default: 400. */
    readonly status?: number;
    readonly headers?: Record<string, string>;
    /** Default: whether the code is transient. */
    readonly repeatable?: boolean;
    readonly isFinal?: true;
    /** The problem, if the code alone does not say it. */
    readonly means?: string;
  },
];

const FLOWS: readonly Flow[] = ["login", "challenge", "refresh", "device", "sign-out"];

const CREDENTIALS = {
  login: "INVALID_CREDENTIALS",
  refresh: "REFRESH_REJECTED",
  other: "REJECTED",
} as const;

const BY_RULE = "a rule of your platform refused the request; your settings are not the cause";
const USED_BEFORE = "the refresh token was already used; another program has the new one, or it " +
  "was lost";

const EXAMPLES: readonly Example[] = [
  ["", "", "BLOCKED", { status: 202, headers: { "x-amzn-waf-action": "captcha" } }],
  ["TooManyRequestsException", "Rate exceeded", "THROTTLED"],

  [
    "LimitExceededException",
    "Exceeded daily email limit for the operation or the account.",
    "THROTTLED",
    {
      repeatable: false,
      means: "the provider cannot send more e-mails with codes today",
    },
  ],
  ["LimitExceededException", "Attempt limit exceeded, please try after some time.", "THROTTLED", {
    repeatable: false,
  }],

  ["ThrottlingException", "", "THROTTLED"],
  ["Throttling", "Rate exceeded", "THROTTLED"],

  ["", "", "THROTTLED", { status: 429 }],
  ["NotAuthorizedException", "", "THROTTLED", { status: 429 }],

  ["", "", "UNEXPECTED_RESPONSE", { status: 499 }],
  ["", "", "SERVER_ERROR", { status: 500 }],
  ["NotAuthorizedException", "", "SERVER_ERROR", { status: 599 }],
  ["NotAuthorizedException", "Password attempts exceeded", "LOCKED_OUT"],
  ["NotAuthorizedException", "Unable to verify secret hash for client abc", "SECRET_HASH_REJECTED"],
  [
    "NotAuthorizedException",
    "SecretHash does not match for the client: abc",
    "SECRET_HASH_REJECTED",
  ],
  [
    "NotAuthorizedException",
    "Client abc is configured for secret but secret was not received",
    "SECRET_HASH_REJECTED",
  ],
  ["NotAuthorizedException", "Unable to verify secret for client abc", "SECRET_HASH_REJECTED"],
  ["NotAuthorizedException", "Unable to login because of security reasons.", "BLOCKED"],
  ["NotAuthorizedException", "Request not allowed due to security reasons.", "BLOCKED"],
  ["NotAuthorizedException", "User is disabled.", "USER_DISABLED"],
  [
    "NotAuthorizedException",
    "Temporary password has expired and must be reset by an administrator.",
    "PASSWORD_RESET_REQUIRED",
  ],
  [
    "NotAuthorizedException",
    "User account has expired, it must be reset by an administrator.",
    "PASSWORD_RESET_REQUIRED",
  ],
  [
    "UserLambdaValidationException",
    "PreAuthentication failed with error Only from the office network.",
    "REJECTED",
    { means: BY_RULE },
  ],
  [
    "UserLambdaValidationException",
    "PreAuthentication failed with error User is disabled for security reasons: no flow rotation.",
    "REJECTED",
    { means: BY_RULE },
  ],
  ["UnexpectedLambdaException", "", {
    login: "REJECTED",
    refresh: "REJECTED",
    "sign-out": "REJECTED",
  }, {
    repeatable: true,
    means: BY_RULE,
  }],
  ["UnexpectedLambdaException", "", { challenge: "REJECTED" }, {
    repeatable: false,
    means: BY_RULE,
  }],
  ["CodeDeliveryFailureException", "", "REJECTED", {
    means: "the provider could not send the code",
  }],
  ["CodeMismatchException", "Invalid code received for user", {
    challenge: "CODE_REJECTED",
    other: "REJECTED",
  }],
  ["EnableSoftwareTokenMFAException", "Code mismatch", {
    challenge: "CODE_REJECTED",
    other: "REJECTED",
  }],
  ["ExpiredCodeException", "Your software token has already been used once.", {
    challenge: "CODE_REJECTED",
  }],
  ["ExpiredCodeException", "", { login: "REJECTED" }],
  ["PasswordHistoryPolicyViolationException", "Password has previously been used", {
    challenge: "NEW_PASSWORD_REJECTED",
    other: "REJECTED",
  }],
  ["InvalidPasswordException", "Password does not conform to policy: Password not long enough", {
    ...CREDENTIALS,
    challenge: "NEW_PASSWORD_REJECTED",
  }],
  ["NotAuthorizedException", "Incorrect username or password.", {
    ...CREDENTIALS,
    challenge: "CHALLENGE_EXPIRED",
  }],
  ["UserNotFoundException", "User does not exist.", {
    ...CREDENTIALS,
    challenge: "CHALLENGE_EXPIRED",
  }],
  ["RefreshTokenReuseException", "Refresh token reuse detected", { refresh: "REFRESH_REJECTED" }, {
    isFinal: true,
    means: USED_BEFORE,
  }],
  ["NotAuthorizedException", "Refresh Token has expired", { refresh: "REFRESH_REJECTED" }, {
    isFinal: true,
  }],
  ["NotAuthorizedException", "Refresh Token has been revoked", { refresh: "REFRESH_REJECTED" }, {
    isFinal: true,
  }],
  ["NotAuthorizedException", "Invalid Refresh Token.", { refresh: "REFRESH_REJECTED" }, {
    isFinal: true,
  }],
  ["ResourceNotFoundException", "Device does not exist.", { refresh: "REFRESH_REJECTED" }, {
    isFinal: true,
    means: "the provider no longer knows the device of this login",
  }],

  ["NotAuthorizedException", "REFRESH_TOKEN_AUTH is not enabled for the client", {
    refresh: "FLOW_DISABLED",
  }],
  ["UnsupportedOperationException", "Refresh token rotation is enabled for this client", {
    refresh: "FLOW_DISABLED",
  }],
  ["InvalidParameterException", "Token rotation is on: use another operation", {
    refresh: "FLOW_DISABLED",
  }],
  ["RefreshTokenReuseException", "Refresh Token has been invalidated by rotation", {
    refresh: "REFRESH_REJECTED",
  }, { isFinal: true, means: USED_BEFORE }],
  [
    "InvalidParameterException",
    "USER_PASSWORD_AUTH flow not enabled for this client",
    "FLOW_DISABLED",
  ],
  ["InvalidParameterException", "Initiate Auth method not supported.", "FLOW_DISABLED"],
  ["InvalidParameterException", "Invalid overflow of attributes", "REJECTED"],
  ["TooManyFailedAttemptsException", "Too many attempts", "LOCKED_OUT"],
  ["ResourceNotFoundException", "User pool client abc does not exist.", "CLIENT_UNKNOWN"],
  [
    "PasswordResetRequiredException",
    "Password reset required for the user",
    "PASSWORD_RESET_REQUIRED",
  ],
  ["UserNotConfirmedException", "User is not confirmed.", "USER_NOT_CONFIRMED"],
  ["InternalErrorException", "Something went wrong", "SERVER_ERROR"],
  ["ForbiddenException", "Request not allowed due to WAF block.", "BLOCKED", { status: 403 }],
  ["constructor", "", "REJECTED"],

  ["", "User is disabled.", "UNEXPECTED_RESPONSE"],
  ["NotAuthorizedException", "", "UNEXPECTED_RESPONSE", { status: 200 }],

  ["NeverHeardOfException", "", "REJECTED", { status: 300 }],
];

function responseOf([name, message, , { status = 400, headers } = {}]: Example): ProviderResponse {
  const text = JSON.stringify({ __type: name, message });
  return { status, headers: new Headers(headers), text };
}

/** Each example, once for each flow to which it applies. */
const CASES = EXAMPLES.flatMap((example) =>
  FLOWS.flatMap((flow) => {
    const codes = example[2];
    const code = typeof codes === "string" ? codes : codes[flow] ?? codes.other;
    return code === undefined ? [] : [{ example, flow, code }];
  })
);

Deno.test("readRefusal() returns the code and meaning of each refusal, and whether to retry", () => {
  for (const { example, flow, code } of CASES) {
    const [, , , more = {}] = example;
    const response = responseOf(example);
    const refused = readRefusal({ flow, secrets: [] }, response, JSON.parse(response.text));
    const what = `${flow}: ${response.status} ${response.text}`;
    assertEquals(refused.code, code, what);
    assertEquals(refused.repeatable, more.repeatable ?? isTransient(code), what);
    assertEquals(refused.isFinal, more.isFinal, what);
    assertEquals(refused.advice?.problem, more.means, what);
  }
});

Deno.test("each row of the refusals table has an example", () => {
  const deciding = new Set(CASES.map(({ example, flow }) => {
    const [name, message] = example;
    return refusalFor(flow, responseOf(example), name, message);
  }));
  const idle = REFUSALS.filter((row) => !deciding.has(row));
  assertEquals(idle, [], "rows without an example, or that no response can reach");
});

Deno.test("docs/troubleshooting.md explains each refusal under its code", () => {
  const sections = new Map(
    documentText("docs/troubleshooting.md").split(/^## (?=[A-Z_]+$)/m).slice(1).map((section) => {
      const [code = "", ...lines] = section.split("\n");
      return [code, lines.join(" ").replace(/\s+/g, " ").trim()];
    }),
  );
  const missing = REFUSALS.flatMap(({ code, names = [], says }) => {
    const section = sections.get(code) ?? "";
    return [...names, says].filter((each) =>
      typeof each === "string" ? !section.includes(each) : each?.test(section) === false
    ).map((each) => `${code}: ${each}`);
  });
  assertEquals(missing, [], "say it in docs/troubleshooting.md");
  for (const [code, { problem }] of Object.entries(MEANINGS)) {
    const start = sections.get(code)?.slice(0, problem.length).toLowerCase();
    assertEquals(start, problem.toLowerCase(), code);
  }
});
