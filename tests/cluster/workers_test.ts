import { assertEquals, assertMatch } from "@std/assert";
import { inFolder, MOD_URL, neededVariables, runScript } from "../support/child_deno.ts";
import { CLI_PATH } from "../support/cli_world.ts";
import { subject } from "../support/needs.ts";
import { rounds } from "../support/property.ts";
import { startClient } from "../processes/client_process.ts";
import { assertServedTogether, writeExpired } from "../processes/one_refresh.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { commandLine } from "../support/token_command.ts";
import { NO_SSH, startSshServer } from "./ssh_server.ts";

/** `platform-auth token --json`, where there is a session on this `.env`. */
function tokenCommand(envFile: string): string[] {
  const run = ["run", "--quiet", "--no-prompt", "--no-lock", "-A", CLI_PATH];
  return [Deno.execPath(), ...run, "token", "--json", "--env-file", envFile];
}

/** Asserts that workers with only a token command and an API store nothing. */
async function assertNothingStored(
  processes: number,
  callsEach: number,
  commandFor: (envFile: string, folder: string) => string,
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
      AUTH_TOKEN_COMMAND: commandFor(envFile, folder),
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

subject(NO_SSH, "tokens over ssh", (test) => {
  const OVER_SSH = rounds(4, 40);
  test(
    `one refresh serves ${OVER_SSH} processes that take tokens over ssh`,
    () =>
      inFolder(async (keys) => {
        await using server = await startSshServer(keys);
        const { DENO_DIR, NPM_CONFIG_REGISTRY } = neededVariables();
        const variables = Object.entries({ DENO_DIR, NPM_CONFIG_REGISTRY, NO_PROXY: "127.0.0.1" })
          .flatMap(([name, value]) => value === undefined ? [] : [`${name}='${value}'`]);
        await assertNothingStored(OVER_SSH, 25, (envFile) => {
          // On the other machine, ssh runs its command in a shell.
          const line = `${variables.join(" ")} ${commandLine(tokenCommand(envFile))}`;
          return commandLine(server.command(line));
        });
      }),
  );

  test("the error of a failed ssh contains its last line", () =>
    inFolder(async (folder) => {
      await using server = await startSshServer(folder);
      const script = `
      import { accessToken } from ${JSON.stringify(MOD_URL)};
      await accessToken().catch(({ code, message }) => console.log(code, message));`;
      const run = async (command: string[]) => {
        const env = { AUTH_TOKEN_COMMAND: commandLine(command), AUTH_ENV_FILE: "false" };
        return (await runScript(script, { cwd: folder, env, flags: ["-A"] })).stdout;
      };
      const over = await run(server.command("echo 'no session there' >&2; exit 3"));
      assertMatch(
        over,
        /^TOKEN_COMMAND .*: ssh ended with status 3 and printed: no session there; run/,
      );
      assertMatch(await run(server.command("cat /etc/hostname /etc/hosts")), /printed no token/);
      const stranger = server.command("true").map((word) => word.replace(/.+@/, "no-such-user@"));
      assertMatch(await run(stranger), /^TOKEN_COMMAND .*: ssh ended with status 255/);
    }));
});

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
