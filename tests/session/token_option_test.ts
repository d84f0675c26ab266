/** Sessions with the option `token`, whose function lends each access token. */
import { assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { jwt } from "../support/answers.ts";
import { repeatedPart } from "../support/canaries.ts";
import { isFile } from "../support/needs.ts";
import { type Portless, portless, rejection, statusOf } from "../support/portless.ts";

/** A session whose option `token` lends the sandbox's tokens and counts its calls. */
function borrower(world: Portless, expiresAt?: Date) {
  let calls = 0;
  const lend = async () => {
    calls++;
    const token = await world.sandbox.portalToken();
    return expiresAt ? { token, expiresAt } : token;
  };
  const store = "redis://127.0.0.1:1";
  return { session: world.another({ token: lend, store }), calls: () => calls };
}

Deno.test("one call of the option `token` serves all callers, until the expiry is near or the API responds with 401", async () => {
  await using world = portless({ file: true });
  const { session, calls } = borrower(world);
  const call = () => statusOf(session.authFetch("/v1/whoami"));
  assertEquals([session.status().canRefresh, calls()], [true, 0]);
  assertEquals([await Promise.all([call(), call()]), await call(), calls()], [[200, 200], 200, 1]);
  world.clock.advance(1_790);
  assertEquals([await call(), await call(), calls()], [200, 200, 2]);
  world.sandbox.expireAccessTokens();
  assertEquals([await call(), await call(), calls()], [200, 200, 3]);
  await session.refresh();
  await session.login();
  await session.login({ force: true });
  const { state, source, warnings } = session.status();
  assertEquals([state, source, warnings, calls()], ["valid", "token", [], 5]);
  assertEquals([world.sent, isFile(world.envFile)], [[], false], "nothing is sent or stored");
});

Deno.test("the expiresAt of the option `token` takes precedence over the token's own expiry", async () => {
  await using world = portless();
  const end = new Date(world.clock.now() + 600_000);
  const { session, calls } = borrower(world, end);
  assertEquals((await session.login()).accessTokenExpiresAt, end);
  world.clock.advance(599);
  await session.accessToken();
  assertEquals(calls(), 2);
});

Deno.test("the option `token` is not called between logout() and login()", async () => {
  await using world = portless();
  const { session, calls } = borrower(world);
  const check = async () =>
    (await session.doctor()).checks.find(({ name }) => name === "token option")?.level;
  assertEquals(await check(), "ok");
  assertEquals((await session.logout()).canRefresh, false);
  assertEquals(await check(), "skip");
  for (const work of [session.accessToken, session.refresh]) {
    assertEquals((await rejection(work())).code, "NO_SESSION");
  }
  for (const given of [{ username: "ada" }, { portalToken: "bearer a.b.c" }]) {
    assertEquals((await rejection(session.login(given))).code, "INVALID_SETTING");
  }
  assertEquals(calls(), 1);
  assertEquals([(await session.login()).state, calls(), world.sent], ["valid", 2, []]);
});

const ENDS = [["all callers", DOMException.ABORT_ERR], ["the time limit", "TIMEOUT"]] as const;
for (const [by, code] of ENDS) {
  Deno.test(`${by} can end the wait for an option \`token\` that hangs`, async () => {
    await using world = portless();
    const started = Promise.withResolvers<AbortSignal>();
    const limit = new AbortController();
    const session = world.another({
      // After an abort, the function fails too late to matter.
      token: ({ signal }) =>
        new Promise((_, reject) => {
          started.resolve(signal);
          signal.addEventListener("abort", () => reject(new Error("late")));
        }),
      timeout: (ms) => ms === 0 ? AbortSignal.abort() : limit.signal,
    });
    const callers = [new AbortController(), new AbortController()];
    const errors = callers.map(({ signal }) => rejection(session.accessToken({ signal })));
    const signal = await started.promise;
    if (by === "the time limit") limit.abort();
    for (const [at, caller] of callers.entries()) {
      if (by === "all callers") caller.abort();
      assertEquals<unknown>((await errors[at])?.code, code);
      assertEquals(signal.aborted, by !== "all callers" || at === 1);
    }
  });
}

const SECRET = jwt({ sub: "the secret of somebody else", exp: 4e9 });

Deno.test("a failure of the option `token`, or a result without a valid token, causes TOKEN_UNAVAILABLE", async () => {
  const results = [
    ...[undefined, `Welcome!\n${SECRET}`, { access_token: SECRET }],
    ...[new Date(NaN), new Date(0)].map((expiresAt) => ({ token: SECRET, expiresAt })),
    new Deno.errors.NotFound(SECRET),
  ];
  for (const result of results) {
    const lend = () => result instanceof Error ? Promise.reject(result) : result;
    const session = createSession({ token: lend as SessionOptions["token"] & object });
    const error = await rejection(session.accessToken());
    assertEquals(error.code, "TOKEN_UNAVAILABLE");
    assertEquals(error.cause, result instanceof Error ? { name: "NotFound" } : undefined);
    assertEquals(repeatedPart(`${error.stack}${Deno.inspect(error)}`, [SECRET]), undefined);
  }
});
