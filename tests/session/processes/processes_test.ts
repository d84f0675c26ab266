import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { lockEnvFile } from "../../../src/settings/env_file.ts";
import { assertKillsHarmless } from "./kills.ts";
import { assertOneRefresh, inEnvFile, inSqlite } from "./one_refresh.ts";
import { createSession } from "../../../mod.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { NO_SIGNALS } from "../../support/needs.ts";
import { linesOf, portless, signedIn } from "../../support/portless.ts";
import { rounds } from "../../support/property.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { type ClientProcess, startClient } from "./client_process.ts";
import { serveLocal } from "../../support/local_server.ts";

const [PROCESSES, CALLS] = [rounds(3, 8), rounds(10, 50)];
Deno.test(`${PROCESSES} processes with ${CALLS} calls each send one refresh for an expired token in their .env`, () =>
  assertOneRefresh(inEnvFile, PROCESSES, CALLS));

Deno.test(`${PROCESSES} processes with ${CALLS} calls each send one refresh for a session in a SQLite file`, () =>
  assertOneRefresh(inSqlite, PROCESSES, CALLS));

const KILLS = rounds(8, 300);
Deno.test(`a process killed at a random moment leaves a complete .env and a free lock (${KILLS} kills)`, () =>
  assertKillsHarmless(KILLS));

Deno.test("a refreshed session is saved before its new token is sent", async () => {
  await using sandbox = await startSandbox({ rotateRefreshTokens: true, graceSeconds: 0 });
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    let client: ClientProcess | undefined;
    await using api = serveLocal(() => {
      client?.kill("SIGKILL");
      return new Response();
    });
    await writeEnv(folder, variablesOf({ ...sandbox.settings, apiBaseUrl: api.origin }));
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

Deno.test("logout() creates no file if there is no .env", async () => {
  await using world = portless({ file: true });
  assertEquals((await world.session.logout()).state, "none");
  assertEquals(namesIn(dirname(world.envFile)), []);
});
