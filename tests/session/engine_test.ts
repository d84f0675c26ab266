/** How the engine uses a store: orders of events, and a store that misbehaves. */
import { assert, assertEquals } from "@std/assert";
import { makeSession } from "../../src/session.ts";
import {
  type Decide,
  type Lock,
  NOTHING,
  type Stored,
  type TokenStore,
  type Updated,
  type WaitOptions,
} from "../../src/session/store.ts";
import { linesOf, type Portless, portless, rejection } from "../support/portless.ts";
import { lockEnvFile } from "../../src/settings/env_file.ts";

const EXPIRED = 3_000;

/** A store that can be held up, and whose content the test can change. */
class Shelf implements TokenStore {
  readonly place = undefined;
  stored: Stored = NOTHING;
  /** Called instead of a write. */
  instead: (() => Promise<Updated>) | undefined;
  /** Called when an update begins. */
  onUpdate: (() => void | Promise<void>) | undefined;
  /** Awaited before each write. */
  beforeWrite: Promise<unknown> = Promise.resolve();
  /** How many writes began. */
  writes = 0;

  peek(): Stored {
    return this.stored;
  }

  async update(_: WaitOptions, decide: Decide, lock: Lock = { isHeld: true }): Promise<Updated> {
    if (this.onUpdate) await this.onUpdate();
    const write = await decide(this.stored, lock);
    if (write === undefined) return { stored: this.stored };
    this.writes++;
    await this.beforeWrite;
    if (this.instead) return await this.instead();
    return { stored: this.stored = { tokens: write.tokens } };
  }
}

/** A session whose token expired. */
async function expiredOnShelf(world: Portless) {
  const shelf = new Shelf();
  const session = makeSession(world.options, false, () => shelf);
  await session.login();
  world.clock.advance(EXPIRED);
  return { shelf, session };
}

/** A refresh that was answered, and whose save is held up. */
async function savingOnShelf(world: Portless) {
  const { shelf, session } = await expiredOnShelf(world);
  const write = Promise.withResolvers<void>();
  shelf.beforeWrite = write.promise;
  const call = session.accessToken();
  await until(() => shelf.writes === 2);
  return { shelf, session, call, write };
}

Deno.test("a login that is canceled while it waits for the lock is applied by nobody", async () => {
  await using world = portless();
  const { shelf, session, call, write } = await savingOnShelf(world);
  const { stored } = shelf;
  const controller = new AbortController();
  const login = rejection(session.login({ force: true, signal: controller.signal }));
  await until(() => world.logins() === 2);
  await until(() => true);
  controller.abort(new Error("the caller left"));
  assertEquals((await login).message, "the caller left");
  // The session does not read a store that is half written.
  shelf.stored = { tokens: undefined };
  assertEquals(session.status().state, "refreshable");
  shelf.stored = stored;
  write.resolve();
  const token = await call;
  assertEquals([session.status().source, shelf.stored.tokens?.source], ["refresh", "refresh"]);
  assertEquals(await session.accessToken(), token);
});

Deno.test("a refresh that a logout overtakes while it saves gives its callers no token", async () => {
  await using world = portless();
  const { session, call, write } = await savingOnShelf(world);
  const error = rejection(call);
  const out = session.logout();
  write.resolve();
  await out;
  assertEquals((await error).code, "NO_SESSION");
});

Deno.test("a logout that waits while a refresh is saved revokes its tokens, whatever is saved after it", async () => {
  await using world = portless({ sandbox: { rotateRefreshTokens: true } });
  const { shelf, session, call, write } = await savingOnShelf(world);
  const out = session.logout();
  let brought: string | undefined;
  shelf.onUpdate = async () => {
    await call;
    await until(() => true);
    brought = shelf.stored.tokens?.refreshToken?.reveal();
    // Another process writes before this logout has the lock.
    shelf.stored = { tokens: undefined };
  };
  write.resolve();
  await out;
  const revoked = world.sent.filter(({ flow }) => flow === "RevokeToken")
    .map(({ body }) => body.Token);
  assert(brought !== undefined && revoked.includes(brought), `${revoked.length} were revoked`);
});

Deno.test("a caller that joins a waiting refresh and gives up leaves it to the others", async () => {
  await using world = portless();
  const { shelf, session } = await expiredOnShelf(world);
  const lock = Promise.withResolvers<void>();
  let updates = 0;
  shelf.onUpdate = () => {
    updates++;
    return lock.promise;
  };
  const first = session.accessToken();
  const controller = new AbortController();
  const joined = rejection(session.accessToken({ signal: controller.signal }));
  await until(() => updates > 0);
  controller.abort(new Error("the caller left"));
  assertEquals((await joined).message, "the caller left");
  const later = session.accessToken();
  await until(() => true);
  lock.resolve();
  assertEquals(await first, await later);
  assertEquals([updates, world.refreshes()], [1, 1]);
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
