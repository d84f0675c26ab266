/** How the engine uses a store: orders of events, and a store that misbehaves. */
import { assertEquals } from "@std/assert";
import { makeSession } from "../../src/session.ts";
import {
  type LockState,
  NOTHING,
  type SessionStore,
  type Stored,
  type Transaction,
  type Wait,
  type Written,
} from "../../src/session/store.ts";
import type { Tokens } from "../../src/provider/tokens.ts";
import { linesOf, portless, rejection } from "../support/portless.ts";
import { lockEnvFile } from "../../src/settings/env_file.ts";

const EXPIRED = 3_000;

/** A store whose lock one transaction has at a time, and that can be held up. */
class Shelf implements SessionStore {
  stored: Stored = NOTHING;
  /** What is done in place of a write. */
  instead: (() => Promise<Written>) | undefined;
  /** Held up before each write. */
  beforeWrite: Promise<unknown> = Promise.resolve();
  /** How many writes began. */
  writes = 0;
  /** How many wait for the lock. */
  waiting = 0;
  /** How many transactions began. */
  begun = 0;
  /** Whether the wait for the lock ends before it is free. */
  isBusy = false;
  #last: Promise<unknown> = Promise.resolve();

  read(): Stored {
    return this.stored;
  }

  async transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    { signal }: Wait,
  ): Promise<T> {
    if (this.isBusy) return await this.#work(work, "busy");
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = before.then(() => done.promise);
    this.waiting++;
    // Like a question to a server: the signal is heard when the answer is there.
    await before;
    this.waiting--;
    try {
      signal?.throwIfAborted();
      return await this.#work(work, "held");
    } finally {
      done.resolve();
    }
  }

  async #work<T>(work: (transaction: Transaction) => Promise<T>, lock: LockState): Promise<T> {
    this.begun++;
    return await work({ lock, write: this.#write });
  }

  #write = async (tokens: Tokens | undefined): Promise<Written> => {
    this.writes++;
    await this.beforeWrite;
    if (this.instead) return await this.instead();
    this.stored = { tokens };
    return { kind: "saved", stored: this.stored };
  };
}

Deno.test("a login whose signal aborted while it waited for the lock is applied by nobody", async () => {
  await using world = portless();
  const shelf = new Shelf();
  const session = makeSession(world.options, false, () => shelf);
  await session.login();
  const before = await session.accessToken();
  world.clock.advance(EXPIRED);
  const write = Promise.withResolvers<void>();
  shelf.beforeWrite = write.promise;
  const refreshed = session.accessToken();
  await until(() => shelf.writes === 2);
  const controller = new AbortController();
  const login = rejection(session.login({ force: true, signal: controller.signal }));
  await until(() => shelf.waiting === 1);
  controller.abort(new Error("the caller left"));
  assertEquals((await login).message, "the caller left");
  write.resolve();
  const token = await refreshed;
  assertEquals(session.status().source, "refresh");
  assertEquals(shelf.stored.tokens?.source, "refresh");
  assertEquals(token === before, false);
});

Deno.test("a refresh that a logout overtakes while it saves gives its callers no token", async () => {
  await using world = portless();
  const shelf = new Shelf();
  const session = makeSession(world.options, false, () => shelf);
  await session.login();
  world.clock.advance(EXPIRED);
  const write = Promise.withResolvers<void>();
  shelf.beforeWrite = write.promise;
  const call = rejection(session.accessToken());
  await until(() => shelf.writes === 2);
  const out = session.logout();
  write.resolve();
  await out;
  assertEquals((await call).code, "NO_SESSION");
});

