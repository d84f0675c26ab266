import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ProviderError } from "../../mod.ts";
import type { Canned } from "../support/canned_fetch.ts";
import { jsonAnswer, tokenAnswer, TOKENS } from "../support/answers.ts";
import { cannedSession } from "../support/canned_session.ts";

function sessionWith(...answers: [Canned, ...Canned[]]) {
  return cannedSession({}, ...answers);
}

const text = (body: string, status = 200, headers: Record<string, string> = {}): Canned => () =>
  new Response(body, { status, headers });

const token = { AccessToken: "opaque-access-token" };
const whole = JSON.stringify({ AuthenticationResult: token, ChallengeParameters: {} });
const unexpected: [string, Canned, number, RegExp][] = [
  ["neither tokens nor a challenge", jsonAnswer({}), 200, /neither tokens nor a challenge/],

  ["an empty result", jsonAnswer({ AuthenticationResult: {} }), 200, /AccessToken/],
  ["an HTML page", text("<!doctype html><p>Sign in to the Wi-Fi"), 200, /HTML/],
  ["an empty body", text(""), 200, /empty body/],
  ["JSON that is cut off", text(whole.slice(0, -9)), 200, /not complete JSON/],
  [
    "a number for the refresh token",
    tokenAnswer({ ...TOKENS, RefreshToken: 7 }),
    200,
    /RefreshToken.*string/,
  ],

  [
    "a token with a line break",
    tokenAnswer({ ...TOKENS, AccessToken: "a\r\nb: c" }),
    200,
    /visible ASCII/,
  ],
  ["null", jsonAnswer(null), 200, /without an error name/],
  [
    "a name of 201 characters for the challenge",
    jsonAnswer({ ChallengeName: "X".repeat(201) }),
    200,
    /ChallengeName/,
  ],
  ["an error with a status of success", jsonAnswer({ __type: "X", message: "no" }), 200, /neither/],

  ["a redirect with tokens", text(whole, 308, { location: "/other" }), 308, /redirect/],
  ["an error without a name", jsonAnswer({ message: "no" }, 400), 400, /without an error name/],
  ["a page not found", text("Not Found", 404), 404, /not complete JSON/],
];
for (const [what, answer, status, seen] of unexpected) {
  Deno.test(`${what} is UNEXPECTED_RESPONSE on login and refresh, with the status and what was seen`, async () => {
    const { session, asked } = sessionWith(answer);
    const login = await assertRejects(() => session.login(), ProviderError);
    const other = sessionWith(tokenAnswer(), answer);
    await other.session.login();
    const refresh = await assertRejects(() => other.session.refresh(), ProviderError);
    for (const error of [login, refresh]) {
      assertEquals([error.code, error.status], ["UNEXPECTED_RESPONSE", status]);
      assertMatch(error.message, seen);
      assertMatch(error.message, new RegExp(`status ${status}.*; check AUTH_URL`));
    }
    assertEquals(asked.length, 1, "an odd answer is no reason to send the password again");
    assertEquals(other.session.status().canRefresh, true, "the session stays");
  });
}

Deno.test("a response that is far too large is UNEXPECTED_RESPONSE and not read to its end", async () => {
  let read = 0;
  const endless = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(65_536).fill(0x20));
      if (++read > 1_000) controller.error(new Error("read to its end"));
    },
  }, { highWaterMark: 0 });
  const { session } = sessionWith(() => new Response(endless));
  const error = await assertRejects(() => session.login(), ProviderError);
  assertEquals(error.code, "UNEXPECTED_RESPONSE");
  assert(read < 100, `${read} chunks`);
});
