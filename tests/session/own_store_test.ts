/** Sessions in a store that the program provides. */
import { assert, assertEquals, assertMatch } from "@std/assert";
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
    table.onRead = () => {
      throw Object.assign(new Error("theirs"), theirs);
    };
    const { name, code, problem, fix } = await rejection(call(one)) as ConfigError;
    assertEquals([name, { code, problem, fix }], ["ConfigError", theirs]);
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
    await one.login();
    assertEquals([await one.accessToken(), codes(one.status())], [kept, ["NOT_SAVED"]]);
    table.onWrite = nothing;
    world.clock.advance(3_000);
    assertEquals([await call(one), world.refreshes()], [200, 2]);
    assertEquals(codes(one.status()), []);
    assertEquals(await other.accessToken(), await one.accessToken());
  }));

Deno.test("logout() throws if the store fails, but still ends the session here and at the provider", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    await other.login();
    await other.refresh();
    table.onLock = away;
    assertEquals((await rejection(other.logout())).code, "STORE_UNREACHABLE");
    assertEquals(other.status().state, "none");
    assertEquals(world.sent.at(-1)?.body.Token, table.record?.REFRESH_TOKEN);
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
    await one.login();
    assertEquals((await check("store"))?.message, "reachable, with a session");
    assertEquals((await check("session"))?.level, "ok", "the session has not read the store yet");
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
    await one.login();
    await other.login();
    const { refreshed, release } = await refreshing(world, one);
    table.expire();
    // The provider has already replaced the refresh token in the store.
    assertEquals((await rejection(other.refresh())).code, "REFRESH_REJECTED");
    release();
    assertEquals(codes(await refreshed), []);
    assertEquals(table.record?.ACCESS_TOKEN, await one.accessToken());
    world.clock.advance(3_000);
    assertEquals([await call(one), await call(other)], [200, 200]);
  }));

Deno.test("a refresh whose lock expired does not replace a login that has the lock now", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    const { refreshed, release } = await refreshing(world, one);
    table.expire();
    const { step, reached, open } = gate();
    table.onLocked = firstOnly(table, "onLocked", step);
    const login = other.login({ force: true });
    await reached;
    release();
    await turn();
    open();
    await login;
    assertEquals(codes(await refreshed), []);
    assertEquals(await one.accessToken(), await other.accessToken());
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
    await other.logout();
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

Deno.test("a login that could not be saved is not replaced by the older record of the store", () =>
  sharing(async ({ table, one, other }) => {
    await other.login();
    table.onRead = table.onLock = away;
    assertEquals(codes(await one.login({ force: true })), ["NOT_SAVED"]);
    const token = await one.accessToken();
    table.onRead = table.onLock = nothing;
    await one.login();
    assertEquals(await one.accessToken(), token);
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
