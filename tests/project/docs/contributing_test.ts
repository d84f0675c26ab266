import { assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { codeBlocks } from "../../support/documented_flags.ts";

const ROOT = new URL("../../../", import.meta.url);

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
