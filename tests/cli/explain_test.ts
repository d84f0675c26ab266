/** `platform-auth explain`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { CODES } from "../../src/errors/errors.ts";
import { NOTICES } from "../../src/session/notices.ts";
import { answerOf } from "./own_process.ts";

async function explained(code: string): Promise<string | undefined> {
  return (await answerOf("explain", code)).text;
}

Deno.test("explain accepts an error code in any spelling, and every status", async () => {
  const text = await explained("LOCKED_OUT") ?? "";
  assertMatch(text, /^LOCKED_OUT\n\nThe provider refuses .*\n\n- Cause\. .*\n- Fix\. .*$/);
  assertEquals(await explained("Locked-Out"), text);
  const ofStatus = await explained("API_STATUS");
  assertEquals(await explained("418"), ofStatus?.replace("API_STATUS", "418"));
});

Deno.test("explain lists all codes, and has a text for each", async () => {
  const { text = "", value } = await answerOf("explain");
  const codes = Object.keys(value as Record<string, string>);
  const wanted = [...Object.keys(CODES), ...Object.keys(NOTICES)];
  assertEquals(codes.filter((code) => !/^\d/.test(code)), wanted);
  assert(codes.includes("401"));
  for (const code of codes) {
    assertMatch(text, new RegExp(`^  ${code} +[A-Z].{10,}$`, "m"));
    const section = await explained(code) ?? "";
    assert(section.startsWith(`${code}\n\n`) && section.length > 60, section);
    // Nothing is to do after a save has made the .env private.
    assertEquals(section.includes("- Fix. "), code !== "FILE_WAS_OPEN", code);
    assert(!/^#|\*\*|\]\(/m.test(section), "no Markdown");
  }
});
