import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ProviderError } from "../../mod.ts";
import { errorAnswer, tokenAnswer } from "../support/answers.ts";
import { signedIn } from "../support/portless.ts";
import { cannedSession } from "../support/canned_fetch.ts";

const MINUTE = 60_000;

function asksToWait(seconds: number, status = 429): () => Response {
  return () => new Response("", { status, headers: { "retry-after": `${seconds}` } });
}

async function throttled(work: Promise<unknown>): Promise<ProviderError> {
  const error = await assertRejects(() => work, ProviderError);
  assertEquals(error.code, "THROTTLED");
  return error;
}

Deno.test("200 calls send one request while the provider asks to wait", async () => {
  const { session, asked, time } = cannedSession({}, tokenAnswer(), asksToWait(600), tokenAnswer());
  await session.login();
  await time.sleep(31 * MINUTE);
  for (let call = 0; call < 200; call++) await throttled(session.accessToken());
  assertEquals(asked.length, 2);
  await time.sleep(4 * MINUTE);
  const { message, attempts, retryAfterSeconds } = await throttled(session.refresh());
  assertEquals([attempts, retryAfterSeconds, asked.length], [0, 360, 2]);
  assertMatch(message, /nothing was sent.*asks you to wait 360 seconds/);
  await time.sleep(6 * MINUTE);
  assertEquals((await session.refresh()).state, "valid");
  assertEquals(asked.length, 3);
});

Deno.test("login() sends no password during the wait that the provider asked for", async () => {
  const quota = errorAnswer("LimitExceededException", "Attempt limit exceeded", 400, {
    "retry-after": "600",
  });
  for (const answer of [asksToWait(600), asksToWait(600, 503), quota]) {
    const { session, asked, time } = cannedSession({}, answer, tokenAnswer());
    await assertRejects(() => session.login(), ProviderError);
    const { message } = await throttled(session.login({ force: true }));
    assertMatch(message, /^Cannot log in: .*asks you to wait 600 seconds; .*try again/);
    assertEquals(asked.length, 1);
    await time.sleep(10 * MINUTE);
    assertEquals((await session.login()).state, "valid");
  }
});

Deno.test("a Retry-After delays no call for more than 15 minutes", async () => {
  const { session, asked, time } = cannedSession({}, asksToWait(86_400), tokenAnswer());
  assertEquals((await throttled(session.login())).retryAfterSeconds, 86_400);
  await time.sleep(15 * MINUTE - 1_000);
  assertEquals((await throttled(session.login())).retryAfterSeconds, 1);
  await time.sleep(1_000);
  assertEquals((await session.login()).state, "valid");
  assertEquals(asked.length, 2);
});

Deno.test("a throttled request of a logout does not delay the next login", async () => {
  let asked = 0;
  await using world = await signedIn({
    provider({ flow }) {
      if (flow === "USER_PASSWORD_AUTH") return tokenAnswer();
      asked++;
      return asksToWait(600)();
    },
  });
  await world.session.logout();
  assertEquals(asked, 1);
  assertEquals((await world.session.login({ force: true })).state, "valid");
});
