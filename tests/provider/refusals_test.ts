/** The table of what the provider refuses: each row has an example here and a place in the documents. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { CODES, isTransient } from "../../src/errors/errors.ts";
import { fixText } from "../../src/errors/advice.ts";
import type {
  ProviderRequest,
  ProviderResponse,
  RefusalCode,
} from "../../src/provider/protocol.ts";
import { readRefusal } from "../../src/provider/read_refusal.ts";
import { MEANINGS, type Refusal, refusalFor, REFUSALS } from "../../src/provider/refusals.ts";
import { Secret } from "../../src/platform/secret.ts";
import { documentText } from "../support/documented_flags.ts";

type Flow = ProviderRequest["flow"];

interface Example {
  readonly name: string;
  readonly message: string;
  /** Default: 400. */
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** The code by what the request was for; `other`: for all that are not named. */
  readonly codes: Partial<Record<Flow | "other", RefusalCode>>;
  /** Default: whether the code may pass. */
  readonly repeatable?: boolean;
  readonly isFinal?: true;
  readonly codeAlreadyUsed?: true;
  /** The part of the message that tells what the refusal means, where the code alone does not. */
  readonly means?: string;
}

const FLOWS: readonly Flow[] = ["login", "challenge", "refresh", "device", "sign-out"];

const CREDENTIALS = {
  login: "INVALID_CREDENTIALS",
  refresh: "REFRESH_REJECTED",
  other: "REJECTED",
} as const;

const USED_BEFORE = "the refresh token was used before, and the one that replaced it is with " +
  "another program or was lost";

