import { assertEquals, assertInstanceOf, assertMatch, assertRejects } from "@std/assert";
import { AuthError, ProviderError } from "../../mod.ts";
import { type Canned, cannedSession } from "../support/canned_fetch.ts";
import { errorAnswer, jsonAnswer, tokenAnswer } from "../support/answers.ts";

async function loginError(answer: Canned): Promise<AuthError> {
  const { session } = cannedSession({}, answer);
  return await assertRejects(() => session.login(), AuthError);
}

async function refreshError(answer: Canned): Promise<AuthError> {
  const { session } = cannedSession({}, tokenAnswer(), answer);
  await session.login();
  return await assertRejects(() => session.refresh(), AuthError);
}

const text = (body: string, status = 400): Canned => () => new Response(body, { status });
const FORMS: [form: string, answer: (name: string, message: string) => Canned][] = [
  ["its name in __type", (name, message) => errorAnswer(name, message)],
  ["a namespaced name", (name, message) => errorAnswer(`com.vendor.identity#${name}`, message)],
  ["its message in Message", (__type, Message) => jsonAnswer({ __type, Message }, 400)],
  ["its name in code", (code, message) => jsonAnswer({ code, message }, 400)],
  [
    "a name and a URL in x-amzn-ErrorType",
    (name, message) =>
      jsonAnswer({ message }, 400, { "x-amzn-ErrorType": `a.b#${name}:http://vendor.example/` }),
  ],
  ["only plain text", (name, message) => text(`${name}: ${message}`)],
];

for (const [form, answer] of FORMS) {
  Deno.test(`login() and refresh() understand a refusal with ${form}`, async () => {
    const refusal = answer("NotAuthorizedException", "Password attempts exceeded");
    const error = await loginError(refusal);
    assertInstanceOf(error, ProviderError);
    assertEquals(
      [error.code, error.status, error.providerCode],
      ["LOCKED_OUT", 400, "NotAuthorizedException"],
    );
    assertEquals((await refreshError(refusal)).code, "LOCKED_OUT");
  });
}

Deno.test("login() understands a refusal that consists of a status, a header or a name", async () => {
  const header = { "x-amzn-ErrorType": "ResourceNotFoundException:" };
  const answers: [code: string, Canned][] = [
    ["SERVER_ERROR", text("<html>down</html>", 502)],
    ["CLIENT_UNKNOWN", () => new Response(null, { status: 400, headers: header })],
    ["INVALID_CREDENTIALS", text("UserNotFoundException")],
  ];
  for (const [code, answer] of answers) assertEquals((await loginError(answer)).code, code);
});

Deno.test("a ProviderError contains the details of the response that a support desk asks for", async () => {
  const answer = errorAnswer("LimitExceededException", "Attempt limit exceeded", 400, {
    "x-amzn-RequestId": "11111111-2222-3333-4444-555555555555",
    "retry-after": "90",
  });
  const error = await loginError(answer);
  assertInstanceOf(error, ProviderError);
  assertEquals(
    [error.status, error.providerCode, error.requestId, error.attempts, error.retryAfterSeconds],
    [400, "LimitExceededException", "11111111-2222-3333-4444-555555555555", 1, 90],
  );
  assertMatch(
    error.message,
    /\(status 400[^)]*exceeded\); the provider asks you to wait 90 seconds/,
  );
});
