/** Sessions in a store that the program provides. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Session, SessionRecord, SessionStatus, SessionStore } from "../../mod.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import {
  type Portless,
  portless,
  rejection,
  statusOf,
  type TestOptions,
} from "../support/portless.ts";

const never = () => new AbortController().signal;

type Changing = Parameters<SessionStore["update"]>[0];

/** A store in memory whose functions a test can delay or let fail. */
class Table implements SessionStore {
  record: SessionRecord | undefined;
  /** Called before a read returns, before an update takes the lock, and before an update stores. */
  onRead: () => void | Promise<void> = () => {};
  onLock: () => void | Promise<void> = () => {};
  onStore: () => void | Promise<void> = () => {};
  #last: Promise<unknown> = Promise.resolve();

  async read(): Promise<SessionRecord | undefined> {
    const { record } = this;
    await this.onRead();
    return record;
  }

  async update(change: Changing): Promise<void> {
    await this.onLock();
    const mine = this.#last.then(async () => {
      const next = await change(this.record);
      await this.onStore();
      this.record = next ?? this.record;
    });
    this.#last = mine.catch(() => {});
    await mine;
  }
}

/** An error as a database driver may throw it. */
class DriverError extends Error {
  readonly code = "ECONNREFUSED";
}
const away = () => {
  throw new DriverError("cannot connect to db://ada:a-secret-password@host");
};

interface Shared {
  readonly table: Table;
  readonly world: Portless;
  readonly one: Session;
  readonly other: Session;
  /** Another session, whose store reads from the table but has this `update()`. */
  updatedBy(update: SessionStore["update"]): Session;
}

/** Two sessions that share a table. Each refresh token works once. */
async function sharing(
  use: (shared: Shared) => Promise<void>,
  given: TestOptions = {},
): Promise<void> {
  const table = new Table();
  await using world = portless({
    sandbox: { rotateRefreshTokens: true },
    session: { store: table, timeout: never, ...given },
  });
  const updatedBy: Shared["updatedBy"] = (update) =>
    world.another({ store: { read: () => table.read(), update } });
  await use({ table, world, one: world.session, other: world.another(), updatedBy });
}

const call = (session: Session) => statusOf(session.authFetch("/v1/whoami"));
const codes = ({ notices }: SessionStatus) => notices.map(({ code }) => code);

