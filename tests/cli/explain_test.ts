/** `platform-auth explain`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { CODES } from "../../src/errors/errors.ts";
import { NOTICES } from "../../src/session/notices.ts";
import { inCliWorld } from "../support/cli_world.ts";
import { answerOf } from "./own_process.ts";

Deno.test("explain accepts an error code in any spelling and needs no permission", () =>
  inCliWorld(async ({ run }) => {
    const { code, stdout, stderr } = await run(["explain", "LOCKED_OUT"], { flags: [] });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(
      stdout,
      /^LOCKED_OUT\n\nThe provider refuses .*\n\n- Cause\. .*\n- Fix\. .*\n$/,
    );
    assert(!/SECRET_HASH_REJECTED|\*\*|\]\(/.test(stdout), stdout);
    for (const other of ["locked_out", "Locked-Out"]) {
      assertEquals(`${(await answerOf("explain", other)).text}\n`, stdout);
    }
  }));

Deno.test("explain lists all codes, and has a text for each", async () => {
  const { text = "", value } = await answerOf("explain");
  const codes = Object.keys(value as Record<string, string>);
  const wanted = [...Object.keys(CODES), ...Object.keys(NOTICES)];
  assertEquals(codes.filter((code) => !/^\d/.test(code)), wanted);
  for (const status of ["400", "401", "403", "404", "429", "500", "503"]) {
    assert(codes.includes(status), status);
  }
  for (const code of codes) {
    assertMatch(text, new RegExp(`^  ${code} +[A-Z].{10,}$`, "m"));
    const { text: section = "", value } = await answerOf("explain", code);
    const explained = value as { code: string; text: string };
    assertEquals(section, `${code}\n\n${explained.text}`);
    // Nothing is to do after a save has made the .env private.
    assertEquals(explained.text.includes("- Fix. "), code !== "FILE_WAS_OPEN", code);
    assert(explained.text.length > 40 && !/^#|\]\(/m.test(explained.text), explained.text);
  }
});

Deno.test("explain accepts every status that an error can have", async () => {
  const { text = "" } = await answerOf("explain", "API_STATUS");
  for (const status of ["304", "418", "599"]) {
    const explained = (await answerOf("explain", status)).text;
    assertEquals(explained, text.replace("API_STATUS", status));
  }
});
