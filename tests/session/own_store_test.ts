/** Sessions in a store that the program provides. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { ConfigError, Session, SessionStatus } from "../../mod.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { type Portless, portless, rejection, statusOf } from "../support/portless.ts";
import { gate, type Step, Table } from "../support/table.ts";

/** Lets everything happen that waits for no step, time limit or response. */
const turn = () => new Promise((resolve) => setTimeout(resolve));
const nothing: Step = () => {};

/** An error as a database driver may throw it. */
class DriverError extends Error {
  readonly code = "ECONNREFUSED";
}
const away: Step = () => {
  throw new DriverError("cannot connect to db://ada:a-secret-password@host");
};

interface Shared {
  readonly table: Table;
  readonly world: Portless;
  readonly one: Session;
  readonly other: Session;
  readonly timeouts: HeldTimeouts;
}

/** Two sessions that share a table. Each refresh token works once. No time limit ends by itself. */
async function sharing(use: (shared: Shared) => Promise<void>): Promise<void> {
  using timeouts = heldTimeouts();
  const table = new Table();
  await using world = portless({
    sandbox: { rotateRefreshTokens: true },
    session: { store: table },
  });
  await use({ table, world, one: world.session, other: world.another(), timeouts });
}

/** Lets all timeouts end, and those that they start. */
function elapse(timeouts: HeldTimeouts): void {
  timeouts.pass(60_000);
  timeouts.pass(60_000);
}

/** Fails unless another caller gets the lock. */
async function assertFree(table: Table): Promise<void> {
  await using _lock = await table.lock(AbortSignal.any([]));
}

/** Does a step once. */
function firstOnly(table: Table, name: "onRead" | "onLocked", step: Step): Step {
  return (signal) => {
    table[name] = nothing;
    return step(signal);
  };
}

const call = (session: Session) => statusOf(session.authFetch("/v1/whoami"));
const codes = ({ notices }: SessionStatus) => notices.map(({ code }) => code);

Deno.test("sessions share a login in a store until one of them logs out", () =>
  sharing(async ({ table, world, one, other }) => {
    const error = await rejection(call(one));
    assertEquals(error.code, "NO_SESSION");
    assertMatch(error.message, /the program's store contains no session/);
    const { state, store, envFile, notices } = await one.login();
    assertEquals([state, store, envFile], ["valid", "the program's store", undefined]);
    assertEquals(notices, []);
    assertEquals((await other.login()).source, "store");
    world.clock.advance(3_000);
    const calls = [one, other, one, other].map(call);
    assertEquals(await Promise.all(calls), [200, 200, 200, 200]);
    assertEquals([world.logins(), world.refreshes()], [1, 1]);
    assertEquals(await one.accessToken(), await other.accessToken());
    await other.logout();
    assertEquals(table.record, {});
    for (const session of [one, world.another()]) {
      assertEquals((await rejection(session.refresh())).code, "NO_SESSION");
    }
  }));

Deno.test("the error for a store that cannot be read contains no text from its driver", () =>
  sharing(async ({ table, world, one }) => {
    table.onRead = away;
    const error = await rejection(call(one));
    assertEquals([error.code, error.cause], ["STORE_UNREACHABLE", {
      name: "DriverError",
      code: "ECONNREFUSED",
    }]);
    assert(!Deno.inspect([error, one.status()]).includes("a-secret-password"));
    assertEquals(codes(one.status()), ["STORE_AWAY"]);
    table.onRead = nothing;
    await world.another().login();
    assertEquals(await call(one), 200);
    assertEquals(codes(one.status()), []);
  }));

Deno.test("the error of a store from another copy of this module keeps its code and its fix", () =>
  sharing(async ({ table, one }) => {
    const theirs = { code: "PERMISSION", problem: "--allow-net is missing", fix: "add it" };
    table.onRead = table.onLock = () => {
      throw Object.assign(new Error("theirs"), theirs);
    };
    for (const attempt of [call(one), one.refresh(), one.login()]) {
      const { name, code, problem, fix } = await rejection(attempt) as ConfigError;
      assertEquals([name, { code, problem, fix }], ["ConfigError", theirs]);
    }
  }));

Deno.test("while the store is unreachable, a valid token is used and no refresh is sent", () =>
  sharing(async ({ table, world, one }) => {
    await one.login();
    table.onRead = table.onLock = away;
    // The token is about to expire.
    world.clock.advance(1_700);
    assertEquals(await call(one), 200);
    assertEquals(codes(one.status()), ["STORE_AWAY", "REFRESH_FAILED"]);
    world.clock.advance(200);
    assertEquals((await rejection(call(one))).code, "STORE_UNREACHABLE");
    table.onRead = nothing;
    assertEquals((await rejection(call(one))).code, "STORE_UNREACHABLE");
    assertEquals(world.refreshes(), 0);
    table.onLock = nothing;
    assertEquals([await call(one), world.refreshes()], [200, 1]);
    assertEquals(codes(one.status()), []);
  }));

Deno.test("tokens that cannot be stored stay in memory until the next refresh stores them", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    const before = table.record;
    table.onWrite = away;
    assertEquals((await one.refresh()).store, undefined);
    assertEquals(codes(one.status()), ["NOT_SAVED"]);
    assertEquals(table.record, before);
    const kept = await one.accessToken();
    // The session does not take over the older record of the store.
    assertEquals((await one.login()).state, "valid");
    assertEquals(await one.accessToken(), kept);
    assertEquals(codes(one.status()), ["NOT_SAVED"]);
    table.onWrite = nothing;
    world.clock.advance(3_000);
    assertEquals([await call(one), world.refreshes()], [200, 2]);
    assertEquals(codes(one.status()), []);
    assertEquals(await other.accessToken(), await one.accessToken());
  }));

