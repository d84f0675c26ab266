import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder, outputOf } from "../../support/child_deno.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

for (const path of ["mod.ts", "src/cli.ts", "src/notebook/mod.ts", "src/redis/mod.ts"]) {
  Deno.test(`the import of ${path} fetches no package`, () =>
    inFolder(async (emptyCache) => {
      const { stderr } = await outputOf(Deno.execPath(), {
        args: ["eval", "--no-lock", "--cached-only", `await import("${ROOT}${path}")`],
        env: { DENO_DIR: emptyCache, NO_COLOR: "1" },
      });
      assertEquals(stderr, "");
    }));
}
