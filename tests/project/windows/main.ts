/**
 * Runs the demo and the tests in Deno for Windows, on Linux under Wine: `deno task windows`, or
 * `deno task windows tests/settings …` for these tests only. Needs root, apt and npm, and creates the
 * root folder with Wine once. Tests of prompts type from Linux into a console of Windows.
 */
import { fileURLToPath } from "node:url";
import { IN_A_CONSOLE } from "../../support/terminal.ts";
import { windowsCommand, windowsRoot } from "../../support/windows_command.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));

/** Copies the working tree and the fetched packages into the root folder. */
async function copyIn(): Promise<void> {
  const script = `set -euo pipefail
    rm -rf "$2" "$5" && mkdir -p "$2" "$3" "$5"
    cd "$1" && git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null |
      tar -cf - -T - | tar -xf - -C "$2"
    [ -d "$4" ] && cp -ru "$4" "$3/" || true`;
  const { root, repository, packages } = windowsRoot();
  // Interrupted tests leave files in this folder.
  const temporary = `${root}/prefix/drive_c/users/root/AppData/Local/Temp`;
  const { denoDir } = JSON.parse(await output(Deno.execPath(), ["info", "--json"]));
  const folders = [REPOSITORY, repository, packages, `${denoDir}/npm`, temporary];
  await output("bash", ["-c", script, "copy", ...folders]);
}

async function output(command: string, args: string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(command, { args, stderr: "inherit" }).output();
  if (!success) throw new Error(`Cannot go on: ${command} ${args.join(" ")} failed`);
  return new TextDecoder().decode(stdout);
}

let failed = false;
async function run(title: string, command: string[]): Promise<void> {
  console.log(`\n== ${title}`);
  // Deno's own pipes are sockets, to which programs under Wine cannot write.
  const piped = ["-o", "pipefail", "-c", '"$0" "$@" 2>&1 | cat', ...command];
  const child = new Deno.Command("bash", { args: piped, stdin: "null" }).spawn();
  const { success } = await child.status;
  failed ||= !success;
}

await output(fileURLToPath(new URL("make_root.sh", import.meta.url)), [windowsRoot().root]);
await copyIn();

const TESTS = ["test", "--lock=tests/deno.lock", "-A", "--quiet", "--no-check", "--seed=1"];
/** Tests that do not depend on the system, or that need Linux. */
const ELSEWHERE = [
  "tests/errors",
  "tests/notebook/browser",
  "tests/notebook/kernel",
  "tests/project/bench_test.ts",
  "tests/project/container",
  "tests/project/layers_test.ts",
  "tests/project/release",
  "tests/project/typing",
  "tests/project/windows/console_test.ts",
  "tests/sandbox",
  "tests/session/cluster",
  "tests/session/interleavings_test.ts",
];
const named = Deno.args;
const tests = named.length > 0 ? named : [`--ignore=${ELSEWHERE}`, "tests"];
for (const args of [["task", "demo"], [...TESTS, "--parallel", ...tests]]) {
  await run(`On Windows: deno ${args.join(" ")}`, windowsCommand(args));
}

if (named.length === 0) {
  // console_test.ts starts Deno for Windows itself; in the other files, it replaces Deno.
  const variables = [`TMPDIR=${windowsRoot().root}/tmp`, "TYPE_INTO=windows"];
  const filter = `--filter=${IN_A_CONSOLE.trim()}`;
  const typing: [string[], string[]][] = [
    [[], ["tests/project/windows/console_test.ts"]],
    [variables, [filter, "tests/cli", "tests/notebook", "tests/platform"]],
  ];
  for (const [variables, args] of typing) {
    const command = ["env", "-C", REPOSITORY, "NO_COLOR=1", ...variables, Deno.execPath()];
    await run(`Typing into a console of Windows: ${args}`, [...command, ...TESTS, ...args]);
  }
}
Deno.exit(failed ? 1 : 0);
