import { assertEquals } from "@std/assert";
import { inFolder, namesIn, neededVariables } from "../../support/child_deno.ts";
import { CLI_PATH } from "../../support/cli_world.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { rounds } from "../../support/property.ts";
import { startClient } from "../processes/client_process.ts";
import { assertServedTogether, writeExpired } from "../processes/one_refresh.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { commandLine } from "../../support/token_command.ts";

/** The command line of `platform-auth token --json` with this `.env`. */
function tokenCommand(envFile: string): string[] {
  const run = ["run", "--quiet", "--no-prompt", "--no-lock", "-A", CLI_PATH];
  return [Deno.execPath(), ...run, "token", "--json", "--env-file", envFile];
}

const CALLS = 25;
const PROCESSES = rounds(4, 40);

/** Asserts that one refresh serves workers that have only a token command, and that they store nothing. */
async function assertServesWorkers(command: (envFile: string) => string[]): Promise<void> {
  await using world = await startSandbox({ rotateRefreshTokens: true });
  await inFolder(async (folder) => {
    const envFile = await writeExpired(world, folder);
    const cwd = `${folder}/worker`;
    await Deno.mkdir(cwd);
    const env = {
      ...neededVariables(),
      NO_PROXY: "127.0.0.1",
      API_BASE_URL: world.settings.apiBaseUrl,
      AUTH_TOKEN_COMMAND: commandLine(command(envFile)),
    };
    const clients = Array.from(
      { length: PROCESSES },
      () => startClient("call", { cwd, env }, CALLS),
    );
    await assertServedTogether(world, clients, CALLS);
    assertEquals(namesIn(cwd), [], "the workers store nothing");
  });
}

Deno.test(`${PROCESSES} processes that get tokens from a command cause one refresh`, () =>
  assertServesWorkers(tokenCommand));

/** Runs its last arguments in a shell, as ssh does on the other machine. */
const SSH = '#!/bin/sh\nshift\nexec sh -c "$*"\n';

testNeeding(
  NO_SHELL,
  `${PROCESSES} processes that get tokens over ssh cause one refresh`,
  () =>
    inFolder(async (folder) => {
      const ssh = `${folder}/ssh`;
      await Deno.writeTextFile(ssh, SSH, { mode: 0o700 });
      await assertServesWorkers((
        envFile,
      ) => [ssh, "login-node", commandLine(tokenCommand(envFile))]);
    }),
);
