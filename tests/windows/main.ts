/**
 * Deno for Windows, on Linux under Wine: `deno task windows` runs the demo, the tests and the command
 * line there, `--quick` a part of the tests, `deno task windows tests/settings …` these only. Needs root,
 * apt and npm; the root folder with Wine is made once. What is typed at prompts is typed from the
 * Linux side, into a console of Windows.
 */
import { fileURLToPath } from "node:url";
import { IN_A_CONSOLE } from "../support/terminal.ts";
import { windowsCommand, windowsRoot } from "../support/windows_command.ts";
import { startOutside } from "./outside.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** How many skipped tests, or subjects of them, are allowed; README.md lists them. */
const MOST = 29;

/** Puts the files of the working tree, and the packages that were fetched, where Windows finds them. */
async function copyIn(): Promise<void> {
  const script = `set -euo pipefail
    rm -rf "$2" && mkdir -p "$2" "$3"
    cd "$1" && git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null |
      tar -cf - -T - | tar -xf - -C "$2"
    [ -d "$4" ] && cp -ru "$4" "$3/" || true`;
  const { repository, packages } = windowsRoot();
  const { denoDir } = JSON.parse(await output(Deno.execPath(), ["info", "--json"]));
  await output("bash", ["-c", script, "copy", REPOSITORY, repository, packages, `${denoDir}/npm`]);
}

async function output(command: string, args: string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(command, { args, stderr: "inherit" }).output();
  if (!success) throw new Error(`Cannot go on: ${command} ${args.join(" ")} failed`);
  return new TextDecoder().decode(stdout);
}

/** Runs a command, shows what it prints, and keeps it. */
async function run(command: string[], title: string): Promise<{ code: number; text: string }> {
  console.log(`\n== ${title}`);
  // Deno's own pipes are sockets, which programs under Wine cannot write to as to a pipe.
  const piped = ["-o", "pipefail", "-c", '"$0" "$@" 2>&1 | cat', ...command];
  const child = new Deno.Command("bash", { args: piped, stdin: "null", stdout: "piped" }).spawn();
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    Deno.stdout.writeSync(bytes);
    text += decoder.decode(bytes, { stream: true });
  }
  return { code: (await child.status).code, text };
}

const LOCAL = `${windowsRoot().root}/prefix/drive_c/users/root/AppData/Local`;

/** Where Deno leaves copies of itself if it is let, of 97 MB each. */
const COPIES = [`${LOCAL}/deno/node_compat_bin`, `${windowsRoot().packages}/node_compat_bin`];

function filesOf(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

await output(fileURLToPath(new URL("make_root.sh", import.meta.url)), [windowsRoot().root]);
// The files of tests that were ended are removed, too.
for (const folder of [...COPIES, `${LOCAL}/Temp`]) {
  for (const name of filesOf(folder)) await Deno.remove(`${folder}/${name}`, { recursive: true });
}
await copyIn();

const TESTS = ["test", "--lock=tests/deno.lock", "-A", "--quiet", "--no-check", "--seed=1"];
/** Where systems differ: files, processes, consoles and paths. */
const QUICK = [
  "cli",
  "settings",
  "processes",
  "platform",
  "session_test.ts",
  "windows/files_test.ts",
];
/**
 * Tests that compute the same on each system, need Linux, or concern a store behind a connection.
 */
const ELSEWHERE = [
  ...[
    "bench",
    "browser",
    "container",
    "errors",
    "kernel",
    "notebooks",
    "provider",
    "release",
  ],
  ...["sandbox", "soak", "typing", "windows"],
  ...["layers_test.ts", "session/model_test.ts"],
  // A process takes longer to be suspended than its requests may take.
  "cluster/holder_test.ts",
  ...["account", "away", "errors", "refuses", "secrets", "settings", "writer"]
    .map((name) => `cluster/store_${name}_test.ts`),
];
const quick = Deno.args[0] === "--quick";
const named = quick ? [] : Deno.args;
const runs = named.length > 0 ? [[...TESTS, ...named]] : [
  ["task", "demo"],
  ["run", "--lock=deno.lock", "-A", "src/cli.ts", "doctor"],
  ...(quick ? [[...TESTS, ...QUICK.map((name) => `tests/${name}`)]] : [
    [...TESTS, "--parallel", `--ignore=${ELSEWHERE.map((name) => `tests/${name}`)}`, "tests"],
    [...TESTS, "tests/windows/files_test.ts"],
  ]),
];
let text = "";
let failed = false;
const outside = startOutside();
for (const args of runs) {
  const done = await run(
    windowsCommand(args, undefined, { TESTS_OUTSIDE: outside.url }),
    `On Windows: deno ${args.join(" ")}`,
  );
  text += done.text;
  // The doctor reports that nothing is set up, and only this report is checked.
  failed ||= done.code !== 0 && args.at(-1) !== "doctor";
}

await outside[Symbol.asyncDispose]();

if (named.length === 0) {
  // One test sets Deno for Windows itself; for the others, it replaces Deno.
  const typing: [variables: string[], args: string[]][] = [
    [[], [...TESTS, "tests/windows/console_test.ts"]],
  ];
  const elsewhere = [`TMPDIR=${windowsRoot().root}/tmp`, "TYPE_INTO=windows"];
  const filter = `--filter=${IN_A_CONSOLE.trim()}`;
  if (!quick) {
    typing.push([elsewhere, [...TESTS, filter, "tests/cli", "tests/show", "tests/platform"]]);
  }
  for (const [variables, args] of typing) {
    const command = ["env", "-C", REPOSITORY, "NO_COLOR=1", ...variables, Deno.execPath(), ...args];
    const done = await run(command, `Typing into a console of Windows: deno ${args.join(" ")}`);
    text += done.text;
    failed ||= done.code !== 0;
  }
}

// Tests in parallel are printed with their file.
const lines = text.split("\n");
const nameIn = (line: string) => line.replace(/^\S+ => /, "").split(" (ignored: ")[0];
/** Tests that passed with input from outside, which are therefore not reported as skipped. */
const typed = new Set(
  lines.filter((line) => line.includes(`${IN_A_CONSOLE} ... ok`))
    .map((line) => line.split(IN_A_CONSOLE)[0]),
);
const leftOut = lines.filter((line) => /\.\.\. .*ignored/.test(line) && !typed.has(nameIn(line)))
  .map((line) => line.replace(/ \.\.\. .*/, ""));
// A quick run types at nothing: its list would be longer than that of the whole.
if (!quick && leftOut.length > 0) {
  console.log(`\nLeft out on Windows: ${leftOut.length}`);
  for (const line of leftOut) console.log(`- ${line}`);
}
const unexplained = leftOut.filter((line) => !/\(ignored: /.test(line));
if (unexplained.length > 0) console.error(`Without a reason: ${unexplained.join(", ")}`);
const tooMany = !quick && leftOut.length > MOST;
if (tooMany) console.error(`More than ${MOST}: too many`);
const left = COPIES.flatMap(filesOf);
if (left.length > 0) console.log(`Copies of itself that Deno left: ${left.length}`);
Deno.exit(failed || tooMany || unexplained.length > 0 ? 1 : 0);
