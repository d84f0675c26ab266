/**
 * The documents keep what they promise: commands and examples run, flags are enough, links lead
 * somewhere.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder } from "../support/child_deno.ts";
import { denoConfig, documentText } from "../support/documented_flags.ts";
import { commandsIn } from "./readme_commands.ts";

const ROOT = new URL("../../", import.meta.url);
const PAGE = documentText("CONTRIBUTING.md");
const LOCK = "--lock=tests/deno.lock";

function folders(path: string): string[] {
  return [...Deno.readDirSync(new URL(path, ROOT))].filter(({ isDirectory }) => isDirectory)
    .map(({ name }) => name);
}

async function runDeno(...args: string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, `deno ${args.join(" ")}\n${out}${err}`);
  assert(/^ok \| [1-9]/m.test(out ?? ""), `nothing was tested:\n${out}`);
}

Deno.test("the tasks, paths and folders that CONTRIBUTING.md names are there", () => {
  const { tasks } = denoConfig();
  const named = [...PAGE.matchAll(/deno task ([\w:]+)/g)].map(([, task = ""]) => task);
  assert(named.length > 5);
  assertEquals(named.filter((task) => !(task in tasks)), []);
  const paths = [...PAGE.matchAll(/`((?:src|tests|docs|\.ci)\/[\w./]+|\w+\.(?:md|ts|lock))`/g)];
  assert(paths.length > 8);
  for (const [, path = ""] of paths) assert(Deno.statSync(new URL(path, ROOT)), path);
});

Deno.test("CONTRIBUTING.md tells of each folder of tests that src/ does not have", () => {
  const [, table = ""] = /\n((?:\|.*\n)+)/.exec(PAGE) ?? [];
  const told = [...table.matchAll(/`(\w+)\/`/g)].map(([, name = ""]) => name);
  const own = folders("tests/").filter((name) => !folders("src/").includes(name));
  // Files that tests compare with are no tests.
  assertEquals(told.sort(), [...own.filter((name) => name !== "data"), "demo"].sort());
});

for (const command of commandsIn(PAGE).filter((line) => line.startsWith("deno test "))) {
  Deno.test(`CONTRIBUTING.md: ${command}`, async () => {
    // As the tasks: else the versions of packages are others than in the check of a change.
    assertStringIncludes(command, LOCK);
    const [, task = "", ...args] = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, a, b]) =>
      a ?? b ?? ""
    );
    await runDeno(task, "--no-check", ...args);
  });
}

Deno.test("the test that CONTRIBUTING.md shows runs", async () => {
  const [, example = ""] = /^```ts\n([^]*?)^```$/m.exec(PAGE) ?? [];
  await inFolder(async (folder) => {
    const path = `${folder}/example_test.ts`;
    await Deno.writeTextFile(path, example.replaceAll('"./', `"${ROOT.href}`));
    const config = fileURLToPath(new URL("deno.json", ROOT));
    await runDeno("test", "-A", LOCK, "--config", config, path);
  });
});
