/** How the engine uses a store: orders of events, and a store that misbehaves. */
import { assertEquals } from "@std/assert";
import { makeSession } from "../../src/session.ts";
import {
  type Decide,
  type Lock,
  NOTHING,
  type Stored,
  type TokenStore,
  type Updated,
  type Wait,
} from "../../src/session/store.ts";
import { linesOf, portless, rejection } from "../support/portless.ts";
import { lockEnvFile } from "../../src/settings/env_file.ts";

const EXPIRED = 3_000;

/** A store whose lock one update has at a time, and that can be held up. */
class Shelf implements TokenStore {
  readonly place = undefined;
  stored: Stored = NOTHING;
  /** Called instead of a write. */
  instead: (() => Promise<Updated>) | undefined;
  /** Awaited before each write. */
  beforeWrite: Promise<unknown> = Promise.resolve();
  /** How many writes began. */
  writes = 0;

  peek(): Stored {
    return this.stored;
  }

  async update(_: Wait, decide: Decide, lock: Lock = { isHeld: true }): Promise<Updated> {
    const write = await decide(this.stored, lock);
    if (write === undefined) return { stored: this.stored };
    this.writes++;
    await this.beforeWrite;
    if (this.instead) return await this.instead();
    return { stored: this.stored = { tokens: write.tokens } };
  }
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
  await until(() => world.logins() === 2);
  await until(() => true);
  controller.abort(new Error("the caller left"));
  assertEquals((await login).message, "the caller left");
  write.resolve();
  const token = await refreshed;
  assertEquals(session.status().source, "refresh");
  assertEquals(shelf.stored.tokens?.source, "refresh");
  assertEquals(token === before, false);
});

Deno.test("a login that is canceled in line does not have the session read a file that is half written", async () => {
  await using world = portless();
  const shelf = new Shelf();
  const session = makeSession(world.options, false, () => shelf);
  await session.login();
  world.clock.advance(EXPIRED);
  const write = Promise.withResolvers<void>();
  shelf.beforeWrite = write.promise;
  const refreshed = session.accessToken();
  await until(() => shelf.writes === 2);
  const controller = new AbortController();
  const login = rejection(session.login({ force: true, signal: controller.signal }));
  await until(() => world.logins() === 2);
  await until(() => true);
  controller.abort(new Error("the caller left"));
  await login;
  shelf.stored = { tokens: undefined };
  assertEquals(session.status().state, "refreshable");
  write.resolve();
  assertEquals(await refreshed, await session.accessToken());
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

Deno.test("status() shows the settings that the next call uses, as the .env has them now", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  assertEquals(world.session.status().portalUrl, undefined);
  await Deno.writeTextFile(world.envFile, "PORTAL_URL=https://portal.example\n", { append: true });
  const { portalUrl, state } = world.session.status();
  assertEquals([portalUrl, state], ["https://portal.example/", "valid"]);
  await Deno.writeTextFile(world.envFile, "APP_CLIENT_ID=another-client\n", { append: true });
  assertEquals(world.session.status().clientId, world.options.clientId);
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
  // Windows has no such bits, and shows others.
  const { mode } = await Deno.stat(world.envFile);
  const status = await world.session.logout();
  assertEquals((await Deno.stat(world.envFile)).mode, mode);
  assertEquals(status.notices.map(({ code }) => code), ["SIGNED_OUT"]);
});

/** Lets all that can go on go on, until a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  do {
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (!holds());
}
