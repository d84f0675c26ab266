import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { inCliWorld } from "../support/cli_world.ts";
import { documentText } from "../support/documented_flags.ts";

const CODES = [...documentText("docs/troubleshooting.md").matchAll(/^## ([A-Z_]+)$/gm)]
  .map(([, code = ""]) => code);

Deno.test("explain prints the section of a code, in either case, without any permission", () =>
  inCliWorld(async ({ run }) => {
    const { code, stdout, stderr } = await run(["explain", "LOCKED_OUT"], { flags: [] });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(stdout, /^LOCKED_OUT\n\n- Symptom\. [^]*- Cause\. [^]*- Fix\. [^]*\n$/);
    assert(!/SECRET_HASH_REJECTED|\*\*|\]\(/.test(stdout), stdout);
    assertEquals((await run(["explain", "locked_out"], { flags: [] })).stdout, stdout);
    assertEquals((await run(["explain", "Locked-Out"], { flags: [] })).stdout, stdout);
  }));

Deno.test("explain without a code lists them, and explains each", () =>
  inCliWorld(async ({ run }) => {
    assert(CODES.length > 20);
    assertEquals((await run(["explain"], { flags: [] })).stdout, `${CODES.join("\n")}\n`);
    assertEquals(JSON.parse((await run(["explain", "--json"])).stdout), { codes: CODES });
    // The first and the last of a class: the section ends where the next one begins.
    for (const code of ["MISSING_SETTINGS", "PROMPT_UNAVAILABLE", "INTERRUPTED"]) {
      const json = JSON.parse((await run(["explain", code, "--json"])).stdout);
      assertEquals(json.code, code);
      assertStringIncludes(json.text, "- Fix. ");
      assert(!/^#/m.test(json.text), json.text);
    }
  }));
