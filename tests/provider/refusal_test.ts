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

for (const [form, answer] of FORMS) {
  Deno.test(`a refusal is understood in the form of ${form}`, async () => {
    const cases = [
      ["NotAuthorizedException", "Wrong.", "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
      ["NotAuthorizedException", "Password attempts exceeded", "LOCKED_OUT", "LOCKED_OUT"],
      ["constructor", "a name that every object has", "REJECTED", "REJECTED"],
    ] as const;
    for (const [name, message, login, refresh] of cases) {
      const error = await loginError(answer(name, message));
      if (!(error instanceof ProviderError)) throw error;
      assertEquals([error.code, error.status, error.providerCode], [login, 400, name]);
      assertMatch(error.message, /^Cannot log in: .*\(status 400, .*\).*; \w+/);
      assertEquals((await refreshError(answer(name, message))).code, refresh);
    }
  });
}

Deno.test("an error as plain text is understood, too", async () => {
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

Deno.test("some statuses have a code, regardless of the body", async () => {
  for (const [status, code] of [[429, "THROTTLED"], [502, "SERVER_ERROR"]] as const) {
    for (const body of ["", "<html>down</html>", "{}", '{"message":"no"}', "[1", "null"]) {
      const answer: Canned = () => new Response(body, { status });
      assertEquals((await loginError(answer)).code, code, body);
      assertEquals((await refreshError(answer)).code, code, body);
    }
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
  ["ExpiredCodeException", "Your token has already been used once.", "CODE_REJECTED"],
  [
    "InvalidPasswordException",
    "Password did not conform with policy: Password must have uppercase characters",
    "NEW_PASSWORD_REJECTED",
  ],
  ["InvalidPasswordException", "Not Uppercase-2031!", "NEW_PASSWORD_REJECTED", "[withheld"],
  ["NotAuthorizedException", "Invalid session for the user.", "CHALLENGE_EXPIRED"],
  ["TooManyFailedAttemptsException", "Too many attempts", "LOCKED_OUT"],
];

for (const [name, message, code, said = message.replace(/\.$/, "")] of STEPS) {
  Deno.test(`${name} "${message}" at a further step is ${code}`, async () => {
    const ask = jsonAnswer({ ChallengeName: "NEW_PASSWORD_REQUIRED", Session: "a-session" });
    const { session } = sessionWith(ask, errorAnswer(name, message));
    const step = await assertRejects(() => session.login(), ChallengeError);
    // The provider's rule is passed on also if the password has one of its words.
    const NEW_PASSWORD = "Uppercase-2031!";
    const error = await assertRejects(() => step.respond({ NEW_PASSWORD }), AuthError);
    assertEquals(error.code, code);
    assert(error.message.includes(said), error.message);
  });
}
