import { assertEquals } from "@std/assert";
import { inFolder, MOD_URL, neededVariables, runScript } from "../../support/child_deno.ts";
import { CLI_PATH } from "../../support/cli_world.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { rounds } from "../../support/property.ts";
import { startClient } from "../processes/client_process.ts";
import { assertServedTogether, writeExpired } from "../processes/one_refresh.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { commandLine } from "../../support/token_command.ts";

/** `platform-auth token --json`, where there is a session on this `.env`. */
function tokenCommand(envFile: string): string[] {
  const run = ["run", "--quiet", "--no-prompt", "--no-lock", "-A", CLI_PATH];
  return [Deno.execPath(), ...run, "token", "--json", "--env-file", envFile];
}

/** Asserts that workers with only a token command and an API store nothing. */
async function assertNothingStored(
  processes: number,
  callsEach: number,
  commandFor: (envFile: string) => string,
): Promise<void> {
  await using world = await startSandbox({ rotateRefreshTokens: true });
  await inFolder(async (folder) => {
    const envFile = await writeExpired(world, folder);
    const cwd = `${folder}/worker`;
    await Deno.mkdir(cwd);
    const env = {
      ...neededVariables(),
      NO_PROXY: "127.0.0.1",
      API_BASE_URL: world.settings.apiBaseUrl,
      AUTH_TOKEN_COMMAND: commandFor(envFile),
    };
    const clients = Array.from(
      { length: processes },
      () => startClient("call", { cwd, env }, callsEach),
    );
    await assertServedTogether(world, clients, callsEach);
    assertEquals([...Deno.readDirSync(cwd)], [], "nothing is stored on the workers' side");
  });
}

const BESIDE = rounds(4, 40);
Deno.test(`one refresh serves ${BESIDE} processes that take tokens from a command`, async () => {
  await assertNothingStored(BESIDE, 25, (envFile) => commandLine(tokenCommand(envFile)));
});

/** Runs its last words in a shell, as ssh does on the other machine. */
const SSH = '#!/bin/sh\nshift\nexec sh -c "$*"\n';

testNeeding(
  NO_SHELL,
  `one refresh serves ${BESIDE} processes that take tokens over ssh`,
  () =>
    inFolder(async (folder) => {
      const ssh = `${folder}/ssh`;
      await Deno.writeTextFile(ssh, SSH, { mode: 0o700 });
      await assertNothingStored(
        BESIDE,
        25,
        (envFile) => commandLine([ssh, "login-node", commandLine(tokenCommand(envFile))]),
      );
    }),
);

Deno.test(
  "a command that is this command line does not run itself",
  () =>
    inFolder(async (folder) => {
      await using world = await startSandbox();
      const envFile = await writeExpired(world, folder);
      const env = {
        AUTH_TOKEN_COMMAND: commandLine(tokenCommand(envFile)),
        AUTH_TIMEOUT_MS: "20000",
        NO_PROXY: "127.0.0.1",
      };
      const script = `
      import { accessToken, status } from ${JSON.stringify(MOD_URL)};
      console.log((await accessToken()).split(".").length, status().source);`;
      const { stdout, stderr } = await runScript(script, { cwd: folder, env, flags: ["-A"] });
      assertEquals([stdout, stderr], ["3 command\n", ""]);
    }),
);
