/** CI, cron and containers, where the settings contain everything that a login needs. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { namesIn } from "../support/child_deno.ts";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { writeEnv } from "../support/sandbox_env.ts";

/** Works in a folder without a `.env`. */
function inBareFolder(use: (world: CliWorld) => Promise<void>): Promise<void> {
  return inCliWorld(async (world) => {
    await Deno.remove(world.envFile);
    await use(world);
  });
}

Deno.test("fetch and token log in from the environment alone, and create no file", () =>
  inBareFolder(async ({ run, variables: env, folder, sandbox }) => {
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

Deno.test("status asks for a login if fetch and token cannot log in, and says why not", () =>
  inCliWorld(async ({ run, folder, variables: { PASSWORD = "", USERNAME = "", ...others } }) => {
    await writeEnv(folder, others);
    assertStringIncludes((await run(["status"])).stdout, BY_HAND);
    // The file names hosts that must not receive the password.
    const { stdout } = await run(["status"], { env: { PASSWORD, USERNAME } });
    assertStringIncludes(stdout, BY_HAND);
    assertMatch(stdout, /AUTH_URL.* must not receive PASSWORD/);
  }));

Deno.test("fetch needs only a token and the address of the API", () =>
  inBareFolder(async ({ run, sandbox, variables: { API_BASE_URL = "" } }) => {
    const ACCESS_TOKEN = (await sandbox.portalToken()).replace("bearer ", "");
    const { code, stdout } = await run(["fetch", "/v1/whoami"], {
      env: { ACCESS_TOKEN, API_BASE_URL },
    });
    assertEquals([code, JSON.parse(stdout).username], [0, "student"]);
  }));
