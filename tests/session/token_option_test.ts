/** Sessions with the option `token`, whose function lends each access token. */
import { assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { jwt } from "../support/answers.ts";
import { repeatedPart } from "../support/canaries.ts";
import { isFile } from "../support/needs.ts";
import { type Portless, portless, rejection, statusOf } from "../support/portless.ts";

type Lend = NonNullable<SessionOptions["token"]>;

/** A session whose option `token` lends the sandbox's tokens and counts its calls. */
function borrower(world: Portless, expiresAt?: Date) {
  let calls = 0;
  const token: Lend = async () => {
    calls++;
    const token = await world.sandbox.portalToken();
    return expiresAt ? { token, expiresAt } : token;
  };
  return { session: world.another({ token }), calls: () => calls };
}

Deno.test("one call of the option token serves all callers, until the expiry is near or the API responds with 401", async () => {
  await using world = portless({ file: true });
  const { session, calls } = borrower(world);
  const call = () => statusOf(session.authFetch("/v1/whoami"));
  assertEquals([session.status().canRefresh, calls()], [true, 0]);
  assertEquals(await Promise.all([call(), call(), call()]), [200, 200, 200]);
  const { state, source, envFile, warnings } = session.status();
  assertEquals([state, source, envFile, warnings], ["valid", "token", undefined, []]);
  assertEquals([await call(), calls()], [200, 1]);
  world.clock.advance(1_790);
  assertEquals([await call(), await call(), calls()], [200, 200, 2]);
  world.sandbox.expireAccessTokens();
  assertEquals([await call(), await call(), calls()], [200, 200, 3]);
  await session.refresh();
  await session.login();
  await session.login({ force: true });
  assertEquals([calls(), world.sent, isFile(world.envFile)], [5, [], false]);
});

Deno.test("the expiresAt of the option token takes precedence over the token's own expiry", async () => {
  await using world = portless();
  const end = new Date(world.clock.now() + 600_000);
  const { session, calls } = borrower(world, end);
  assertEquals((await session.login()).accessTokenExpiresAt, end);
  world.clock.advance(599);
  await session.accessToken();
  assertEquals(calls(), 2);
});

Deno.test("the option token is not called between logout() and login()", async () => {
  await using world = portless();
  const { session, calls } = borrower(world);
  await session.login();
  assertEquals((await session.logout()).canRefresh, false);
  for (const work of [session.accessToken, session.refresh]) {
    assertEquals((await rejection(work())).code, "NO_SESSION");
  }
  const { checks } = await session.doctor({ login: true });
  const skipped = checks.filter(({ level }) => level === "skip").map(({ name }) => name);
  assertEquals([skipped, calls()], [["token option", "login"], 1]);
  for (const given of [{ username: "ada" }, { portalToken: "bearer a.b.c" }]) {
    assertEquals((await rejection(session.login(given))).code, "INVALID_SETTING");
  }
  assertEquals([(await session.login()).state, calls()], ["valid", 2]);
});

Deno.test("doctor() checks the API with a token that the option token lends", async () => {
  await using world = portless();
  const { session, calls } = borrower(world);
  const { checks } = await session.doctor();
  const found = Object.fromEntries(checks.map(({ name, level }) => [name, level]));
  assertEquals([found["token option"], found.provider, calls()], ["ok", undefined, 1]);
  assertEquals([session.status().state, world.sent], ["none", []]);
});

for (const by of ["an abort of all callers", "logout()", "timeoutMs"]) {
  Deno.test(`${by} ends the wait for an option token that hangs`, async () => {
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
    const leave = [new AbortController(), new AbortController()];
    const errors = leave.map(({ signal }) => rejection(session.accessToken({ signal })));
    const signal = await started.promise;
    if (by === "logout()") await session.logout();
    else if (by === "timeoutMs") limit.abort();
    else {
      leave[0]?.abort();
      await errors[0];
      assertEquals(signal.aborted, false, "the other caller still waits");
      leave[1]?.abort();
    }
    const ends = (await Promise.all(errors)).map(({ name, code }) =>
      name === "AbortError" ? name : code
    );
    const end = by === "logout()" ? "NO_SESSION" : by === "timeoutMs" ? "TIMEOUT" : "AbortError";
    assertEquals([ends, signal.aborted], [[end, end], true]);
  });
}

const SECRET = jwt({ sub: "the secret of somebody else", exp: 4e9 });
const FAILURES: Record<string, () => unknown> = {
  "rejects": () => Promise.reject(new Deno.errors.NotFound(SECRET)),
  "throws": () => {
    throw new Deno.errors.NotFound(SECRET);
  },
  "returns nothing": () => undefined,
  "returns a word": () => "opaque-token",
  "returns more than a token": () => `Welcome!\n${SECRET}`,
  "returns an object without a token": () => ({ access_token: SECRET }),
  "returns an expiry that is text": () => ({ token: SECRET, expiresAt: "2030-01-01" }),
  "returns an invalid Date": () => ({ token: SECRET, expiresAt: new Date(NaN) }),
  "returns an expired JWT": () => jwt({ sub: "the secret of somebody else", exp: 1e9 }),
  "returns a token that expired": () => ({ token: SECRET, expiresAt: new Date(1) }),
};
for (const [what, token] of Object.entries(FAILURES)) {
  Deno.test(`the error for an option token that ${what} contains no secret`, async () => {
    const session = createSession({ token: token as Lend });
    const error = await rejection(session.accessToken());
    assertEquals(error.code, "TOKEN_UNAVAILABLE");
    const isOfFunction = what === "rejects" || what === "throws";
    assertEquals(error.cause, isOfFunction ? { name: "NotFound" } : undefined);
    assertEquals(repeatedPart(`${error.stack}${Deno.inspect(error)}`, [SECRET]), undefined);
  });
}

Deno.test("the option token may return an opaque token, with or without bearer", async () => {
  const opaque = "5f1c0de2a9b84c7f93d1";
  for (const lent of [opaque, `bearer ${opaque}\n`]) {
    const session = createSession({ token: () => Promise.resolve(lent) });
    assertEquals(await session.accessToken(), opaque);
    assertEquals(session.status().state, "unknown");
  }
});

Deno.test("a session with the option token does not use a store", async () => {
  const token = () => Promise.resolve(SECRET);
  const session = createSession({ token, store: "redis://127.0.0.1:1" });
  await session.login();
  assertEquals(session.status().warnings, []);
});
