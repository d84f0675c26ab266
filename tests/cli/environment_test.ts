/** CI, cron and containers, where the settings contain everything that a login needs. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { namesIn } from "../support/child_deno.ts";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { linesOf } from "../support/portless.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { inOwnProcess } from "./own_process.ts";

Deno.test("fetch and token log in from the environment alone, and create no file", () =>
  inCliWorld(async ({ run, variables: env, envFile, folder, sandbox }) => {
    await Deno.remove(envFile);
    const fetched = await run(["fetch", "/v1/whoami"], { env });
    assertEquals([fetched.code, fetched.stderr], [0, ""]);
    assertEquals(JSON.parse(fetched.stdout).username, "student");
    const token = await run(["token"], { env: { ...env, AUTH_ENV_FILE: "false" } });
    assertEquals([token.code, token.stdout.split(".").length], [0, 3]);
    assertEquals([namesIn(folder), sandbox.requests.length], [[], 2]);
  }));

Deno.test("fetch and token log in with the .env alone, and save the session there", () =>
  inCliWorld(async ({ run, envFile, sandbox }) => {
    const fetched = await run(["fetch", "/v1/whoami"]);
    assertEquals([fetched.code, fetched.stderr], [0, ""]);
    assertMatch(await Deno.readTextFile(envFile), /^ACCESS_TOKEN=eyJ/m);
    assertEquals((await run(["token"])).code, 0);
    assertEquals(sandbox.requests.length, 1);

    // After the end of the session, they log in again.
    sandbox.expireAccessTokens();
    sandbox.revokeRefreshTokens();
    const lines = await Deno.readTextFile(envFile);
    const ended = lines.replace(/^(ACCESS_TOKEN(_EXPIRES_AT)?)=.*\n/gm, "");
    await Deno.writeTextFile(envFile, ended);
    const again = await run(["fetch", "/v1/whoami"]);
    assertEquals([again.code, again.stderr], [0, ""]);
  }));

const BY_HAND = "next: run platform-auth login\n";

Deno.test("if fetch and token cannot log in by themselves, status recommends a login and says why", () =>
  inCliWorld(async ({ run, folder, variables: { PASSWORD = "", USERNAME = "", ...others } }) => {
    await writeEnv(folder, others);
    assertStringIncludes((await run(["status"])).stdout, BY_HAND);
    // The file names hosts that must not receive the password.
    const { stdout } = await run(["status"], { env: { PASSWORD, USERNAME } });
    assertStringIncludes(stdout, BY_HAND);
    assertMatch(stdout, /PASSWORD.* is not sent.*AUTH_URL/);
  }));

/** The settings of an account without user name and password, and a refresh token. */
async function withRefreshToken(world: CliWorld): Promise<Record<string, string>> {
  await world.signIn();
  const { REFRESH_TOKEN = "" } = linesOf(world.envFile);
  const { USERNAME: _, PASSWORD: __, ...settings } = world.variables;
  return { ...settings, REFRESH_TOKEN };
}

Deno.test("refresh needs only the settings and REFRESH_TOKEN in the .env, or names the missing one", () =>
  inOwnProcess(async (world) => {
    const { run, folder, envFile } = world;
    const lines = await withRefreshToken(world);
    for (const missing of ["USER_POOL_ID", "APP_CLIENT_ID", "AUTH_URL"]) {
      await writeEnv(folder, { ...lines, [missing]: "" });
      const { code, problem } = JSON.parse((await run(["refresh", "--json"])).stderr).error;
      assertEquals(code, "MISSING_SETTINGS");
      assertMatch(problem, new RegExp(`missing ${missing}$`));
    }
    await writeEnv(folder, lines);
    const { code, stderr } = await run(["refresh"]);
    assertEquals([code, stderr], [0, ""]);
    const { ACCESS_TOKEN, REFRESH_TOKEN } = linesOf(envFile);
    assertMatch(ACCESS_TOKEN ?? "", /^eyJ/);
    assertEquals(REFRESH_TOKEN, lines.REFRESH_TOKEN);
  }));

Deno.test("refresh needs only the settings and REFRESH_TOKEN in the environment", () =>
  inCliWorld(async (world) => {
    const { run, envFile, sandbox } = world;
    const env = await withRefreshToken(world);
    await Deno.remove(envFile);
    const { code, stderr } = await run(["refresh"], { env });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(linesOf(envFile).ACCESS_TOKEN ?? "", /^eyJ/);
    // The variable is still set, but now the file contains the session.
    assertEquals((await run(["status"], { env })).stderr, "");
    const sent = sandbox.requests.length;
    const other = await run(["fetch", "/v1/whoami"], {
      env: { ...env, REFRESH_TOKEN: "of-another" },
    });
    assertEquals([other.code, other.stderr, sandbox.requests.length], [0, "", sent]);
  }));

Deno.test("refresh says why REFRESH_TOKEN is not sent to the hosts in a .env that was found by search", () =>
  inCliWorld(async (world) => {
    const { run, folder, sandbox } = world;
    const { REFRESH_TOKEN = "", ...settings } = await withRefreshToken(world);
    await writeEnv(folder, settings);
    const sent = sandbox.requests.length;
    const found = await run(["refresh", "--json"], { env: { REFRESH_TOKEN } });
    const { code, problem } = JSON.parse(found.stderr).error;
    assertEquals([found.code, code, sandbox.requests.length], [3, "NO_SESSION", sent]);
    assertStringIncludes(problem, "AUTH_ENV_FILE=");
    const trusted = await run(["refresh", "--env-file=.env"], { env: { REFRESH_TOKEN } });
    assertEquals([trusted.code, trusted.stderr], [0, ""]);
  }));

Deno.test("the error of refresh recommends setting USERNAME if SECRET_HASH needs a user name", () =>
  inOwnProcess(async (world) => {
    const { run, folder } = world;
    const lines = await withRefreshToken(world);
    await writeEnv(folder, lines);
    const { code, fix } = JSON.parse((await run(["refresh", "--json"])).stderr).error;
    assertEquals(code, "SECRET_HASH_REJECTED");
    assertMatch(fix, /^set USERNAME /);
    await writeEnv(folder, { ...lines, USERNAME: "student" });
    assertEquals((await run(["refresh"])).code, 0);
  }, { refreshSecretHash: "required" }));

Deno.test("fetch needs only a token and the address of the API", () =>
  inCliWorld(async ({ run, envFile, sandbox, variables: { API_BASE_URL = "" } }) => {
    await Deno.remove(envFile);
    const ACCESS_TOKEN = (await sandbox.portalToken()).replace("bearer ", "");
    const { code, stdout } = await run(["fetch", "/v1/whoami"], {
      env: { ACCESS_TOKEN, API_BASE_URL },
    });
    assertEquals([code, JSON.parse(stdout).username], [0, "student"]);
  }));