Deno.test("sessions share a login in a store until one of them logs out", () =>
  sharing(async ({ table, world, one, other }) => {
    assertEquals(codes(one.status()), ["STORE_UNREAD"]);
    const error = await rejection(call(one));
    assertEquals(error.code, "NO_SESSION");
    assertMatch(error.message, /the program's store contains no session/);
    const { state, store, envFile } = await one.login();
    assertEquals([state, store, envFile], ["valid", "the program's store", undefined]);
    assertEquals((await other.login()).source, "store");
    assertEquals([await call(one), await call(other), world.logins()], [200, 200, 1]);

    world.clock.advance(3_000);
    const all = Array.from({ length: 20 }, (_, at) => call(at % 2 === 0 ? one : other));
    assertEquals(new Set(await Promise.all(all)), new Set([200]));
    assertEquals(world.refreshes(), 1);
    assertEquals(await one.accessToken(), await other.accessToken());
    await other.logout();
    assertEquals(table.record, {});
    assertEquals((await rejection(one.refresh())).code, "NO_SESSION");
    assertEquals((await rejection(call(world.another()))).code, "NO_SESSION");
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
    table.onRead = () => {};
    await world.another().login();
    assertEquals(await call(one), 200);
    assertEquals(codes(one.status()), []);
  }));

Deno.test("a store may throw an error whose properties cannot be read", () =>
  sharing(async ({ table, world, one }) => {
    table.onRead = table.onLock = table.onStore = () => {
      throw Object.defineProperty(new Error(), "message", {
        get: () => {
          throw new RangeError("not readable");
        },
      });
    };
    assertEquals((await rejection(call(one))).code, "STORE_UNREACHABLE");
    assertEquals((await rejection(one.refresh())).code, "STORE_UNREACHABLE");
    table.onRead = () => {};
    assertEquals(codes(await one.login({ force: true })), ["NOT_SAVED"]);
    table.onLock = () => {};
    assertEquals(codes(await world.another({ store: table }).login()), ["NOT_SAVED"]);
  }));

Deno.test("while the store is unreachable, a valid token is used and no refresh is sent", () =>
  sharing(async ({ table, world, one }) => {
    await one.login();
    table.onRead = table.onLock = away;
    // The token is about to expire.
    world.clock.advance(1_700);
    assertEquals(await call(one), 200);
    assertEquals(codes(one.status()), ["STORE_AWAY", "EARLY_REFRESH_FAILED"]);
    world.clock.advance(200);
    assertEquals((await rejection(call(one))).code, "STORE_UNREACHABLE");
    table.onRead = () => {};
    assertEquals((await rejection(call(one))).code, "STORE_UNREACHABLE");
    assertEquals(world.refreshes(), 0);
    table.onLock = () => {};
    assertEquals([await call(one), world.refreshes()], [200, 1]);
    assertEquals(codes(one.status()), []);
  }));

Deno.test("tokens that cannot be stored stay in memory until the next refresh stores them", () =>
  sharing(async ({ table, world, one, other }) => {
    await one.login();
    const before = table.record;
    table.onStore = away;
    assertEquals((await one.refresh()).store, undefined);
    assertEquals(codes(one.status()), ["NOT_SAVED"]);
    assertEquals(table.record, before);
    const kept = await one.accessToken();
    // The session does not take over the older record of the store.
    assertEquals((await one.login()).state, "valid");
    assertEquals(await one.accessToken(), kept);
    assertEquals(codes(one.status()), ["NOT_SAVED"]);
    table.onStore = () => {};
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
    table.onLock = () => {};
    table.onStore = away;
    const error = await rejection(one.logout());
    assertEquals(error.code, "STORE_UNREACHABLE");
    assertMatch(error.message, /the program's store still contains the tokens/);
    assertEquals((await rejection(call(one))).code, "NO_SESSION");
    assertEquals(one.status().state, "none");
  }));

Deno.test("a call stops waiting for a busy lock, and changes nothing if it gets the lock later", async () => {
  using timeouts = heldTimeouts();
  await sharing(async ({ table, world, one }) => {
    await one.login();
    const before = table.record;
    const free = Promise.withResolvers<void>();
    const whileBusy = async <T>(work: () => Promise<T>): Promise<T> => {
      const begun = Promise.withResolvers<void>();
      table.onLock = () => (begun.resolve(), free.promise);
      const done = work();
      await begun.promise;
      timeouts.pass(60_000);
      return await done;
    };
    assertEquals((await whileBusy(() => rejection(one.refresh()))).code, "TIMEOUT");
    // A login continues, but cannot be stored.
    assertEquals(codes(await whileBusy(() => one.login({ force: true }))), ["NOT_SAVED"]);
    table.onLock = () => {};
    free.resolve();
    await table.update((now) => Promise.resolve(now));
    assertEquals([table.record, world.refreshes()], [before, 0]);
  }, { timeout: undefined });
});

Deno.test("a refresh that is canceled while it waits for the lock sends and stores nothing", () =>
  sharing(async ({ table, world, one }) => {
    await one.login();
    const before = table.record;
    const free = Promise.withResolvers<void>();
    const busy = Promise.withResolvers<void>();
    table.onLock = () => (busy.resolve(), free.promise);
    const stop = new AbortController();
    const refresh = rejection(one.refresh({ signal: stop.signal }));
    await busy.promise;
    stop.abort(new RangeError("stopped"));
    assertEquals((await refresh).name, "RangeError");
    table.onLock = () => {};
    // The next refresh does not wait for the canceled one.
    assertEquals((await one.refresh()).state, "valid");
    const refreshed = table.record;
    free.resolve();
    await table.update((now) => Promise.resolve(now));
    assertEquals(table.record, refreshed);
    assert(before?.ACCESS_TOKEN !== refreshed?.ACCESS_TOKEN);
    assertEquals(world.refreshes(), 1);
  }));

Deno.test("the error of a refresh reaches the caller even if the store throws another error", () =>
  sharing(async ({ table, world, one, other, updatedBy }) => {
    await one.login();
    const wrapping = updatedBy((change) =>
      table.update(change).catch((cause) => {
        throw new DriverError("rolled back", { cause });
      })
    );
    world.sandbox.failures.push({ at: "token", status: 400, times: 1, body: "{}" });
    assertEquals((await rejection(wrapping.refresh())).code, "UNEXPECTED_RESPONSE");
    assertEquals(codes(wrapping.status()), []);
    assertEquals((await other.refresh()).state, "valid");
  }));

Deno.test("tokens stay in memory if the store's update() never calls its function", () =>
  sharing(async ({ table, updatedBy }) => {
    const session = updatedBy(() => Promise.resolve());
    assertEquals(codes(await session.login()), ["NOT_SAVED"]);
    assertEquals([await call(session), table.record], [200, undefined]);
  }));

Deno.test("a refresh is sent once even if the store's update() calls its function twice", () =>
  sharing(async ({ table, world, updatedBy }) => {
    const session = updatedBy((change) =>
      table.update(async (now) => (await change(now), await change(now)))
    );
    await session.login();
    await session.refresh();
    assertEquals(world.refreshes(), 1);
    assertEquals(table.record?.ACCESS_TOKEN, await session.accessToken());
  }));

Deno.test("a store's read() that hangs does not block a call, and its late result is ignored", async () => {
  using timeouts = heldTimeouts();
  await sharing(async ({ table, world, one }) => {
    await one.login();
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    table.onRead = () => (begun.resolve(), gate.promise);
    // The token is about to expire.
    world.clock.advance(1_700);
    const called = call(one);
    await begun.promise;
    timeouts.pass(60_000);
    assertEquals([await called, world.refreshes()], [200, 1]);
    gate.resolve();
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(one.status().source, "refresh");
    assertEquals(await one.accessToken(), table.record?.ACCESS_TOKEN);
  }, { timeout: undefined });
});

Deno.test("a store's update() that never ends does not block a refresh", async () => {
  using timeouts = heldTimeouts();
  await sharing(async ({ table, one }) => {
    await one.login();
    const begun = Promise.withResolvers<void>();
    table.onStore = () => (begun.resolve(), new Promise(() => {}));
    const refreshed = one.refresh();
    await begun.promise;
    // The session starts to wait once the function has returned.
    await new Promise((resolve) => setTimeout(resolve));
    timeouts.pass(60_000);
    assertEquals(codes(await refreshed), ["NOT_SAVED"]);
  }, { timeout: undefined });
});

Deno.test("doctor() changes nothing in a store that treats undefined as a deletion", () =>
  sharing(async ({ table, updatedBy }) => {
    const session = updatedBy(async (change) => {
      table.record = await change(table.record);
    });
    await session.login();
    const before = table.record;
    await session.doctor();
    assertEquals(table.record, before);
  }));

Deno.test("doctor() reports whether the store can be read, locked and written", () =>
  sharing(async ({ table, one, other }) => {
    const check = async (session: Session, wanted: string) => {
      const { checks } = await session.doctor();
      const { level, message } = checks.find(({ name }) => name === wanted) ?? {};
      return [level, message];
    };
    const storeCheck = () => check(one, "store");
    assertEquals(await storeCheck(), ["ok", "reachable, with no session"]);
    await one.login();
    const { record } = table;
    assertEquals(await storeCheck(), ["ok", "reachable, with a session"]);
    assertEquals(table.record, record);
    assertEquals((await check(other, "session"))[0], "ok", "a session that has not read it yet");
    for (const part of ["onRead", "onStore", "onLock"] as const) {
      table[part] = away;
      assertEquals((await storeCheck())[0], "fail", part);
      table[part] = () => {};
    }
  }));
