/** CI, cron and containers: nobody is there to log in, and the settings have all that it needs. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { writeEnv } from "../support/sandbox_env.ts";

/** A world whose settings are variables, with no `.env`. */
function inBareFolder(
  use: (world: CliWorld & { env: Record<string, string> }) => Promise<void>,
): Promise<void> {
  return inCliWorld(async (world) => {
    await Deno.remove(world.envFile);
    await use({ ...world, env: world.variables });
  });
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name);
}

Deno.test("the commands fetch and token can log in from the environment only, and create no file", () =>
  inBareFolder(async ({ run, env, folder, sandbox }) => {
    const fetched = await run(["fetch", "/v1/whoami"], { env });
    assertEquals([fetched.code, fetched.stderr], [0, ""]);
    assertEquals(JSON.parse(fetched.stdout).username, "student");
    const token = await run(["token"], { env: { ...env, AUTH_ENV_FILE: "false" } });
    assertEquals([token.code, token.stdout.split(".").length], [0, 3]);
    assertEquals([filesIn(folder), sandbox.requests.length], [[], 2]);
  }));

Deno.test("fetch and token log in with the .env alone, and keep the session there", () =>
  inCliWorld(async ({ run, envFile, sandbox }) => {
    const fetched = await run(["fetch", "/v1/whoami"]);
    assertEquals([fetched.code, fetched.stderr], [0, ""]);
    assertMatch(await Deno.readTextFile(envFile), /^ACCESS_TOKEN=eyJ/m);
    assertEquals((await run(["token"])).code, 0);
    assertEquals(sandbox.requests.length, 1);

    // A session that is over is no reason to stop, either.
    sandbox.expireAccessTokens();
    sandbox.revokeRefreshTokens();
    const lines = await Deno.readTextFile(envFile);
    const ended = lines.replace(/^(ACCESS_TOKEN(_EXPIRES_AT)?)=.*\n/gm, "");
    await Deno.writeTextFile(envFile, ended);
    const again = await run(["fetch", "/v1/whoami"]);
    assertEquals([again.code, again.stderr], [0, ""]);
  }));

Deno.test("without a password in the settings, fetch does not log in by itself", () =>
  inCliWorld(async ({ run, variables, folder, sandbox }) => {
    const { PASSWORD: _, ...others } = variables;
    await writeEnv(folder, others);
    assertEquals((await run(["fetch", "/v1/whoami"])).code, 3);
    assertEquals(sandbox.requests.length, 0);
  }));

Deno.test("status says what fetch and token do without a session", () =>
  inBareFolder(async ({ run, env, folder, variables }) => {
    const bare = await run(["status"], { env: { ...env, AUTH_ENV_FILE: "false" } });
    assertMatch(
      bare.stdout,
      /next: the commands fetch and token log in automatically\n {2}session: no session is saved\n/,
    );
    const unnamed = await run(["status"], { env });
    assertMatch(
      unnamed.stdout,
      /automatically\n {2}session: no session is saved unless a file is named\n/,
    );
    await writeEnv(folder, variables);
    const own = await run(["status"]);
    assertMatch(
      own.stdout,
      /next: the commands fetch and token log in automatically\n.* keeps it in \.env/,
    );
    assertEquals([bare.code, own.code], [3, 3]);
    const { PASSWORD, USERNAME, ...others } = variables;
    await writeEnv(folder, others);
    assertMatch((await run(["status"])).stdout, /next: run platform-auth login\n/);
    // The file contains hosts that the password in the environment must not reach.
    const planted = await run(["status"], {
      env: { PASSWORD: PASSWORD ?? "", USERNAME: USERNAME ?? "" },
    });
    assertMatch(
      planted.stdout,
      /next: run platform-auth login\n[^]*AUTH_URL.* must not receive PASSWORD/,
    );
  }));

Deno.test("the help shows a call with nothing but a token", () =>
  inBareFolder(async ({ run, sandbox, env: { API_BASE_URL = "" } }) => {
    assertStringIncludes(
      (await run(["fetch", "--help"])).stdout,
      "ACCESS_TOKEN=… API_BASE_URL=https://api.example.com \\\n    platform-auth fetch /v1/stations",
    );
    const token = (await sandbox.portalToken()).replace("bearer ", "");
    const { code, stdout } = await run(["fetch", "/v1/whoami"], {
      env: { ACCESS_TOKEN: token, API_BASE_URL },
    });
    assertEquals([code, JSON.parse(stdout).username], [0, "student"]);
  }));