const EXAMPLES: readonly Example[] = [
  {
    name: "",
    message: "",
    status: 202,
    headers: { "x-amzn-waf-action": "captcha" },
    codes: { other: "BLOCKED" },
  },
  { name: "TooManyRequestsException", message: "Rate exceeded", codes: { other: "THROTTLED" } },
  {
    name: "TooManyRequestsException",
    message: "",
    status: 503,
    codes: { other: "THROTTLED" },
  },
  {
    name: "LimitExceededException",
    message: "Exceeded daily email limit for the operation or the account.",
    codes: { other: "THROTTLED" },
    repeatable: false,
    means: "the provider has sent as many e-mails with codes today as it may",
  },
  {
    name: "LimitExceededException",
    message: "Attempt limit exceeded, please try after some time.",
    codes: { other: "THROTTLED" },
    repeatable: false,
  },
  {
    name: "LimitExceededException",
    message: "",
    status: 429,
    codes: { other: "THROTTLED" },
    repeatable: false,
  },
  { name: "ThrottlingException", message: "", codes: { other: "THROTTLED" } },
  { name: "Throttling", message: "Rate exceeded", codes: { other: "THROTTLED" } },
  { name: "NotThrottlingException", message: "", codes: { other: "REJECTED" } },
  { name: "", message: "", status: 429, codes: { other: "THROTTLED" } },
  { name: "NotAuthorizedException", message: "", status: 429, codes: { other: "THROTTLED" } },
  { name: "", message: "", status: 428, codes: { other: "UNEXPECTED_RESPONSE" } },
  { name: "", message: "", status: 430, codes: { other: "UNEXPECTED_RESPONSE" } },
  { name: "", message: "", status: 499, codes: { other: "UNEXPECTED_RESPONSE" } },
  { name: "", message: "", status: 500, codes: { other: "SERVER_ERROR" } },
  { name: "NotAuthorizedException", message: "", status: 599, codes: { other: "SERVER_ERROR" } },
  {
    name: "NotAuthorizedException",
    message: "Password attempts exceeded",
    codes: { other: "LOCKED_OUT" },
  },
  ...[
    "Unable to verify secret hash for client abc",
    "SecretHash does not match for the client: abc",
    "Client abc is configured with secret but SECRET_HASH was not received",
    "Client abc is configured for secret but secret was not received",
    "Unable to verify secret for client abc",
  ].map((message) => ({
    name: "NotAuthorizedException",
    message,
    codes: { other: "SECRET_HASH_REJECTED" } as const,
  })),
  ...[
    "Unable to login because of security reasons.",
    "Request not allowed due to security reasons.",
  ].map((message) => ({
    name: "NotAuthorizedException",
    message,
    codes: { other: "BLOCKED" } as const,
  })),
  {
    name: "NotAuthorizedException",
    message: "User is disabled.",
    codes: { other: "USER_DISABLED" },
  },
  {
    name: "NotAuthorizedException",
    message: "Temporary password has expired and must be reset by an administrator.",
    codes: { other: "PASSWORD_RESET_REQUIRED" },
  },
  {
    name: "NotAuthorizedException",
    message: "User account has expired, it must be reset by an administrator.",
    codes: { other: "PASSWORD_RESET_REQUIRED" },
    means: "the account has expired",
  },
  ...[
    "PreAuthentication failed with error Only from the office network.",
    // Words of the organisation that the provider itself uses for something else.
    "PreAuthentication failed with error User is disabled for security reasons: no flow rotation.",
  ].map((message) => ({
    name: "UserLambdaValidationException",
    message,
    codes: { other: "REJECTED" } as const,
    means: "a rule of your platform, not your settings, refused the request",
  })),
  ...[
    "UnexpectedLambdaException",
    "InvalidLambdaResponseException",
  ].flatMap((name) => {
    const means = "a program of your platform that checks each request failed";
    const others = { login: "REJECTED", refresh: "REJECTED", "sign-out": "REJECTED" } as const;
    return [
      { name, message: "", codes: others, repeatable: true, means },
      { name, message: "", codes: { challenge: "REJECTED" } as const, repeatable: false, means },
    ];
  }),
  ...[
    "CodeDeliveryFailureException",
    "InvalidSmsRoleAccessPolicyException",
    "InvalidSmsRoleTrustRelationshipException",
    "InvalidEmailRoleAccessPolicyException",
  ].map((name) => ({
    name,
    message: "",
    codes: { other: "REJECTED" } as const,
    means: "the provider could not send the code",
  })),
  {
    name: "CodeMismatchException",
    message: "Invalid code received for user",
    codes: { challenge: "CODE_REJECTED", other: "REJECTED" },
  },
  {
    name: "EnableSoftwareTokenMFAException",
    message: "Code mismatch",
    codes: { challenge: "CODE_REJECTED", other: "REJECTED" },
  },
  {
    name: "ExpiredCodeException",
    message: "Your software token has already been used once.",
    codes: { challenge: "CODE_REJECTED" },
    codeAlreadyUsed: true,
  },
  { name: "ExpiredCodeException", message: "", codes: { login: "REJECTED" } },
  {
    name: "PasswordHistoryPolicyViolationException",
    message: "Password has previously been used",
    codes: { challenge: "NEW_PASSWORD_REJECTED", other: "REJECTED" },
  },
  {
    name: "InvalidPasswordException",
    message: "Password does not conform to policy: Password not long enough",
    codes: { ...CREDENTIALS, challenge: "NEW_PASSWORD_REJECTED" },
  },
  {
    name: "NotAuthorizedException",
    message: "Incorrect username or password.",
    codes: { ...CREDENTIALS, challenge: "CHALLENGE_EXPIRED" },
  },
  {
    name: "UserNotFoundException",
    message: "User does not exist.",
    codes: { ...CREDENTIALS, challenge: "CHALLENGE_EXPIRED" },
  },
  {
    name: "RefreshTokenReuseException",
    message: "Refresh token reuse detected",
    codes: { refresh: "REFRESH_REJECTED" },
    isFinal: true,
    means: USED_BEFORE,
  },
  ...["Refresh Token has expired", "Refresh Token has been revoked", "Invalid Refresh Token."]
    .map((message) => ({
      name: "NotAuthorizedException",
      message,
      codes: { refresh: "REFRESH_REJECTED" } as const,
      isFinal: true as const,
    })),
  ...["ResourceNotFoundException", "NotAuthorizedException"].map((name) => ({
    name,
    message: "Device does not exist.",
    codes: { refresh: "REFRESH_REJECTED" } as const,
    isFinal: true as const,
    means: "the device of this login was removed at the provider",
  })),
  ...[
    ["NotAuthorizedException", "REFRESH_TOKEN_AUTH is not enabled for the client"],
    ["UnsupportedOperationException", "Refresh token rotation is enabled for this client"],
    ["InvalidParameterException", "Token rotation is on: use another operation"],
  ].map(([name = "", message = ""]) => ({
    name,
    message,
    codes: { refresh: "FLOW_DISABLED" } as const,
  })),
  {
    name: "RefreshTokenReuseException",
    message: "Refresh Token has been invalidated by rotation",
    codes: { refresh: "REFRESH_REJECTED" },
    isFinal: true,
    means: USED_BEFORE,
  },
  {
    name: "UnsupportedTokenTypeException",
    message: "",
    codes: { "sign-out": "REJECTED" },
    means: "its refresh tokens cannot be revoked",
  },
  {
    name: "UnsupportedOperationException",
    message: "",
    codes: { "sign-out": "REJECTED" },
    means: "revocation is switched off for the app client",
  },
  {
    name: "UnauthorizedException",
    message: "",
    codes: { "sign-out": "REJECTED" },
    means: "the refresh token does not belong to the app client",
  },
  {
    name: "UnknownOperationException",
    message: "",
    codes: { "sign-out": "REJECTED" },
    means: "it does not know this operation",
  },
  { name: "UnauthorizedException", message: "", codes: { login: "REJECTED", refresh: "REJECTED" } },
  ...[
    "USER_PASSWORD_AUTH flow not enabled for this client",
    "Initiate Auth method not supported.",
  ].map((message) => ({
    name: "InvalidParameterException",
    message,
    codes: { other: "FLOW_DISABLED" } as const,
  })),
  {
    name: "InvalidParameterException",
    message: "Invalid overflow of attributes",
    codes: { other: "REJECTED" },
  },
  {
    name: "TooManyFailedAttemptsException",
    message: "Too many attempts",
    codes: { other: "LOCKED_OUT" },
  },
  {
    name: "ResourceNotFoundException",
    message: "User pool client abc does not exist.",
    codes: { other: "CLIENT_UNKNOWN" },
  },
  {
    name: "PasswordResetRequiredException",
    message: "Password reset required for the user",
    codes: { other: "PASSWORD_RESET_REQUIRED" },
  },
  {
    name: "UserNotConfirmedException",
    message: "User is not confirmed.",
    codes: { other: "USER_NOT_CONFIRMED" },
  },
  {
    name: "InternalErrorException",
    message: "Something went wrong",
    codes: { other: "SERVER_ERROR" },
  },
  {
    name: "ForbiddenException",
    message: "Request not allowed due to WAF block.",
    status: 403,
    codes: { other: "BLOCKED" },
  },
  { name: "constructor", message: "", codes: { other: "REJECTED" } },
  { name: "NeverHeardOfException", message: "no", codes: { other: "REJECTED" } },
  { name: "", message: "User is disabled.", codes: { other: "UNEXPECTED_RESPONSE" } },
  {
    name: "NotAuthorizedException",
    message: "",
    status: 200,
    codes: { other: "UNEXPECTED_RESPONSE" },
  },
  {
    name: "TooManyRequestsException",
    message: "",
    status: 299,
    codes: { other: "UNEXPECTED_RESPONSE" },
  },
  { name: "NeverHeardOfException", message: "", status: 300, codes: { other: "REJECTED" } },
];

