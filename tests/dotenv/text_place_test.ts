import { assertEquals } from "@std/assert";
import { editEnvText } from "../../src/dotenv/text.ts";
import { availableReaders, readWith } from "../peers/env_readers.ts";

const TOKEN = new Map([["ACCESS_TOKEN", "new"]]);

const cases: [text: string, edited: string][] = [
  ["A=1\n  # note\n", "A=1\nACCESS_TOKEN=new\n  # note\n"],
  ["A=1\n  # it's \"quoted", "A=1\nACCESS_TOKEN=new\n  # it's \"quoted"],
  ["A=1\n# b\n \t\n\n# c\n", "A=1\n# b\nACCESS_TOKEN=new\n \t\n\n# c\n"],
  ["  # note\n", "ACCESS_TOKEN=new\n  # note\n"],
  ["  # note\nA=1\n \n", "  # note\nA=1\nACCESS_TOKEN=new\n \n"],
  ["A=1\nB= \n", "A=1\nACCESS_TOKEN=new\nB= \n"],
  ["A=1\n# note\n", "A=1\n# note\nACCESS_TOKEN=new\n"],
];
for (const [text, edited] of cases) {
  Deno.test(`editEnvText() adds to ${JSON.stringify(text)} where every reader finds it`, async () => {
    assertEquals(editEnvText(text, TOKEN), edited);
    const path = await Deno.makeTempFile({ suffix: ".env" });
    try {
      await Deno.writeTextFile(path, edited);
      for (const reader of await availableReaders()) {
        assertEquals((await readWith(reader, path))?.ACCESS_TOKEN, "new", reader);
      }
    } finally {
      await Deno.remove(path);
    }
  });
}
