/**
 * The documents keep what they promise: commands and examples run, flags are sufficient, links lead
 * somewhere.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder } from "../support/child_deno.ts";
import { denoConfig, documentText } from "../support/documented_flags.ts";

const ROOT = new URL("../../", import.meta.url);
const PAGE = documentText("CONTRIBUTING.md");
const LOCK = "--lock=tests/deno.lock";

function folders(path: string): string[] {
  return [...Deno.readDirSync(new URL(path, ROOT))].filter(({ isDirectory }) => isDirectory)
    .map(({ name }) => name);
}

async function runDeno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, `deno ${args.join(" ")}\n${out}${err}`);
  return out ?? "";
}

Deno.test("the tasks, paths and folders that CONTRIBUTING.md names exist", () => {
  const { tasks } = denoConfig();
  const named = [...PAGE.matchAll(/deno task ([\w:]+)/g)].map(([, task = ""]) => task);
  assert(named.length > 5);
  assertEquals(named.filter((task) => !(task in tasks)), []);
  const paths = [...PAGE.matchAll(/`((?:src|tests|docs|\.ci)\/[\w./]+|\w+\.(?:md|ts|lock))`/g)];
  assert(paths.length > 4);
  for (const [, path = ""] of paths) assert(Deno.statSync(new URL(path, ROOT)), path);
});

Deno.test("CONTRIBUTING.md describes each folder of tests that src/ does not have", () => {
  const [, table = ""] = /\n((?:\|.*\n)+)/.exec(PAGE) ?? [];
  const described = [...table.matchAll(/`(\w+)\/`/g)].map(([, name = ""]) => name);
  const own = folders("tests/").filter((name) => !folders("src/").includes(name));
  // Files to compare with are not tests.
  assertEquals(described.sort(), [...own.filter((name) => name !== "data"), "demo"].sort());
});

Deno.test("the test commands of CONTRIBUTING.md load their tests", async () => {
  const commands = [...PAGE.matchAll(/^deno test .*$/gm)].map(([line]) =>
    line.replace(/\s+# .*/, "")
  );
  assert(commands.length > 1);
  await Promise.all(commands.map(async (command) => {
    // As in the tasks: otherwise packages have other versions than in the check of a change.
    assertStringIncludes(command, LOCK);
    const [, , ...args] = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, a, b]) => a ?? b ?? "");
    // The tests themselves run with all others.
    await runDeno("test", "--no-check", "--no-run", ...args);
    const paths = args.filter((word) => word.startsWith("tests/"));
    assert(paths.length > 0);
    for (const path of paths) assert(Deno.statSync(new URL(path, ROOT)), path);
  }));
});

Deno.test("the test in CONTRIBUTING.md passes", async () => {
  const [, example = ""] = /^```ts\n([^]*?)^```$/m.exec(PAGE) ?? [];
  await inFolder(async (folder) => {
    const path = `${folder}/example_test.ts`;
    await Deno.writeTextFile(path, example.replaceAll('"./', `"${ROOT.href}`));
    const config = fileURLToPath(new URL("deno.json", ROOT));
    const out = await runDeno("test", "-A", "--no-check", LOCK, "--config", config, path);
    assertStringIncludes(out, "ok | 1 passed");
  });
});
