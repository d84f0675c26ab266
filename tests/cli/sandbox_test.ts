/** `platform-auth sandbox`, which runs in a separate process until a signal. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { parseEnv } from "node:util";
import { AuthError, createSession } from "../../mod.ts";
import { UsageError } from "../../src/cli/output.ts";
import { inFolder } from "../support/child_deno.ts";
import { childEnvironment, CLI_PATH } from "../support/cli_world.ts";
import { COMMAND_FLAGS } from "../support/documented_flags.ts";
import { NO_SIGNALS } from "../support/needs.ts";
import { answerOf } from "./own_process.ts";

/** Registers a test in a folder. It has a time limit, because a sandbox ends only after a signal. */
function sandboxTest(name: string, use: (folder: string) => Promise<void>): void {
  Deno.test({ name, timeout: 120_000, fn: () => inFolder(use) });
}

/** Starts the sandbox, does the work, stops the sandbox, and returns what it printed. */
async function withSandbox(
  cwd: string,
  options: string[],
  work: () => void | Promise<void>,
  signal: Deno.Signal = "SIGINT",
): Promise<string> {
  const flags = COMMAND_FLAGS.get("sandbox") ?? [];
  const command = ["run", "--quiet", "--no-prompt", "--no-lock", ...flags, CLI_PATH, "sandbox"];
  await using sandbox = new Deno.Command(Deno.execPath(), {
    args: [...command, ...options],
    cwd,
    clearEnv: true,
    env: childEnvironment(),
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const output = sandbox.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  while (!printed.includes("Ctrl+C")) {
    const { value, done } = await output.read();
    assert(!done, "the sandbox has ended");
    printed += value;
  }
  await work();
  sandbox.kill(signal);
  await output.cancel();
  const { code } = await sandbox.status;
  // On Windows, the process is terminated.
  if (NO_SIGNALS === undefined) assertEquals(code, 0);
  return printed;
}

/** Logs in with the settings in this file, calls the API, and returns the name of the user. */
async function userOf(envFile: string, account = {}): Promise<string> {
  const session = createSession({ envFile, ...account });
  await session.login({ force: true });
  return (await session.fetchJson("/v1/whoami")).username;
}

sandboxTest("sandbox --write-env writes settings with which a call works", async (folder) => {
  const envFile = `${folder}/.env`;
  await Deno.writeTextFile(envFile, "# mine\nEDITOR=vi\n");
  const call = async () => assertEquals(await userOf(envFile), "student");
  const options = ["--port", "0", "--write-env", "."];
  const printed = await withSandbox(folder, options, call);
  const first = await Deno.readTextFile(envFile);
  assertMatch(first, /^# mine\nEDITOR=vi\nAUTH_URL=http:\/\/127\.0\.0\.1:\d+\n/);
  const secret = parseEnv(first).APP_CLIENT_SECRET ?? "";
  assert(secret !== "" && !printed.includes(secret));
  // A second sandbox has other ports, and would refuse the tokens of the first.
  await withSandbox(folder, options, call);
});

/** Occupies a port, unless another program already does. */
function taken(port: number): Disposable {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch {
    return { [Symbol.dispose]: () => {} };
  }
}

sandboxTest("sandbox takes free ports if a default port is in use, and says so", async (folder) => {
  using _ = taken(8411);
  const printed = await withSandbox(folder, [], () => {});
  assertMatch(printed, /^Port 8410, 8411 or 8412 is in use, so the sandbox uses free ports\.$/m);
  for (const [, port] of printed.matchAll(/127\.0\.0\.1:(\d+)/g)) assert(Number(port) > 8412);
  const chosen = answerOf("sandbox", "--port=8411");
  await assertRejects(
    () => chosen,
    UsageError,
    "choose another port with the option port (--port)",
  );
});

sandboxTest("sandbox --user adds accounts, whose settings work in a new folder", async (folder) => {
  const envFile = `${folder}/lesson/one/.env`;
  const ada = { username: "ada", password: "analytical:engine" };
  const work = async () => {
    for (const account of [ada, { username: "ben", password: "Sandbox-Entry-1" }]) {
      assertEquals(await userOf(envFile, account), account.username);
    }
  };
  const accounts = ["--user", "ada:analytical:engine", "--user=ben"];
  const options = ["--port=0", "--write-env", "lesson/one", ...accounts];
  const printed = await withSandbox(folder, options, work, "SIGTERM");
  assertMatch(printed, /The settings are in \S+one\S\.env[^]*^Further accounts: ada, ben$/m);
});

sandboxTest("sandbox --write-env does not change the .env of another account", async (folder) => {
  const path = `${folder}/.env`;
  // The account is reached through a local tunnel.
  const text = "AUTH_URL=http://127.0.0.1:8443\nAPP_CLIENT_ID=a1\nREFRESH_TOKEN=c3\n";
  await Deno.writeTextFile(path, text);
  const refused = answerOf("sandbox", "--port=0", "--write-env", folder);
  const { code, problem } = await assertRejects(() => refused, AuthError);
  assertEquals(code, "INVALID_SETTING");
  assertMatch(problem, /another account \(AUTH_URL, APP_CLIENT_ID, REFRESH_TOKEN\)$/);
  assertEquals(await Deno.readTextFile(path), text);
});