Deno.test("logout() throws if the store fails, but still ends the session locally", () =>
  sharing(async ({ table, one, other }) => {
    await one.login();
    await other.login();
    table.onLock = away;
    assertEquals((await rejection(other.logout())).code, "STORE_UNREACHABLE");
    assertEquals(other.status().state, "none");
    table.onLock = nothing;
    table.onWrite = away;
    const error = await rejection(one.logout());
    assertEquals(error.code, "STORE_UNREACHABLE");
    assertMatch(error.message, /the program's store may still contain its tokens/);
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    assertEquals(one.status().state, "none");
  }));

Deno.test("a call stops waiting for a busy lock, and releases the lock if it gets it later", () =>
  sharing(async ({ table, world, one, timeouts }) => {
    await one.login();
    const before = table.record;
    const { step, open } = gate();
    const whileBusy = async <T>(work: () => Promise<T>): Promise<T> => {
      const begun = gate();
      table.onLock = async (signal) => (begun.step(signal), await step(signal));
      const done = work();
      await begun.reached;
      elapse(timeouts);
      return await done;
    };
    assertEquals((await whileBusy(() => rejection(one.refresh()))).code, "TIMEOUT");
    // A login continues, but cannot be stored.
    assertEquals(codes(await whileBusy(() => one.login({ force: true }))), ["NOT_SAVED"]);
    table.onLock = nothing;
    open();
    await turn();
    await assertFree(table);
    assertEquals([table.record, world.refreshes()], [before, 0]);
  }));

Deno.test("a store's read() that hangs does not block a call, and its late result is ignored", () =>
  sharing(async ({ table, world, one, timeouts }) => {
    await one.login();
    const { step, reached, open } = gate();
    table.onRead = firstOnly(table, "onRead", step);
    // The token is about to expire.
    world.clock.advance(1_700);
    const called = call(one);
    await reached;
    elapse(timeouts);
    assertEquals([await called, world.refreshes()], [200, 1]);
    open();
    await turn();
    assertEquals(one.status().source, "refresh");
    assertEquals(await one.accessToken(), table.record?.ACCESS_TOKEN);
  }));

Deno.test("a store's write() that never ends does not block a refresh", () =>
  sharing(async ({ table, one, timeouts }) => {
    await one.login();
    const { step, reached } = gate();
    table.onWrite = step;
    const refreshed = one.refresh();
    await reached;
    elapse(timeouts);
    assertEquals(codes(await refreshed), ["NOT_SAVED"]);
  }));

Deno.test("doctor() reports whether the store can be read and locked", () =>
  sharing(async ({ table, one, other }) => {
    const check = async (name: string) =>
      (await other.doctor()).checks.find((check) => check.name === name);
    assertEquals((await check("store"))?.message, "reachable, with no session");
    await one.login();
    const { record } = table;
    assertEquals((await check("store"))?.message, "reachable, with a session");
    assertEquals((await check("session"))?.level, "ok", "the session has not read the store yet");
    assertEquals(table.record, record);
    for (const part of ["onRead", "onLock"] as const) {
      table[part] = away;
      assertEquals((await check("store"))?.level, "fail", part);
      table[part] = nothing;
    }
  }));

// Each of the following tests is an order of events in which a store once lost tokens.

/** Lets one session begin a refresh, whose response is held while other requests are answered. */
async function refreshing(world: Portless, session: Session) {
  const held = world.hold();
  const refreshed = session.refresh();
  await held.arrived;
  world.hold().release();
  return { refreshed, release: held.release };
}

Deno.test("a refresh whose lock expired adopts the login or the logout that was saved meanwhile", () =>
  sharing(async ({ table, world, one, other }) => {
    for (const change of ["login", "logout"] as const) {
      await one.login({ force: true });
      await other.login();
      const { refreshed, release } = await refreshing(world, one);
      table.expire();
      await (change === "login" ? other.login({ force: true }) : other.logout({ revoke: false }));
      const { record } = table;
      release();
      const problem = await refreshed.then(codes, ({ code }) => code);
      assertEquals(problem, change === "login" ? [] : "NO_SESSION");
      assertEquals(table.record, record);
      assertEquals(await one.accessToken().catch(() => undefined), record?.ACCESS_TOKEN);
    }
  }));

Deno.test("a refresh whose lock expired saves its tokens, even if the old refresh token was refused meanwhile", () =>
  sharing(async ({ table, world, one, other }) => {
    for (const isRefused of [false, true]) {
      await one.login({ force: true });
      await other.login();
      const { refreshed, release } = await refreshing(world, one);
      table.expire();
      // The provider has already replaced the refresh token in the store.
      if (isRefused) assertEquals((await rejection(other.refresh())).code, "REFRESH_REJECTED");
      release();
      assertEquals(codes(await refreshed), []);
      assertEquals(table.record?.ACCESS_TOKEN, await one.accessToken());
      world.clock.advance(3_000);
      assertEquals([await call(one), await call(other)], [200, 200]);
    }
  }));

Deno.test("a refresh whose lock expired does not write while another call has the lock", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    const { record } = table;
    const { refreshed, release } = await refreshing(world, one);
    table.expire();
    const locked = gate();
    table.onLocked = firstOnly(table, "onLocked", locked.step);
    const login = other.login({ force: true });
    await locked.reached;
    release();
    await turn();
    assertEquals(table.record, record);
    locked.open();
    await login;
    assertEquals(codes(await refreshed), []);
    assertEquals(await other.accessToken(), table.record?.ACCESS_TOKEN);
    world.clock.advance(3_000);
    assertEquals([await call(one), await call(other)], [200, 200]);
    assertEquals(await one.accessToken(), await other.accessToken());
    assertEquals(codes(one.status()), []);
  }));

