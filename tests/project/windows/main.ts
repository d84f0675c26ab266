/**
 * Runs the demo and the tests in Deno for Windows, on Linux under Wine: `deno task windows`, or
 * `deno task windows tests/settings …` for these tests only. Needs root, apt and npm, and creates the
 * root folder with Wine once. Tests of prompts type from Linux into a console of Windows.
 */
import { fileURLToPath } from "node:url";
import { IN_A_CONSOLE } from "../../support/terminal.ts";
import { windowsCommand, windowsRoot } from "../../support/windows_command.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const { root, repository, packages } = windowsRoot();

/** Runs a script of bash. */
async function bash(script: string, ...args: string[]): Promise<boolean> {
  const all = ["-euo", "pipefail", "-c", script, "bash", ...args];
  const child = new Deno.Command("bash", { args: all, cwd: REPOSITORY, stdin: "null" }).spawn();
  return (await child.status).success;
}

/** Makes the root folder, and copies the working tree and the fetched packages into it. */
const PREPARE = `
  tests/project/windows/make_root.sh "$1"
  # Interrupted tests leave files in the last of these folders.
  temporary="$1/prefix/drive_c/users/root/AppData/Local/Temp"
  rm -rf "$2" "$temporary" && mkdir -p "$2" "$3" "$temporary"
  git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null |
    tar -cf - -T - | tar -xf - -C "$2"
  cache=$(NO_COLOR=1 "$4" info | sed -n 's/^DENO_DIR location: //p')
  if [ -d "$cache/npm" ]; then cp -ru "$cache/npm" "$3/"; fi`;
if (!await bash(PREPARE, root, repository, packages, Deno.execPath())) {
  throw new Error(`Cannot prepare ${root}`);
}

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
  "tests/sandbox",
  "tests/session/cluster",
  "tests/session/interleavings_test.ts",
];
const named = Deno.args;
const runs: [title: string, command: string[]][] = [
  ["The demo on Windows", windowsCommand(["task", "demo"])],
  [
    "Tests on Windows",
    windowsCommand([
      ...[...TESTS, "--parallel"],
      ...named.length > 0 ? named : [`--ignore=${ELSEWHERE}`, "tests"],
    ]),
  ],
];
if (named.length === 0) {
  // These tests run in Deno for Linux.
  const variables = [`TMPDIR=${root}/tmp`, "TYPE_INTO=windows", "NO_COLOR=1"];
  const command = [Deno.execPath(), ...TESTS, `--filter=${IN_A_CONSOLE.trim()}`];
  const files = ["tests/cli", "tests/platform", "tests/project/windows/console_test.ts"];
  runs.push(["Typing into a console of Windows", ["env", ...variables, ...command, ...files]]);
}

let isGreen = true;
for (const [title, command] of runs) {
  console.log(`\n== ${title}`);
  // Deno's own pipes are sockets, to which programs under Wine cannot write.
  isGreen = await bash('"$@" 2>&1 | cat', ...command) && isGreen;
}
Deno.exit(isGreen ? 0 : 1);
