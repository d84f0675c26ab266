/**
 * Deno for Windows, on Linux under Wine: `deno task windows` runs the demo, the tests and the command
 * line there, `--quick` a part of the tests, `deno task windows tests/dotenv …` these only. Needs root, apt and npm; the root
 * folder with Wine is made once. Console tests run on the Linux side and type into a terminal.
 */
import { fileURLToPath } from "node:url";
import { windowsCommand, windowsRoot } from "./windows_command.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** For how many reasons tests may be left out there. docs/windows.md lists them. */
const MOST_REASONS = 20;

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

/** Runs Deno for Windows, shows what it prints, and keeps it. */
async function run(...args: string[]): Promise<{ code: number; text: string }> {
  console.log(`\n== On Windows: deno ${args.join(" ")}`);
  // Deno's own pipes are sockets, which programs under Wine cannot write to as to a pipe.
  const piped = ["-o", "pipefail", "-c", '"$0" "$@" 2>&1 | cat', ...windowsCommand(args)];
  const child = new Deno.Command("bash", { args: piped, stdin: "null", stdout: "piped" }).spawn();
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    Deno.stdout.writeSync(bytes);
    text += decoder.decode(bytes, { stream: true });
  }
  return { code: (await child.status).code, text };
}

await output(fileURLToPath(new URL("make_root.sh", import.meta.url)), [windowsRoot().root]);
await copyIn();

const TESTS = ["test", "--lock=tests/deno.lock", "-A", "--quiet", "--no-check", "--seed=1"];
/** Where systems differ: files, processes, consoles and paths. */
const QUICK = ["cli", "dotenv", "processes", "runtime", "session_test.ts", "windows/files_test.ts"];
const quick = Deno.args[0] === "--quick";
const named = quick ? [] : Deno.args;
const runs = named.length > 0 ? [[...TESTS, ...named]] : [
  ["task", "demo"],
  ["run", "--lock=deno.lock", "-A", "src/cli.ts", "doctor"],
  ...(quick ? [[...TESTS, ...QUICK.map((name) => `tests/${name}`)]] : [
    ["task", "test:core"],
    [...TESTS, "tests/windows/files_test.ts"],
  ]),
];
let text = "";
let failed = false;
for (const args of runs) {
  const done = await run(...args);
  text += done.text;
  // The doctor finds that nothing is set up: to have told that is all it is asked here.
  failed ||= done.code !== 0 && args.at(-1) !== "doctor";
}

if (named.length === 0) {
  console.log("\n== Typing into a console of Windows");
  const args = [...TESTS, "tests/windows/console_test.ts"];
  const { code } = await new Deno.Command(Deno.execPath(), { args, cwd: REPOSITORY }).spawn()
    .status;
  failed ||= code !== 0;
}

/** The tests that are left out, by the reason in their names. */
const leftOut = Map.groupBy(
  text.split("\n").filter((line) => /\.\.\. .*ignored/.test(line)),
  (line) => /\(([^()]+)\) \.\.\. /.exec(line)?.[1]?.replace("ignored: ", "") ?? "no reason given",
);
if (leftOut.size > 0) console.log("\nLeft out on Windows:");
for (const [reason, lines] of [...leftOut].sort()) console.log(`${lines.length}: ${reason}`);
const tooMany = leftOut.size > MOST_REASONS;
if (tooMany) console.error(`More than ${MOST_REASONS} reasons: too many`);
Deno.exit(failed || tooMany || leftOut.has("no reason given") ? 1 : 0);