Deno.test("tokens are reported as saved only after the lock is released", () =>
  sharing(async ({ table, world, one }) => {
    await one.login();
    const { record } = table;
    // The transaction cannot be committed.
    table.onRelease = (signal) => {
      table.record = record;
      return away(signal);
    };
    const status = await one.refresh();
    assertEquals([status.store, codes(status)], [undefined, ["NOT_SAVED"]]);
    table.onRelease = nothing;
    world.clock.advance(3_000);
    assertEquals([await call(one), codes(one.status())], [200, []]);
    assertEquals(table.record?.ACCESS_TOKEN, await one.accessToken());
  }));

Deno.test("a write counts as saved even if its reply is lost", () =>
  sharing(async ({ table, one, other }) => {
    table.onWritten = away;
    for (const save of [() => one.login(), () => one.refresh()]) {
      const status = await save();
      assertEquals([status.store, codes(status)], ["the program's store", []]);
      assertEquals(await one.accessToken(), table.record?.ACCESS_TOKEN);
    }
    await other.login();
    assertEquals((await other.logout()).state, "none");
    assertEquals(table.record, {});
  }));

Deno.test("the late result of a read does not undo a login or a logout", async () => {
  for (const change of ["login", "logout"] as const) {
    await sharing(async ({ table, world, one }) => {
      await one.login();
      world.clock.advance(1);
      const held = world.hold();
      const login = change === "login" ? one.login({ force: true }) : undefined;
      await (login && held.arrived);
      const { step, reached, open } = gate();
      table.onRead = firstOnly(table, "onRead", step);
      // A login that keeps a valid session reads the store first.
      const kept = one.login();
      await reached;
      held.release();
      await (login ?? one.logout());
      open();
      const { state } = await kept;
      assertEquals(state, change === "login" ? "valid" : "none");
      const token = await one.accessToken().catch(() => undefined);
      assertEquals(token, table.record?.ACCESS_TOKEN, change);
    });
  }
});

