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

Deno.test("sandbox --write-env writes settings with which a login and a call work", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await Deno.writeTextFile(envFile, "# mine\nEDITOR=vi\n");
    const users: string[] = [];
    const call = async () => void users.push(await userOf(envFile));
    const options = ["--port", "0", "--write-env", "."];
    const printed = await withSandbox(folder, options, call);
    const first = await Deno.readTextFile(envFile);
    assertMatch(first, /^# mine\nEDITOR=vi\nAUTH_URL=http:\/\/127\.0\.0\.1:\d+\n/);
    const secret = parseEnv(first).APP_CLIENT_SECRET ?? "";
    assert(secret !== "" && !printed.includes(secret));
    // A second sandbox has other ports, and would refuse the tokens of the first.
    await withSandbox(folder, options, call);
    assertEquals(users, ["student", "student"]);
    assert(await Deno.readTextFile(envFile) !== first);
  }));

Deno.test("sandbox suggests the option --port if its port is in use", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const said = /cannot be opened .*; choose another port with the option port \(--port\)/;
  const error = await assertRejects(() => answerOf("sandbox", `--port=${taken.addr.port}`));
  assert(error instanceof UsageError);
  assertMatch(error.message, said);
});

/** Occupies a port, unless another program already does. */
function taken(port: number): Disposable {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch {
    return { [Symbol.dispose]: () => {} };
  }
}

Deno.test("sandbox takes free ports if a default port is in use, and says so", () =>
  inFolder(async (folder) => {
    using _ = taken(8411);
    const printed = await withSandbox(folder, [], () => {});
    assertMatch(printed, /^Port 8410, 8411 or 8412 is in use, so the sandbox uses free ports\.$/m);
    assertEquals(printed.match(/127\.0\.0\.1:841[0-2]\b/), null);
  }));

Deno.test("sandbox --user adds accounts, whose settings work in a new folder", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/lesson/one/.env`;
    const users: string[] = [];
    const work = async () => {
      for (
        const [username, password] of [["ada", "analytical:engine"], ["ben", "Sandbox-Entry-1"]]
      ) {
        users.push(await userOf(envFile, { username, password }));
      }
    };
    const accounts = ["--user", "ada:analytical:engine", "--user=ben"];
    const options = ["--port=0", "--write-env", "lesson/one", ...accounts];
    const printed = await withSandbox(folder, options, work, "SIGTERM");
    assertEquals(users, ["ada", "ben"]);
    assertMatch(printed, /The settings are in \S+one\S\.env[^]*^Further accounts: ada, ben$/m);
    await assertRejects(
      () => answerOf("sandbox", "--port=0", "--user=student"),
      UsageError,
      'the name "student" is taken',
    );
  }));

const TUNNEL = "AUTH_URL=http://127.0.0.1:8443\n";
const foreign: [what: string, text: string, names: string][] = [
  ["a real endpoint", "AUTH_URL=https://provider.example\n", "AUTH_URL"],
  [
    "an account that is reached through a local tunnel",
    `${TUNNEL}APP_CLIENT_ID=a1\nAPP_CLIENT_SECRET=b2\nREFRESH_TOKEN=c3\n`,
    "AUTH_URL, APP_CLIENT_ID, APP_CLIENT_SECRET, REFRESH_TOKEN",
  ],
];
for (const [what, text, names] of foreign) {
  Deno.test(`sandbox --write-env refuses to change a .env with ${what}`, () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/.env`, text);
      const refused = answerOf("sandbox", "--port=0", "--write-env", folder);
      const { code, problem } = await assertRejects(() => refused, AuthError);
      assertEquals(code, "INVALID_SETTING");
      assert(problem.endsWith(`has settings of another account (${names})`), problem);
      assertEquals(await Deno.readTextFile(`${folder}/.env`), text);
    }));
}
