import { assert, assertEquals, assertMatch } from "@std/assert";
import { lockEnvFile } from "../../../src/settings/env_file.ts";
import { assertKillsHarmless } from "./kills.ts";
import { assertOneRefresh } from "./one_refresh.ts";
import { createSession } from "../../../mod.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder } from "../../support/child_deno.ts";
import { NO_SIGNALS } from "../../support/needs.ts";
import { linesOf, portless, rejection } from "../../support/portless.ts";
import { rounds } from "../../support/property.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { type ClientProcess, startClient } from "./client_process.ts";

const [PROCESSES, CALLS] = [rounds(3, 8), rounds(10, 50)];
Deno.test(`one refresh serves ${PROCESSES} processes of ${CALLS} calls each on one expired .env`, () =>
  assertOneRefresh(PROCESSES, CALLS));

const KILLS = rounds(8, 300);
Deno.test(`the .env survives ${KILLS} kills at random moments`, async () => {
  const kills = await assertKillsHarmless(KILLS);
  assertEquals(kills.working + kills.rejected, KILLS);
  assert(kills.working > 0);
  assertEquals(kills.waited, 0);
});

Deno.test("a process that is killed as it sends a new token leaves the next refresh token in the file", async () => {
  await using sandbox = await startSandbox({ rotateRefreshTokens: true, graceSeconds: 0 });
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    let client: ClientProcess | undefined;
    const loopback = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    await using api = Deno.serve(loopback, () => {
      client?.kill("SIGKILL");
      return new Response();
    });
    const apiBaseUrl = `http://127.0.0.1:${api.addr.port}`;
    await writeEnv(folder, variablesOf({ ...sandbox.settings, apiBaseUrl }));
    const session = createSession({ envFile });
    for (let time = 0; time < 3; time++) {
      await session.login({ force: true });
      const text = await Deno.readTextFile(envFile);
      await Deno.writeTextFile(
        envFile,
        text.replace(/EXPIRES_AT=.*/, "EXPIRES_AT=2020-01-01T00:00:00Z"),
      );
      client = startClient("call", { envFile }, 1);
      await client.go();
      assertEquals((await client.ended).signal, NO_SIGNALS ? null : "SIGKILL");
      assertEquals((await createSession({ envFile }).refresh()).state, "valid");
    }
  });
  const once = ["USER_PASSWORD_AUTH 200", "REFRESH_TOKEN_AUTH 200", "REFRESH_TOKEN_AUTH 200"];
  const flows = sandbox.requests.map(({ authFlow, status }) => `${authFlow} ${status}`);
  assertEquals(flows, [...once, ...once, ...once]);
});

/** The lock is there or not: nothing waits. */
const AT_ONCE = { monotonic: () => 0, sleep: () => Promise.resolve() };

Deno.test("if a process holds the lock for too long, others refresh without it and report that", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const { lock } = await lockEnvFile(world.envFile, 0, AT_ONCE);
  world.clock.advance(3_000);
  const before = world.clock.monotonic();
  await world.session.accessToken();
  assertEquals(world.refreshes(), 1);
  assert(world.clock.monotonic() - before <= 30_000, "inside the deadline");
  assertMatch(world.session.status().warnings.join(), /held the lock.*refreshed without the lock/);
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, await world.session.accessToken());
  lock.release();
  const names = [...Deno.readDirSync(world.envFile.replace(/\.env$/, ""))].map(({ name }) => name);
  assertEquals(names.sort(), [".env", ".env.lock"]);
});

Deno.test("while another process holds the lock, a valid token is used unchanged", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const token = await world.session.accessToken();
  const { lock } = await lockEnvFile(world.envFile, 0, AT_ONCE);
  world.clock.advance(1_700);
  assertEquals(await world.session.accessToken(), token);
  assertEquals((await rejection(world.session.refresh())).code, "TIMEOUT");
  assertEquals(world.refreshes(), 0);
  lock.release();
  assertEquals((await world.session.refresh()).state, "valid");
  assertEquals(world.session.status().warnings, []);
});
