import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { inCliWorld } from "../support/cli_world.ts";
import { documentText } from "../support/documented_flags.ts";

const CODES = [...documentText("docs/troubleshooting.md").matchAll(/^## ([A-Z_]+)$/gm)]
  .map(([, code = ""]) => code);

Deno.test("explain prints the section of a code, in either case, without any permission", () =>
  inCliWorld(async ({ run }) => {
    const { code, stdout, stderr } = await run(["explain", "LOCKED_OUT"], { flags: [] });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(
      stdout,
      /^LOCKED_OUT\n\nToo many .*\n\n- Symptom\. [^]*- Cause\. [^]*- Fix\. [^]*\n$/,
    );
    assert(!/SECRET_HASH_REJECTED|\*\*|\]\(/.test(stdout), stdout);
    assertEquals((await run(["explain", "locked_out"], { flags: [] })).stdout, stdout);
    assertEquals((await run(["explain", "Locked-Out"], { flags: [] })).stdout, stdout);
  }));

Deno.test("explain answers the statuses that people meet", () =>
  inCliWorld(async ({ run }) => {
    const list = (await run(["explain"], { flags: [] })).stdout;
    const [, statuses = ""] = /HTTP statuses of the API:\n +(.*)/.exec(list) ?? [];
    for (const status of ["400", "401", "403", "404", "429", "500", "503"]) {
      assertStringIncludes(statuses, status);
      const { code, stdout } = await run(["explain", status], { flags: [] });
      assertEquals(code, 0);
      assertMatch(stdout, new RegExp(`^${status}\\n\\n[A-Z][^]*- Fix\\. `));
    }
  }));

Deno.test("explain without a code lists them with a phrase, and explains each", () =>
  inCliWorld(async ({ run }) => {
    assert(CODES.length > 20);
    const { stdout } = await run(["explain"], { flags: [] });
    for (const code of CODES) assertMatch(stdout, new RegExp(`^  ${code} +[A-Z].{10,}$`, "m"));
    const listed = JSON.parse((await run(["explain", "--json"])).stdout);
    assertEquals([listed.codes, Object.keys(listed.meanings)], [CODES, CODES]);
    // The first and the last of a class: the section ends where the next one begins.
    for (const code of ["MISSING_SETTINGS", "PROMPT_UNAVAILABLE", "INTERRUPTED"]) {
      const json = JSON.parse((await run(["explain", code, "--json"])).stdout);
      assertEquals(json.code, code);
      const { stdout } = await run(["explain", code], { flags: [] });
      assertEquals(stdout.split("\n").filter((line) => [...line].length > 80), []);
      assertEquals(stdout.split(/\s+/).slice(1), `${json.text}\n`.split(/\s+/));
      assertStringIncludes(json.text, "- Fix. ");
      assert(!/^#/m.test(json.text), json.text);
    }
  }));
