import { assertEquals } from "@std/assert";
import { editEnvText } from "../../src/settings/env_text.ts";
import { ADDED_LINES } from "../support/env_texts.ts";

const TOKEN = new Map([["ACCESS_TOKEN", "new"]]);

for (const [text, edited] of ADDED_LINES) {
  Deno.test(`editEnvText() adds a line to ${JSON.stringify(text)} at the right place`, () => {
    assertEquals(editEnvText(text, TOKEN), edited);
  });
}