function answerOf({ name, message, status = 400, headers }: Example): ProviderResponse {
  const text = JSON.stringify({ __type: name, message });
  return { status, headers: new Headers(headers), text };
}

/** An example for each flow that it is about. */
const CASES = EXAMPLES.flatMap((example) =>
  FLOWS.flatMap((flow) => {
    const code = example.codes[flow] ?? example.codes.other;
    return code === undefined ? [] : [{ example, flow, code }];
  })
);

Deno.test("each refusal has its code, and is final or repeated as it should be", () => {
  for (const { example, flow, code } of CASES) {
    const { name, message, status = 400 } = example;
    const answer = answerOf(example);
    const refused = readRefusal({ flow, secrets: [] }, answer, JSON.parse(answer.text));
    const what = `${flow}: ${status} ${name} "${message}"`;
    assertEquals(refused.code, code, what);
    assertEquals(refused.repeatable, example.repeatable ?? isTransient(code), what);
    assertEquals(refused.isFinal, example.isFinal, what);
    assertEquals(refused.codeAlreadyUsed, example.codeAlreadyUsed, what);
    assertEquals(refused.advice?.problem, example.means, what);
  }
});

/** A row as the table writes it, to be found there. */
function rowText({ names, says, status, header, flows, code }: Refusal): string {
  return [flows, names, says, status, header, code].flat().filter((it) => it !== undefined).join(
    " ",
  );
}

