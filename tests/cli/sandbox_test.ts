/** `platform-auth sandbox` in a separate process. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { parseEnv } from "node:util";
import { AuthError, createSession } from "../../mod.ts";
import { inFolder, neededVariables } from "../support/child_deno.ts";
import { childEnvironment, CLI_PATH } from "../support/cli_world.ts";
import { COMMAND_FLAGS } from "../support/documented_flags.ts";
import { NO_SIGNALS } from "../support/needs.ts";
import { answerOf } from "./own_process.ts";

function command(cwd: string, ...args: string[]): Deno.Command {
  const [name = ""] = args;
  const flags = name === "sandbox" ? COMMAND_FLAGS.get(name) ?? [] : ["-A"];
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-lock", ...flags, CLI_PATH, ...args],
    cwd,
    clearEnv: true,
    env: { ...neededVariables(), ...childEnvironment() },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

interface Outcome {
  readonly code: number;
  readonly printed: string;
  readonly error: string;
}

/** Runs the sandbox; if it starts, does the work and stops it. */
async function withSandbox(
  cwd: string,
  work?: () => Promise<void>,
  further: string[] = [],
  signal: Deno.Signal = "SIGINT",
  port: string[] = ["--port", "0"],
): Promise<Outcome> {
  const args = ["sandbox", ...port, "--write-env", ".", ...further];
  await using sandbox = command(cwd, ...args).spawn();
  const error = new Response(sandbox.stderr).text();
  let printed = "";
  let isDone = false;
  for await (const text of sandbox.stdout.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (isDone || !printed.includes("Ctrl+C")) continue;
    isDone = true;
    await work?.();
    sandbox.kill(signal);
  }
  const { code } = await sandbox.status;
  // Windows has no signal at which a process could clean up: the process is terminated.
  const stopped = NO_SIGNALS !== undefined && printed.includes("Ctrl+C");
  return { code: stopped ? 0 : code, printed, error: await error };
}

Deno.test("sandbox --write-env writes settings with which login and fetch work", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.env`, "# mine\nEDITOR=vi\n");
    const answers: [number, string][] = [];
    const call = async () => {
      assertEquals((await command(folder, "login").output()).code, 0);
      const fetched = await command(folder, "fetch", "/v1/whoami").output();
      answers.push([fetched.code, JSON.parse(new TextDecoder().decode(fetched.stdout)).username]);
    };
    const { code, printed } = await withSandbox(folder, call);
    assertEquals(code, 0);
    const first = await Deno.readTextFile(`${folder}/.env`);
    assertMatch(first, /^# mine\nEDITOR=vi\nAUTH_URL=http:\/\/127\.0\.0\.1:\d+\n/);
    const secret = parseEnv(first).APP_CLIENT_SECRET ?? "";
    assert(secret !== "" && !printed.includes(secret));
    // A second sandbox has other ports, and would refuse the tokens of the first.
    await withSandbox(folder, call);
    assertEquals(answers, [[0, "student"], [0, "student"]]);
    assert(await Deno.readTextFile(`${folder}/.env`) !== first);
  }));

/** Occupies a port, unless another program already does. */
function taken(port: number): Disposable {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch {
    return { [Symbol.dispose]: () => {} };
  }
}

Deno.test("sandbox suggests the option --port if its port is in use", () =>
  inFolder(async (folder) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { code, error } = await withSandbox(folder, undefined, [`--port=${taken.addr.port}`]);
    assertEquals(code, 2);
    assertMatch(error, /cannot be opened .*; choose another port with the option port \(--port\)/);
  }));

Deno.test("sandbox takes free ports if a default port is in use, and says so", () =>
  inFolder(async (folder) => {
    // Another program may have the port already, with the same effect.
    using _ = taken(8411);
    const { code, printed } = await withSandbox(folder, undefined, [], "SIGINT", []);
    assertEquals(code, 0);
    assertMatch(printed, /^Port 8410, 8411 or 8412 is in use, so the sandbox uses free ports\.$/m);
    assertEquals(printed.match(/127\.0\.0\.1:841[0-2]\b/), null);
  }));

Deno.test("sandbox --user adds accounts, whose settings work in a new folder", () =>
  inFolder(async (folder) => {
    const names: string[] = [];
    const students = [["ada", "analytical:engine"], ["ben", "Sandbox-Entry-1"]];
    const { code, printed } = await withSandbox(
      folder,
      async () => {
        for (const [username = "", password = ""] of students) {
          const session = createSession({
            envFile: `${folder}/lesson/one/.env`,
            username,
            password,
          });
          names.push((await session.login({ force: true })).username ?? "");
        }
      },
      ["--user", "ada:analytical:engine", "--user=ben", "--write-env", "lesson/one"],
      "SIGTERM",
    );
    assertEquals([code, names], [0, ["ada", "ben"]]);
    assertMatch(printed, /The settings are in \S+one\S\.env[^]*^Further accounts: ada, ben$/m);
    const { code: refused, stderr } = await command(folder, "sandbox", "--port=0", "--user=student")
      .output();
    assertEquals(refused, 2);
    assertMatch(new TextDecoder().decode(stderr), /the name "student" is taken/);
  }));

const TUNNEL = "AUTH_URL=http://127.0.0.1:8443\n";
const foreign: [string, string, string][] = [
  ["a real endpoint", "AUTH_URL=https://provider.example\n", "AUTH_URL"],
  [
    "an account that is reached through a local tunnel",
    `${TUNNEL}APP_CLIENT_ID=a1\nAPP_CLIENT_SECRET=b2\nREFRESH_TOKEN=c3\n`,
    "AUTH_URL, APP_CLIENT_ID, APP_CLIENT_SECRET, REFRESH_TOKEN",
  ],
];
/** Tries to write the settings of a sandbox into a folder, in this process. */
function refusal(folder: string): Promise<AuthError> {
  return assertRejects(() => answerOf("sandbox", "--port=0", "--write-env", folder), AuthError);
}

for (const [what, text, names] of foreign) {
  Deno.test(`sandbox --write-env refuses to change a .env with ${what}`, () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/.env`, text);
      const { code, problem, fix } = await refusal(folder);
      assertEquals([code, fix], ["INVALID_SETTING", "choose another folder"]);
      assert(problem.endsWith(`has settings of another account (${names})`), problem);
      assertEquals(await Deno.readTextFile(`${folder}/.env`), text);
    }));
}
