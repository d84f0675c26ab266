/** CONTRIBUTING.md: its table of tests, and the test that it shows. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { codeBlocks, documentText } from "../../support/documented_flags.ts";

const ROOT = new URL("../../../", import.meta.url);

Deno.test("CONTRIBUTING.md describes each folder of tests", () => {
  const described = [...documentText("CONTRIBUTING.md").matchAll(/^\| `(\w+)\/`/gm)]
    .map(([, name = ""]) => name);
  const folders = [...Deno.readDirSync(new URL("tests/", ROOT))]
    .filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
  assertEquals(described.sort(), folders.sort());
});

Deno.test("the test in CONTRIBUTING.md passes", () =>
  inFolder(async (folder) => {
    const [sample = ""] = codeBlocks("CONTRIBUTING.md", "How to write a test");
    const path = `${folder}/example_test.ts`;
    await Deno.writeTextFile(path, sample.replaceAll('"./', `"${ROOT.href}`));
    const config = [
      "--lock=tests/deno.lock",
      "--config",
      fileURLToPath(new URL("deno.json", ROOT)),
    ];
    const { stdout, stderr } = await outputOf(Deno.execPath(), {
      args: ["test", "-A", ...config, path],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
    });
    assertStringIncludes(stdout, "ok | 1 passed", stderr);
  }));