Deno.test("each row of the table decides an example", () => {
  const deciding = new Set(CASES.map(({ example, flow }) => {
    const { name, message } = example;
    return refusalFor(flow, answerOf(example), name, message);
  }));
  const idle = REFUSALS.filter((row) => !deciding.has(row)).map(rowText);
  assertEquals(idle, [], "rows without an example, or that no answer can reach");
});

Deno.test("each name of the table has an example", () => {
  for (const row of REFUSALS) {
    for (const each of row.names ?? []) {
      const examples = CASES.filter(({ example: { name } }) =>
        typeof each === "string" ? name === each : each.test(name)
      );
      assert(examples.length > 0, `no example of ${each} (${rowText(row)})`);
    }
  }
});

/** What the real service says with each name, and may be quoted. */
const QUOTED: [name: string, sentence: string][] = [
  ["TooManyRequestsException", "Rate exceeded"],
  ["NotAuthorizedException", "Incorrect username or password"],
  ["NotAuthorizedException", "Password attempts exceeded"],
  ["NotAuthorizedException", "User is disabled"],
  [
    "NotAuthorizedException",
    "Temporary password has expired and must be reset by an administrator",
  ],
  [
    "NotAuthorizedException",
    "User account has expired, it must be reset by an administrator",
  ],
  ["PasswordResetRequiredException", "Password reset required for the user"],
  ["PasswordHistoryPolicyViolationException", "Password has previously been used"],
  ["InvalidPasswordException", "Password does not conform to policy"],
  ["InvalidPasswordException", "Password does not conform to policy: Password not long enough"],
  [
    "InvalidPasswordException",
    "Password did not conform with password policy: Password must have uppercase characters",
  ],
];

/** A refusal as it is shown to somebody whose password is made of such words. */
function shownTo(secret: string, name: string, message: string) {
  const json = { __type: name, message };
  const answer = { status: 400, headers: new Headers(), text: JSON.stringify(json) };
  return readRefusal({ flow: "login", secrets: [new Secret(secret)] }, answer, json);
}

Deno.test("names and sentences of the table are quoted also if a password contains them", () => {
  for (const [name, sentence] of QUOTED) {
    for (const secret of [name, sentence]) {
      const { providerCode, message, seen } = shownTo(secret, name, `${sentence}.`);
      assertEquals([providerCode, message], [name, sentence]);
      assertEquals(seen, `status 400, ${name}: ${sentence}`);
    }
  }
  for (const name of REFUSALS.flatMap(({ names = [] }) => names)) {
    if (typeof name === "string") assertEquals(shownTo(name, name, "").providerCode, name);
  }
  const known = REFUSALS.flatMap(({ quotable = [] }) => quotable);
  const idle = known.filter((each) =>
    !QUOTED.some(([, sentence]) =>
      typeof each === "string" ? each === sentence : each.test(sentence)
    )
  );
  assertEquals(idle, [], "sentences of the table without an example");
});

Deno.test("other names and sentences are withheld if they repeat a password", () => {
  const withheld = "[withheld: it repeats a secret]";
  assertEquals(shownTo("OtherException", "OtherException", "").providerCode, withheld);
  const cases = [
    ["password", "Incorrect username or password!"],
    ["Password", "Password does not conform to policy: Password is Password must"],
  ] as const;
  for (const [secret, sentence] of cases) {
    assertEquals(shownTo(secret, "NotAuthorizedException", sentence).message, withheld);
  }
});

