/** Responses of the provider that are not refusals: those that a session accepts or rejects. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ProviderError } from "../../mod.ts";
import { type Canned, cannedSession } from "../support/canned_fetch.ts";
import { jsonAnswer, tokenAnswer, TOKENS } from "../support/answers.ts";

const token = { AccessToken: "opaque-access-token" };
const LENIENT: [what: string, body: unknown, canRefresh: boolean][] = [
  ["only an access token", { AuthenticationResult: token }, false],
  ["unknown members", {
    AuthenticationResult: { ...token, RefreshToken: "r", NewDeviceMetadata: { a: [1] }, X: 7 },
    ChallengeParameters: {},
    ResultMetadata: {},
  }, true],
];
Deno.test("login() accepts a response in which members that it does not need are missing or unknown", async () => {
  for (const [what, body, canRefresh] of LENIENT) {
    const { session } = cannedSession({}, jsonAnswer(body));
    assertEquals((await session.login()).canRefresh, canRefresh, what);
    assertEquals(await session.accessToken(), "opaque-access-token");
  }
});

const text = (body: string, status = 200, headers: Record<string, string> = {}): Canned => () =>
  new Response(body, { status, headers });
const WHOLE = JSON.stringify({ AuthenticationResult: token, ChallengeParameters: {} });
const NUMBER = tokenAnswer({ ...TOKENS, RefreshToken: 7 });
const LINE_BREAK = tokenAnswer({ ...TOKENS, AccessToken: "a\r\nb: c" });

const UNEXPECTED: [what: string, answer: Canned, seen: RegExp, status?: number][] = [
  ["a response without token or challenge", jsonAnswer({}), /neither tokens nor a challenge/],
  ["an HTML page", text("<!doctype html><p>Sign in to the Wi-Fi"), /HTML/],
  ["JSON that is cut off", text(WHOLE.slice(0, -9)), /not complete JSON/],
  ["a refresh token that is a number", NUMBER, /RefreshToken must be a text of visible ASCII/],
  ["a token with a line break", LINE_BREAK, /visible ASCII/],
  ["a redirect with tokens", text(WHOLE, 308, { location: "/other" }), /redirect/, 308],
  ["an error without a name", jsonAnswer({ message: "no" }, 400), /without an error name/, 400],
  ["a 404 in plain text", text("Not Found", 404), /not complete JSON/, 404],
];
for (const [what, answer, seen, status = 200] of UNEXPECTED) {
  Deno.test(`login() and refresh() fail with UNEXPECTED_RESPONSE for ${what}`, async () => {
    const { session, asked } = cannedSession({}, answer);
    const login = await assertRejects(() => session.login(), ProviderError);
    const other = cannedSession({}, tokenAnswer(), answer);
    await other.session.login();
    const refresh = await assertRejects(() => other.session.refresh(), ProviderError);
    for (const error of [login, refresh]) {
      assertEquals([error.code, error.status], ["UNEXPECTED_RESPONSE", status]);
      assertMatch(error.message, seen);
      assertMatch(error.message, new RegExp(`status ${status}.*; check AUTH_URL`));
    }
    assertEquals(asked.length, 1, "the password is not sent again");
    assertEquals(other.session.status().canRefresh, true, "the session stays");
  });
}