Deno.test("logout() revokes the tokens in use when it was called, even if a read of the store ends later", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    const inUse = table.record?.REFRESH_TOKEN;
    world.clock.advance(1);
    await other.login({ force: true });
    const [read, lock] = [gate(), gate()];
    table.onRead = firstOnly(table, "onRead", read.step);
    table.onLock = lock.step;
    const login = one.login();
    await read.reached;
    const out = one.logout();
    await lock.reached;
    read.open();
    await turn();
    lock.open();
    await Promise.all([login, out]);
    assert(world.sent.some(({ body }) => body.Token === inUse));
  }));

Deno.test("sessions continue after the store lost its data, but end after a logout", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    await other.login();
    table.record = undefined;
    world.clock.advance(3_000);
    assertEquals([await call(one), await call(other), world.refreshes()], [200, 200, 1]);
    assertEquals(await one.accessToken(), await other.accessToken());
    table.record = {};
    world.clock.advance(3_000);
    for (const session of [one, other]) {
      assertEquals((await rejection(call(session))).code, "NO_SESSION");
    }
  }));

Deno.test("after the store lost its data, a session with outdated tokens does not end the others", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    await other.login();
    await one.refresh();
    table.record = undefined;
    world.clock.advance(3_000);
    assertEquals((await rejection(call(other))).code, "REFRESH_REJECTED");
    assertEquals(await call(one), 200);
    assertEquals(await call(other), 200);
    assertEquals(await one.accessToken(), await other.accessToken());
  }));

Deno.test("a first login that could not be saved is not replaced by the older record of the store", () =>
  sharing(async ({ table, world, one, other }) => {
    await other.login();
    const older = table.record;
    table.onRead = table.onLock = away;
    assertEquals(codes(await one.login({ force: true })), ["NOT_SAVED"]);
    const token = await one.accessToken();
    table.onRead = table.onLock = nothing;
    assertEquals([(await one.login()).state, await one.accessToken()], ["valid", token]);
    world.clock.advance(1_700);
    assertEquals([await call(one), world.refreshes()], [200, 1]);
    assertNotEquals(world.sent.at(-1)?.parameters.REFRESH_TOKEN, older?.REFRESH_TOKEN);
    assertEquals([table.record?.ACCESS_TOKEN, codes(one.status())], [await one.accessToken(), []]);
  }));

