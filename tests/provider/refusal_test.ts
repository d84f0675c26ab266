import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { AuthError, ProviderError } from "../../mod.ts";
import type { Canned } from "../support/canned_fetch.ts";
import { errorAnswer, jsonAnswer, tokenAnswer } from "../support/answers.ts";
import { cannedSession } from "../support/canned_session.ts";

async function loginError(answer: Canned): Promise<AuthError> {
  const { session } = cannedSession({}, answer);
  return await assertRejects(() => session.login(), AuthError);
}

async function refreshError(answer: Canned): Promise<AuthError> {
  const { session } = cannedSession({}, tokenAnswer(), answer);
  await session.login();
  return await assertRejects(() => session.refresh(), AuthError);
}

const FORMS: [string, (name: string, message: string) => Canned][] = [
  ["its name in __type", (name, message) => errorAnswer(name, message)],
  [
    "a namespaced name in __type",
    (name, message) => errorAnswer(`com.vendor.identity#${name}`, message),
  ],
  ["its message in Message", (__type, Message) => jsonAnswer({ __type, Message }, 400)],
  [
    "its message in error_description",
    (__type, error_description) => jsonAnswer({ __type, message: "", error_description }, 400),
  ],
  ["its name in code", (code, message) => jsonAnswer({ code, message }, 400)],

  [
    "a name and a URL in x-amzn-ErrorType",
    (name, message) =>
      jsonAnswer({ message }, 400, { "x-amzn-ErrorType": `a.b#${name}:http://vendor.example/` }),
  ],
];

for (const [form, answer] of FORMS) {
  Deno.test(`login() and refresh() understand a refusal with ${form}`, async () => {
    const cases = [
      ["NotAuthorizedException", "Password attempts exceeded", "LOCKED_OUT"],
      // Every object inherits a member with this name.
      ["constructor", "no", "REJECTED"],
    ] as const;
    for (const [name, message, code] of cases) {
      const error = await loginError(answer(name, message));
      if (!(error instanceof ProviderError)) throw error;
      assertEquals([error.code, error.status, error.providerCode], [code, 400, name]);
      assertEquals((await refreshError(answer(name, message))).code, code);
    }
  });
}

Deno.test("login() and refresh() understand a refusal in plain text", async () => {
  const text = (body: string): Canned => () => new Response(body, { status: 400 });
  const page: Canned = () => new Response("<html>down</html>", { status: 502 });
  assertEquals((await loginError(page)).code, "SERVER_ERROR");
  const login = await loginError(text("NotAuthorizedException: Password attempts exceeded"));
  assertEquals(login.code, "LOCKED_OUT");
  assertEquals((await refreshError(text("UserNotFoundException"))).code, "REFRESH_REJECTED");
});

Deno.test("login() and refresh() understand a refusal in a header if the response has no body", async () => {
  const header = { "x-amzn-ErrorType": "ResourceNotFoundException:" };
  const answer: Canned = () => new Response(null, { status: 400, headers: header });
  assertEquals((await loginError(answer)).code, "CLIENT_UNKNOWN");
  assertEquals((await refreshError(answer)).code, "CLIENT_UNKNOWN");
});

Deno.test("a ProviderError contains the details of the response that a support desk asks for", async () => {
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
  assertMatch(
    error.message,
    /\(status 400[^)]*exceeded\); the provider asks you to wait 90 seconds/,
  );
});
