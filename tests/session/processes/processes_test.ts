import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { lockEnvFile } from "../../../src/settings/env_file.ts";
import { assertKillsHarmless } from "./kills.ts";
import { assertOneRefresh, inEnvFile, inRedis, inSqlite } from "./one_refresh.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { heldTimeouts } from "../../support/held_timeouts.ts";
import { testNeeding } from "../../support/needs.ts";
import { linesOf, type Portless, signedIn } from "../../support/portless.ts";
import { rounds } from "../../support/property.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";

const [PROCESSES, CALLS] = [rounds(3, 8), rounds(10, 50)];
const CROWD = `${PROCESSES} processes with ${CALLS} calls each send one refresh for`;

Deno.test(`${CROWD} an expired token in their .env`, () =>
  assertOneRefresh(inEnvFile, PROCESSES, CALLS));

Deno.test(`${CROWD} a session in a SQLite file`, () =>
  assertOneRefresh(inSqlite, PROCESSES, CALLS));

testNeeding(NO_REDIS, `${CROWD} a session on a Redis server`, () =>
  inFolder(async (folder) => {
    await using server = await startRedis(folder);
    await assertOneRefresh(inRedis(server.url), PROCESSES, CALLS);
  }));

const KILLS = rounds(8, 300);
Deno.test(`a process killed at a random moment leaves a complete .env and a free lock (${KILLS} kills)`, () =>
  assertKillsHarmless(KILLS));

Deno.test("a refreshed session is saved before its new token is sent", async () => {
  const saved: (string | undefined)[] = [];
  await using world: Portless = await signedIn({
    file: true,
    api() {
      saved.push(linesOf(world.envFile).ACCESS_TOKEN);
      return new Response();
    },
  });
  world.clock.advance(3_000);
  await world.session.authFetch("/v1/whoami");
  assertEquals(saved.map((token) => `bearer ${token}`), [world.called[0]?.authorization]);
  assertEquals(world.refreshes(), 1);
});

Deno.test("a process that was suspended past its deadline still uses a response that has arrived", async () => {
  using timeouts = heldTimeouts();
  await using world = await signedIn({ file: true });
  const held = world.hold();
  const refresh = world.session.refresh();
  await held.arrived;
  world.clock.suspend(60);
  timeouts.pass(60_000);
  held.release();
  assertEquals([(await refresh).source, world.refreshes()], ["refresh", 1]);
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, await world.session.accessToken());
});

Deno.test("if another process keeps the lock, accessToken() refreshes without it", async () => {
  await using world = await signedIn({ file: true });
  const { lock } = await lockEnvFile(world.envFile, 0, world.clock);
  world.clock.advance(3_000);
  const before = world.clock.monotonic();
  await world.session.accessToken();
  assertEquals(world.refreshes(), 1);
  assert(world.clock.monotonic() - before <= 30_000, "inside the deadline");
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, await world.session.accessToken());
  lock.release();
  assertEquals(namesIn(dirname(world.envFile)), [".env", ".env.lock"]);
});
