import { assert, assertEquals, assertMatch } from "@std/assert";
import { CODES } from "../../src/errors/errors.ts";
import { NOTICES } from "../../src/session/notices.ts";
import { inCliWorld } from "../support/cli_world.ts";
import { answerOf } from "./answer_of.ts";

Deno.test("explain prints the section of a code, in either case, without any permission", () =>
  inCliWorld(async ({ run }) => {
    const { code, stdout, stderr } = await run(["explain", "LOCKED_OUT"], { flags: [] });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(
      stdout,
      /^LOCKED_OUT\n\nToo many .*\n\n- Symptom\. [^]*- Cause\. [^]*- Fix\. [^]*\n$/,
    );
    assert(!/SECRET_HASH_REJECTED|\*\*|\]\(/.test(stdout), stdout);
    for (const other of ["locked_out", "Locked-Out"]) {
      assertEquals(`${(await answerOf("explain", other)).text}\n`, stdout);
    }
  }));

Deno.test("explain without a code lists all of them, and explains each", async () => {
  const { text = "", value } = await answerOf("explain");
  const { meanings, notices } = value as {
    meanings: Record<string, string>;
    notices: Record<string, string>;
  };
  const codes = Object.keys(meanings);
  assertEquals(codes.filter((code) => !/^\d/.test(code)), Object.keys(CODES));
  for (const status of ["400", "401", "403", "404", "429", "500", "503"]) {
    assert(codes.includes(status), status);
  }
  assertEquals(Object.keys(notices).sort(), Object.keys(NOTICES).sort());
  for (const code of codes) assertMatch(text, new RegExp(`^  ${code} +[A-Z].{10,}$`, "m"));
  for (const code of [...codes, ...Object.keys(notices)]) {
    const { text = "", value } = await answerOf("explain", code);
    const explained = value as { code: string; text: string };
    assertEquals(explained.code, code);
    assertEquals(text, `${code}\n\n${explained.text}`);
    assertEquals(explained.text.includes("- Fix. "), codes.includes(code), code);
    assert(explained.text.length > 40 && !/^#|\]\(/m.test(explained.text), explained.text);
  }
});