Deno.test("a refusal without a message says so", () => {
  const json = { __type: "OtherException" };
  const answer = { status: 400, headers: new Headers(), text: JSON.stringify(json) };
  const { seen } = readRefusal({ flow: "login", secrets: [] }, answer, json);
  assertEquals(seen, "status 400, OtherException: no message");
});

Deno.test("a name that nobody knows is shown up to 80 characters", () => {
  const { providerCode } = shownTo("a secret", "X".repeat(81), "");
  assertEquals(providerCode, `${"X".repeat(80)}…`);
  assertEquals(shownTo("a secret", "X".repeat(80), "").providerCode, "X".repeat(80));
});

/** What the fix of each code must name. */
const FIXES: Readonly<Record<keyof typeof MEANINGS, RegExp>> = {
  INVALID_CREDENTIALS: /^check both, then run login\(\) again$/,
  LOCKED_OUT: /15 minutes.* login\(\) again with the right password/,
  SECRET_HASH_REJECTED: /APP_CLIENT_SECRET.*APP_CLIENT_ID; .* replaced: ask the support channel /,
  CLIENT_UNKNOWN: /APP_CLIENT_ID and USER_POOL_ID.*AUTH_URL .*region$/,
  FLOW_DISABLED: /support channel of your subscription .*portal string/,
  PASSWORD_RESET_REQUIRED: /portal.*administrator.* login\(\) again$/,
  USER_DISABLED: /support channel of your subscription .*to enable it$/,
  USER_NOT_CONFIRMED: /invitation.* login\(\) again$/,
  BLOCKED: /another network.*request id.*support channel of your subscription$/,
  THROTTLED: /wait.*try again/,
  REJECTED: /settings/,
  UNEXPECTED_RESPONSE: /AUTH_URL.*proxy/,
  UNREACHABLE: /AUTH_URL.*network.*proxy/,
  TIMEOUT: /AUTH_TIMEOUT_MS \(timeoutMs\)/,
  SERVER_ERROR: /try again in a few minutes/,
  REFRESH_REJECTED: /^run login\(\{ force: true \}\)$/,
};

Deno.test("each code of the table is in the list of codes, and its fix says what to do", () => {
  for (const { code } of REFUSALS) {
    const of = CODES[code];
    // What a further step says is worded where the step is.
    if (of !== "ChallengeError") assert(Object.hasOwn(MEANINGS, code), code);
  }
  for (const [code, { fix }] of Object.entries(MEANINGS)) {
    assertMatch(fixText(fix ?? ""), FIXES[code as keyof typeof FIXES], code);
  }
});

/** The sections of docs/troubleshooting.md by their code. */
const SECTIONS = new Map(
  documentText("docs/troubleshooting.md").split(/^## (?=[A-Z_]+$)/m).slice(1).map((section) => {
    const [code = "", ...lines] = section.split("\n");
    return [code, lines.join(" ").replace(/\s+/g, " ")];
  }),
);

Deno.test("troubleshooting names what the provider says of each refusal, under its code", () => {
  const missing = REFUSALS.flatMap(({ code, names = [], says, quotable = [] }) => {
    const section = SECTIONS.get(code) ?? "";
    const wanted = [...names, ...quotable].filter((each) => typeof each === "string");
    return [
      ...wanted.filter((each) => !section.includes(each)).map((each) => `${code}: ${each}`),
      ...(says === undefined || says.test(section) ? [] : [`${code}: ${says}`]),
    ];
  });
  assertEquals(missing, [], "say it in docs/troubleshooting.md");
});

Deno.test("troubleshooting quotes the problem of each code as its symptom", () => {
  const missing = Object.entries(MEANINGS).filter(([code, { problem }]) => {
    const [, symptom = ""] = /\*\*Symptom\.\*\*(.*?)- \*\*/.exec(SECTIONS.get(code) ?? "") ?? [];
    const quoted = [...symptom.matchAll(/"([^"]+)"/g)].map(([, text = ""]) => text);
    return !quoted.some((text) => problem.startsWith(text.replace(/ \([^)]*\)$/, "")));
  });
  assertEquals(missing.map(([code, { problem }]) => `${code}: ${problem}`), []);
});
