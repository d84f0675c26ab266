/** CI, cron and containers, where the settings contain everything that a login needs. */
import { assertEquals, assertMatch } from "@std/assert";
import { namesIn } from "../support/child_deno.ts";
import type { CliWorld } from "../support/cli_world.ts";
import { linesOf } from "../support/portless.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { commandTest } from "./own_process.ts";

commandTest(
  "fetch and token log in from the environment alone, and create no file",
  async ({ runSeparately, variables: env, envFile, folder, sandbox }) => {
    await Deno.remove(envFile);
    const fetched = await runSeparately(["fetch", "/v1/whoami"], { env });
    assertEquals([fetched.code, fetched.stderr], [0, ""]);
    assertEquals(JSON.parse(fetched.stdout).username, "student");
    const token = await runSeparately(["token"], { env: { ...env, AUTH_ENV_FILE: "false" } });
    assertEquals([token.code, token.stdout.split(".").length], [0, 3]);
    assertEquals([namesIn(folder), sandbox.requests.length], [[], 2]);
  },
);

commandTest(
  "fetch and token log in with the .env alone, and save the session there",
  async ({ runSeparately, envFile, sandbox }) => {
    assertEquals((await runSeparately(["fetch", "/v1/whoami"])).code, 0);
    assertEquals((await runSeparately(["token"])).code, 0);
    assertEquals(sandbox.requests.length, 1);

    // After the end of the session, they log in again.
    sandbox.revokeRefreshTokens();
    const lines = await Deno.readTextFile(envFile);
    await Deno.writeTextFile(envFile, lines.replace(/^ACCESS_TOKEN=.*\n/m, ""));
    const again = await runSeparately(["fetch", "/v1/whoami"]);
    assertEquals([again.code, again.stderr], [0, ""]);
  },
);

/** The settings of an account without user name and password, and a refresh token. */
async function withRefreshToken(world: CliWorld): Promise<Record<string, string>> {
  await world.signIn();
  const { REFRESH_TOKEN = "" } = linesOf(world.envFile);
  const { USERNAME: _, PASSWORD: __, ...settings } = world.variables;
  return { ...settings, REFRESH_TOKEN };
}

commandTest(
  "refresh needs only the settings and REFRESH_TOKEN, in the .env or in the environment",
  async (world) => {
    const { runSeparately, folder, envFile, sandbox } = world;
    const lines = await withRefreshToken(world);
    const { REFRESH_TOKEN = "", ...settings } = lines;

    await writeEnv(folder, lines);
    assertEquals((await runSeparately(["refresh"])).code, 0);
    assertEquals(linesOf(envFile).REFRESH_TOKEN, REFRESH_TOKEN);

    await Deno.remove(envFile);
    assertEquals((await runSeparately(["refresh"], { env: lines })).code, 0);
    assertMatch(linesOf(envFile).ACCESS_TOKEN ?? "", /^eyJ/);
    // The variable is still set, but now the file contains the session.
    assertEquals((await runSeparately(["status"], { env: lines })).stderr, "");

    // A .env that was found by search could name a stranger's host.
    await writeEnv(folder, settings);
    const sent = sandbox.requests.length;
    const found = await runSeparately(["refresh", "--json"], { env: { REFRESH_TOKEN } });
    const { code, problem } = JSON.parse(found.stderr).error;
    assertEquals([found.code, code, sandbox.requests.length], [3, "NO_SESSION", sent]);
    assertMatch(problem, /AUTH_ENV_FILE=/);
    const named = await runSeparately(["refresh", "--env-file=.env"], { env: { REFRESH_TOKEN } });
    assertEquals([named.code, named.stderr], [0, ""]);
  },
);

commandTest(
  "refresh recommends setting USERNAME if SECRET_HASH needs a user name",
  async (world) => {
    await writeEnv(world.folder, await withRefreshToken(world));
    const { code, fix } = JSON.parse((await world.run(["refresh", "--json"])).stderr).error;
    assertEquals(code, "SECRET_HASH_REJECTED");
    assertMatch(fix, /^set USERNAME /);
  },
  { refreshSecretHash: "required" },
);

commandTest(
  "fetch needs only a token and the address of the API",
  async ({ runSeparately, envFile, sandbox, variables: { API_BASE_URL = "" } }) => {
    await Deno.remove(envFile);
    const ACCESS_TOKEN = (await sandbox.portalToken()).replace("bearer ", "");
    const env = { ACCESS_TOKEN, API_BASE_URL };
    const { code, stdout } = await runSeparately(["fetch", "/v1/whoami"], { env });
    assertEquals([code, JSON.parse(stdout).username], [0, "student"]);
  },
);
