import { assertEquals } from "@std/assert";
import { editEnvText } from "../../src/dotenv/text.ts";
import {
  ENV_READERS,
  type EnvReader,
  lackOfReader,
  lackOnWindows,
  readAllWith,
} from "../peers/env_readers.ts";
import { inFolder } from "../support/child_deno.ts";
import { type Lack, needing, subject } from "../support/needs.ts";

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
  Deno.test(`editEnvText() adds a line to ${JSON.stringify(text)} at the right place`, () => {
    assertEquals(editEnvText(text, TOKEN), edited);
  });
}

const [lacking, lack] = await lackOnWindows();
for (const reader of ENV_READERS) {
  if (!lacking.has(reader)) readerTest(Deno.test, reader, await lackOfReader(reader));
}
subject(lack, "programs that find the line which editEnvText() adds", (test) => {
  for (const reader of lacking) readerTest(test, reader);
});

function readerTest(test: typeof Deno.test, reader: EnvReader, missing?: Lack): void {
  test(needing(missing, `${reader} finds the line wherever editEnvText() adds it`), async () => {
    await inFolder(async (folder) => {
      const paths = cases.map((_, at) => `${folder}/${at}.env`);
      for (const [at, path] of paths.entries()) {
        await Deno.writeTextFile(path, cases[at]?.[1] ?? "");
      }
      const readings = await readAllWith(reader, paths);
      assertEquals(readings.map((it) => it?.ACCESS_TOKEN), cases.map(() => "new"));
    });
  });
}
