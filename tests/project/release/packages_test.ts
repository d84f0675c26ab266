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

Deno.test("the lock file for users lists only the packages of the sandbox", () => {
  const { npm } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.lock`));
  const names = Object.keys(npm).map((id) => id.replace(/(.)@.*/, "$1"));
  assertEquals(names.sort(), ["@noble/hashes", "hono", "jose", "otpauth", "zod"]);
});