Deno.test("no refresh is sent if the store cannot be read under the lock", () =>
  sharing(async ({ table, world, one }) => {
    await one.login();
    world.clock.advance(3_000);
    table.onLocked = () => {
      table.onRead = away;
    };
    assertEquals((await rejection(call(one))).code, "STORE_UNREACHABLE");
    table.onLocked = table.onRead = nothing;
    await assertFree(table);
    assertEquals(world.refreshes(), 0);
    assertEquals([await call(one), world.refreshes()], [200, 1]);
  }));

Deno.test("a call that waits for the lock uses the tokens that the holder of the lock saves", () =>
  sharing(async ({ table, world, one, other, timeouts }) => {
    await one.login();
    await other.login();
    world.clock.advance(3_000);
    const [write, release] = [gate(), gate()];
    table.onWrite = write.step;
    table.onRelease = release.step;
    const refreshed = other.refresh();
    await write.reached;
    const called = call(one);
    const locking = gate();
    table.onLock = (signal) => void locking.step(signal);
    await locking.reached;
    write.open();
    await release.reached;
    // The first pause between two looks ends, but no time limit.
    timeouts.pass(500);
    assertEquals([await called, world.refreshes()], [200, 1]);
    release.open();
    await refreshed;
  }));

Deno.test("a call that needs the store waits for a read that a login began", () =>
  sharing(async ({ table, one, other, timeouts }) => {
    await other.login();
    const { step, reached, open } = gate();
    table.onRead = step;
    const login = one.login();
    await reached;
    const called = call(one);
    await turn();
    timeouts.pass(1_000);
    timeouts.pass(500);
    open();
    assertEquals([await called, (await login).state], [200, "valid"]);
  }));

for (const steps of [["onRead", "onLock"], ["onWrite"]] as const) {
  Deno.test(`a login that could not be saved does not hide the next login of another process (${steps})`, () =>
    sharing(async ({ table, one, other }) => {
      await one.login();
      for (const step of steps) table[step] = away;
      await one.login({ force: true });
      for (const step of steps) table[step] = nothing;
      // If the store could not be read, the first record that is read is older than the tokens.
      if (steps[0] === "onRead") await one.login();
      await other.login({ force: true });
      await one.login();
      assertEquals(await one.accessToken(), await other.accessToken());
    }));
}

Deno.test("a call that cannot get the lock uses the tokens that another process saved meanwhile", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    world.clock.advance(3_000);
    table.onLock = async (signal) => {
      table.onLock = nothing;
      await other.login();
      return away(signal);
    };
    assertEquals([await call(one), world.refreshes()], [200, 1]);
  }));

Deno.test("logout() revokes the tokens in the store even if it cannot get the lock", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    await other.login();
    await other.refresh();
    table.onLock = away;
    for (const session of [one, world.another()]) {
      assertEquals((await rejection(session.logout())).code, "STORE_UNREACHABLE");
      const { flow, body } = world.sent.at(-1) ?? {};
      assertEquals([flow, body?.Token], ["RevokeToken", table.record?.REFRESH_TOKEN]);
    }
  }));

Deno.test("a refresh that waits for a login uses its tokens and takes no lock", () =>
  sharing(async ({ table, world, one }) => {
    await one.login();
    world.clock.advance(1);
    const { step, reached, open } = gate();
    table.onWrite = step;
    const login = one.login({ force: true });
    await reached;
    const refreshed = one.refresh();
    table.onLock = () => new Promise(() => {});
    open();
    await login;
    assertEquals([(await refreshed).state, world.refreshes()], ["valid", 0]);
    assertEquals(await one.accessToken(), table.record?.ACCESS_TOKEN);
  }));
