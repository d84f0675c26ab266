/** The ways of docs/settings.md to use a refresh token that you already have. */
import { assertEquals } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { jwt } from "../../support/answers.ts";
import { type CliWorld, inCliWorld } from "../../support/cli_world.ts";
import { writeEnv } from "../../support/sandbox_env.ts";
import { linesOf } from "../../support/portless.ts";

/** The refresh token of a login whose `.env` is then replaced by one without tokens and password. */
async function ownRefreshToken({ sandbox, folder, envFile, variables }: CliWorld) {
  await createSession({ ...sandbox.settings, envFile }).login();
  const { REFRESH_TOKEN = "" } = linesOf(envFile);
  const { PASSWORD: _, ...settings } = variables;
  await writeEnv(folder, settings);
  return { settings, REFRESH_TOKEN };
}

/** Calls the API without another login. */
async function assertSignedIn({ sandbox, run }: CliWorld): Promise<void> {
  const { code, stdout, stderr } = await run(["fetch", "/v1/whoami"]);
  assertEquals([code, JSON.parse(stdout).username, stderr], [0, sandbox.settings.username, ""]);
}

Deno.test("a REFRESH_TOKEN in the .env is enough for a session", () =>
  inCliWorld(async (world) => {
    const { settings, REFRESH_TOKEN } = await ownRefreshToken(world);
    await writeEnv(world.folder, { ...settings, REFRESH_TOKEN });
    const { code, stderr } = await world.run(["refresh"]);
    assertEquals([code, stderr], [0, ""]);
    await assertSignedIn(world);
  }));

Deno.test("a REFRESH_TOKEN in the environment is used together with an expired access token of the client", () =>
  inCliWorld(async (world) => {
    const { REFRESH_TOKEN } = await ownRefreshToken(world);
    const { clientId: client_id, username } = world.sandbox.settings;
    const ACCESS_TOKEN = jwt({ token_use: "access", client_id, username, exp: 1_000 });
    const env = { ACCESS_TOKEN, REFRESH_TOKEN, AUTH_ENV_FILE: world.envFile };
    const { code, stderr } = await world.run(["refresh"], { env });
    assertEquals([code, stderr], [0, ""]);
    await assertSignedIn(world);
  }));