Deno.test("a login that is saved without the lock counts, whatever others wrote before", async () => {
  await using world = portless();
  const [shelf, other] = [new Shelf(), new Shelf()];
  const session = makeSession(world.options, false, () => shelf);
  await session.login();
  await makeSession(world.options, false, () => other).login();
  world.clock.advance(1);
  const write = Promise.withResolvers<void>();
  shelf.beforeWrite = write.promise;
  shelf.isBusy = true;
  const login = session.login({ force: true });
  await until(() => shelf.writes === 2);
  // Another process saves, and frees the lock.
  shelf.stored = other.stored;
  shelf.isBusy = false;
  const refresh = session.refresh();
  await until(() => shelf.begun === 3);
  write.resolve();
  const loggedInAt = (await login).refreshableUntil;
  assertEquals((await refresh).refreshableUntil, loggedInAt);
  assertEquals(shelf.stored.tokens?.accessToken.reveal(), await session.accessToken());
  assertEquals(
    other.stored.tokens?.authenticatedAt === shelf.stored.tokens?.authenticatedAt,
    false,
  );
});

Deno.test("status() tells of a logout and a login in another process", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const next = world.another();
  await next.logout();
  const ended = world.session.status();
  assertEquals([ended.state, ended.canRefresh], ["none", false]);
  await next.login();
  const { state, source } = world.session.status();
  assertEquals([state, source], ["valid", "file"]);
});

Deno.test("a store that throws ends the calls that wait for it", async () => {
  await using world = portless();
  const shelf = new Shelf();
  const session = makeSession(world.options, false, () => shelf);
  shelf.instead = () => Promise.reject(new TypeError("a bug"));
  const failed = await rejection(session.login());
  assertEquals(failed.message, "a bug");
  shelf.instead = undefined;
  await session.login();
  shelf.stored = { tokens: undefined };
  world.clock.advance(EXPIRED);
  assertEquals((await rejection(session.accessToken())).code, "NO_SESSION");
});

Deno.test("a logout revokes what a login that it overtakes brought", async () => {
  await using world = portless({ file: true });
  const other = await lockEnvFile(world.envFile, 0, { ...world.clock, random: Math.random });
  assertEquals(other.lock.state, "held");
  let polls = 0;
  const sleep = () => {
    polls++;
    return new Promise<void>((resolve) => setTimeout(resolve, 5));
  };
  const session = world.another({ sleep });
  const login = session.login();
  await until(() => polls > 0);
  const out = session.logout();
  other.lock.release();
  await Promise.all([login, out]);
  assertEquals(session.status().state, "none");
  assertEquals(world.sent.filter(({ flow }) => flow === "RevokeToken").length, 1);
});

Deno.test("a logout before another account is set is done", async () => {
  await using world = portless({ file: true });
  const session = makeSession({ ...world.options, envFile: world.envFile }, false);
  await session.login();
  const out = session.logout();
  session.configure({ ...world.options, clientId: "another-client" });
  await out;
  assertEquals(linesOf(world.envFile), {});
});

for (const file of [true, false]) {
  Deno.test(`a plain logout and one from all devices at once: both are told, ${file ? "file" : "memory"}`, async () => {
    await using world = portless({ file });
    await world.session.login();
    const [, everywhere] = await Promise.all([
      world.session.logout(),
      world.session.logout({ everywhere: true }),
    ]);
    assertEquals(everywhere.ended, "everywhere");
  });
}

Deno.test({
  name: "logout() leaves a file that holds no tokens as it is, also where it cannot be written",
  permissions: { read: true, write: false, env: true, net: false },
  fn: async () => {
    const envFile = new URL("../../LICENSE", import.meta.url);
    const before = await Deno.stat(envFile);
    const session = makeSession({ envFile, exportEnv: "none" }, false);
    assertEquals((await session.logout()).state, "none");
    assertEquals((await Deno.stat(envFile)).mode, before.mode);
  },
});

Deno.test("logout() changes no permission bits of a file that holds no tokens", async () => {
  await using world = portless({ file: true });
  await Deno.writeTextFile(world.envFile, "OTHER=1\n", { mode: 0o644 });
  await Deno.chmod(world.envFile, 0o644);
  const status = await world.session.logout();
  assertEquals((await Deno.stat(world.envFile)).mode, 0o100644);
  assertEquals(status.notices.map(({ code }) => code), ["SIGNED_OUT"]);
});

/** Lets all that can go on go on, until a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  do {
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (!holds());
}
