import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  AuthError,
  type AuthErrorCode,
  ChallengeError,
  createSession,
  ProviderError,
  SessionExpiredError,
} from "../../mod.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import { errorAnswer, jsonAnswer, tokenAnswer } from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { cannedSession, SETTINGS } from "../support/canned_session.ts";

function sessionWith(...answers: [Canned, ...Canned[]]) {
  return cannedSession({}, ...answers);
}

async function loginError(answer: Canned): Promise<AuthError> {
  const { session } = sessionWith(answer);
  return await assertRejects(() => session.login(), AuthError);
}

async function refreshError(answer: Canned): Promise<AuthError> {
  const { session } = sessionWith(tokenAnswer(), answer);
  await session.login();
  return await assertRejects(() => session.refresh(), AuthError);
}

type Row = [name: string, message: string, login: AuthErrorCode, refresh?: AuthErrorCode];

const TABLE: Row[] = [
  [
    "NotAuthorizedException",
    "Incorrect username or password.",
    "INVALID_CREDENTIALS",
    "REFRESH_REJECTED",
  ],
  ["NotAuthorizedException", "User is disabled.", "USER_DISABLED"],
  ["NotAuthorizedException", "Unable to login because of security reasons.", "BLOCKED"],
  ["NotAuthorizedException", "Request not allowed due to security reasons.", "BLOCKED"],
  [
    "NotAuthorizedException",
    "Temporary password has expired and must be reset by an administrator.",
    "PASSWORD_RESET_REQUIRED",
  ],
  [
    "NotAuthorizedException",
    "Client abc is configured for secret but secret was not received",
    "SECRET_HASH_REJECTED",
  ],
  [
    "NotAuthorizedException",
    "Refresh Token has expired",
    "INVALID_CREDENTIALS",
    "REFRESH_REJECTED",
  ],
  ["NotAuthorizedException", "", "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
  ["InvalidPasswordException", "Invalid password", "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
  ["UserNotFoundException", "User does not exist.", "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
  ["NotAuthorizedException", "Password attempts exceeded", "LOCKED_OUT"],
  ["NotAuthorizedException", "Unable to verify secret hash for client abc", "SECRET_HASH_REJECTED"],
  [
    "NotAuthorizedException",
    "SecretHash does not match for the client: abc",
    "SECRET_HASH_REJECTED",
  ],
  [
    "NotAuthorizedException",
    "Client abc is configured with secret but SECRET_HASH was not received",
    "SECRET_HASH_REJECTED",
  ],
  ["ResourceNotFoundException", "User pool client abc does not exist.", "CLIENT_UNKNOWN"],
  [
    "InvalidParameterException",
    "USER_PASSWORD_AUTH flow not enabled for this client",
    "FLOW_DISABLED",
  ],
  ["InvalidParameterException", "Initiate Auth method not supported.", "FLOW_DISABLED"],
  ["InvalidParameterException", "Missing required parameter USERNAME", "REJECTED"],
  [
    "PasswordResetRequiredException",
    "Password reset required for the user",
    "PASSWORD_RESET_REQUIRED",
  ],
  ["UserNotConfirmedException", "User is not confirmed.", "USER_NOT_CONFIRMED"],
  ["TooManyRequestsException", "Rate exceeded", "THROTTLED"],
  ["LimitExceededException", "Attempt limit exceeded", "THROTTLED"],
  ["ThrottlingException", "Rate exceeded", "THROTTLED"],
  ["Throttling", "Rate exceeded", "THROTTLED"],
  ["InternalErrorException", "Something went wrong", "SERVER_ERROR"],
  ["ForbiddenException", "Request not allowed due to WAF block.", "BLOCKED"],
  ["UserLambdaValidationException", "PreAuthentication failed", "REJECTED"],
  ["constructor", "a name that every object has", "REJECTED"],
];

const FORMS: [string, (name: string, message: string) => Canned][] = [
  ["__type", (name, message) => errorAnswer(name, message)],
  ["a namespaced __type", (name, message) => errorAnswer(`com.vendor.identity#${name}`, message)],
  [
    "a __type with an address",
    (name, message) => errorAnswer(`${name}:http://vendor.example/x/`, message),
  ],
  ["Message with a capital", (__type, Message) => jsonAnswer({ __type, Message }, 400)],
  ["code", (code, message) => jsonAnswer({ code, message }, 400)],
  [
    "the header x-amzn-ErrorType with its colon",
    (name, message) => jsonAnswer({ message }, 400, { "x-amzn-ErrorType": `${name}:` }),
  ],
  [
    "the header x-amzn-ErrorType with an address",
    (name, message) =>
      jsonAnswer({ message }, 400, { "x-amzn-ErrorType": `a.b#${name}:http://vendor.example/` }),
  ],
];

for (const [name, message, login, refresh = login] of TABLE) {
  Deno.test(`${name} "${message}" is ${login} on login and ${refresh} on refresh, in every form`, async () => {
    for (const [form, answer] of FORMS) {
      const found = [
        await loginError(answer(name, message)),
        await refreshError(answer(name, message)),
      ];
      assertEquals(found.map(({ code }) => code), [login, refresh], form);
      for (const error of found) {
        if (!(error instanceof ProviderError)) continue;
        assertEquals([error.status, error.providerCode], [400, name], form);
      }
    }
  });
}

Deno.test("an error told as plain text is understood too", async () => {
  const text = (body: string): Canned => () => new Response(body, { status: 400 });
  const login = await loginError(text("NotAuthorizedException: Password attempts exceeded"));
  assertEquals(login.code, "LOCKED_OUT");
  assertEquals((await refreshError(text("UserNotFoundException"))).code, "REFRESH_REJECTED");
});

Deno.test("an error in the header of an answer without a body is understood too", async () => {
  const header = { "x-amzn-ErrorType": "ResourceNotFoundException:" };
  const answer: Canned = () => new Response(null, { status: 400, headers: header });
  assertEquals((await loginError(answer)).code, "CLIENT_UNKNOWN");
  assertEquals((await refreshError(answer)).code, "CLIENT_UNKNOWN");
});

const byStatus: [number, AuthErrorCode][] = [
  [429, "THROTTLED"],
  [500, "SERVER_ERROR"],
  [502, "SERVER_ERROR"],
  [503, "SERVER_ERROR"],
  [599, "SERVER_ERROR"],
];
for (const [status, code] of byStatus) {
  Deno.test(`status ${status} is ${code} whatever the body is`, async () => {
    for (const body of ["", "<html>down</html>", "{}", '{"message":"no"}', "[1", "null"]) {
      const answer: Canned = () => new Response(body, { status });
      assertEquals((await loginError(answer)).code, code, body);
      assertEquals((await refreshError(answer)).code, code, body);
    }
  });
}

Deno.test("throttling by name is THROTTLED at any status, also 503", async () => {
  for (const status of [400, 403, 429, 500, 503]) {
    assertEquals(
      (await loginError(errorAnswer("ThrottlingException", "slow", status))).code,
      "THROTTLED",
    );
  }
});

Deno.test("a ProviderError carries status, name, request id, attempts and the wait asked for", async () => {
  const answer = errorAnswer("LimitExceededException", "Attempt limit exceeded", 400, {
    "x-amzn-RequestId": "11111111-2222-3333-4444-555555555555",
    "retry-after": "90",
  });
  const error = await loginError(answer);
  if (!(error instanceof ProviderError)) throw error;
  assertEquals(
    [error.status, error.providerCode, error.requestId, error.attempts, error.retryAfterSeconds],
    [400, "LimitExceededException", "11111111-2222-3333-4444-555555555555", 1, 90],
  );
  assertMatch(error.message, /wait 90 seconds/);
});

Deno.test("a request id is shown up to 80 characters", async () => {
  for (const length of [80, 81]) {
    const id = { "x-amzn-RequestId": "i".repeat(length) };
    const error = await loginError(errorAnswer("ForbiddenException", "Blocked", 400, id));
    if (!(error instanceof ProviderError)) throw error;
    assertEquals(error.requestId, `${"i".repeat(80)}${length > 80 ? "…" : ""}`);
  }
});

Deno.test("the message repeats the provider's own words, on one line", async () => {
  const error = await loginError(
    errorAnswer("ForbiddenException", "Blocked\r\nby \u001b[31mrule 7"),
  );
  assertMatch(error.message, /status 400, ForbiddenException: Blocked by .*rule 7/);
  assert(!error.message.includes("\n") && !error.message.includes("\u001b"));
});

Deno.test("the provider's words are withheld when they repeat what was sent", async () => {
  const { username, password, clientSecret } = SETTINGS;
  for (const secret of [password, clientSecret, new TextEncoder().encode(password).toBase64()]) {
    const echoes: Canned[] = [
      errorAnswer("ForbiddenException", `bad input: ${secret}`),
      errorAnswer(`X${secret}`, "no"),
      errorAnswer("ForbiddenException", "no", 400, { "x-amzn-RequestId": secret }),
      () => new Response(`ForbiddenException ${secret}`, { status: 400 }),
      () =>
        new Response(null, { status: 302, headers: { location: `https://${secret}.example/` } }),
      jsonAnswer({ ChallengeName: secret, ChallengeParameters: { [secret]: secret, a: secret } }),
    ];
    for (const [at, echo] of echoes.entries()) {
      const error = await loginError(echo);
      const shown = Deno.inspect(error, { depth: 100, showHidden: true }).toLowerCase();
      assert(!shown.includes(secret.slice(0, 8).toLowerCase()), `echo ${at} of ${username}`);
    }
  }
});

Deno.test("a demand of the firewall for a captcha is BLOCKED", async () => {
  for (const status of [202, 405]) {
    const page: Canned = () =>
      new Response("<html>", { status, headers: { "x-amzn-waf-action": "captcha" } });
    for (const error of [await loginError(page), await refreshError(page)]) {
      assertEquals([error.code, (error as ProviderError).status], ["BLOCKED", status]);
      assertMatch(error.message, /another network.*support channel/);
    }
  }
});

Deno.test("each refusal that is no wrong password says what to do next", async () => {
  const said: [string, RegExp][] = [
    ["User is disabled.", /the account is disabled \(.*User is disabled\).*support channel/],
    [
      "Temporary password has expired and must be reset by an administrator.",
      /\(.*Temporary password has expired .*\); .*have an administrator reset it/,
    ],
    ["Client x is configured for secret but secret was not received", /APP_CLIENT_SECRET.* empty/],
    ["Password attempts exceeded", /15 minutes.*do not extend the wait/],
  ];
  for (const [message, next] of said) {
    const error = await loginError(errorAnswer("NotAuthorizedException", message));
    assertMatch(error.message, next);
  }
});

Deno.test("a refresh with a hash that is rejected is tried with the next candidate, then without", async () => {
  const rejected = errorAnswer(
    "NotAuthorizedException",
    "SecretHash does not match for the client",
  );
  const { session, asked } = sessionWith(tokenAnswer(), rejected, tokenAnswer());
  await session.login();
  await session.refresh();
  const hashes = asked.map(({ body }) => "SECRET_HASH" in JSON.parse(body).AuthParameters);
  assertEquals(hashes, [true, true, false]);
});

Deno.test("a refresh whose every hash is rejected is SECRET_HASH_REJECTED and keeps the session", async () => {
  const rejected = errorAnswer(
    "NotAuthorizedException",
    "Unable to verify secret hash for client x",
  );
  const { session, asked } = sessionWith(tokenAnswer(), rejected);
  await session.login();
  const error = await assertRejects(() => session.refresh(), ProviderError);
  assertEquals([error.code, error.attempts], ["SECRET_HASH_REJECTED", 2]);
  assertEquals(asked.length, 3);
  assertEquals(session.status().canRefresh, true);
});

Deno.test("a login older than 30 days whose refresh is rejected is REFRESH_WINDOW_OVER", async () => {
  const time = new Clock();
  const rejected = errorAnswer("NotAuthorizedException", "Refresh Token has expired");
  const { fetch } = cannedFetch(tokenAnswer(), rejected);
  const { now, monotonic, sleep } = time;
  const session = createSession({ ...SETTINGS, now, monotonic, sleep, fetch });
  await session.login();
  await time.sleep(31 * 86_400_000);
  const error = await assertRejects(() => session.refresh(), SessionExpiredError);
  assertEquals(error.code, "REFRESH_WINDOW_OVER");
  assertMatch(error.message, /31 days old.*; run login\({ force: true }\)/s);
});

/** What a refused answer to a further step is, and the provider's sentence where it is passed on. */
const STEPS: [name: string, message: string, code: AuthErrorCode, said?: string][] = [
  ["CodeMismatchException", "Invalid code received for user", "CODE_REJECTED"],
  ["ExpiredCodeException", "Your token has already been used once.", "CODE_REJECTED"],
  ["EnableSoftwareTokenMFAException", "Code mismatch", "CODE_REJECTED"],
  [
    "InvalidPasswordException",
    "Password did not conform with policy: Password must have uppercase characters",
    "NEW_PASSWORD_REJECTED",
  ],
  [
    "PasswordHistoryPolicyViolationException",
    "Password has previously been used",
    "NEW_PASSWORD_REJECTED",
  ],
  ["InvalidPasswordException", "Not password must have", "NEW_PASSWORD_REJECTED", "[withheld"],
  ["NotAuthorizedException", "Invalid session for the user.", "CHALLENGE_EXPIRED"],
  ["NotAuthorizedException", "Incorrect username or password.", "CHALLENGE_EXPIRED"],
  ["NotAuthorizedException", "User is disabled.", "USER_DISABLED"],
  ["NotAuthorizedException", "Unable to verify secret hash for client", "SECRET_HASH_REJECTED"],
  ["TooManyFailedAttemptsException", "Too many attempts", "LOCKED_OUT"],
  ["TooManyRequestsException", "Rate exceeded", "THROTTLED"],
  ["InvalidParameterException", "Invalid attributes given", "REJECTED"],
];

for (const [name, message, code, said = message.replace(/\.$/, "")] of STEPS) {
  Deno.test(`${name} "${message}" at a further step is ${code}`, async () => {
    const ask = jsonAnswer({ ChallengeName: "NEW_PASSWORD_REQUIRED", Session: "a-session" });
    const { session } = sessionWith(ask, errorAnswer(name, message));
    const step = await assertRejects(() => session.login(), ChallengeError);
    // The provider's rule is passed on also where the password has its words.
    const NEW_PASSWORD = "password must have";
    const error = await assertRejects(() => step.respond({ NEW_PASSWORD }), AuthError);
    assertEquals(error.code, code);
    assert(error.message.includes(said), error.message);
  });
}
