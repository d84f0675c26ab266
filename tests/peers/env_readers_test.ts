/** The programs that tests compare with: plain text reads alike in each, and bash runs nothing of it. */
import { assertEquals, assertRejects } from "@std/assert";
import { needing } from "../support/needs.ts";
import { ENV_READERS, lackOfReader, readAllWith } from "./env_readers.ts";
import { inFolder } from "../support/child_deno.ts";

const TEXT = '# note\nexport A=a/b+c==\nB=\'it "is" $A #1\'\nC="it\'s é 🌊"\nACCESS_TOKEN=\nD=1\n';
const VALUES = { A: "a/b+c==", B: 'it "is" $A #1', C: "it's é 🌊", ACCESS_TOKEN: "", D: "1" };

const RUNS_SOMETHING = [
  ...["A=$(touch ran)", "A=`touch ran`", 'A="$(touch ran)"', "touch ran", "A=1 touch ran"],
  ...["A=1;touch ran", "A=1&touch ran", "A=1|touch ran", "A=<(touch ran)", "A=1\ntouch ran"],
  ...["A='\n'touch ran", "A='1' touch ran", 'A="\\" touch ran #"', "A=\\\ntouch ran", "PATH=."],
  ...["export A=1 $(touch ran)", "A[$(touch ran)]=1", "# note\r\n\r\ntouch ran", "BASH_ENV=x"],
];

for (const reader of ENV_READERS) {
  const lack = await lackOfReader(reader);
  const hasNone = lack && Deno.build.os === "windows" ? { ...lack, installable: false } : lack;
  Deno.test({
    ...needing(hasNone, `${reader} reads plain assignments, and runs nothing`),
    fn: () =>
      inFolder(async (folder) => {
        const path = `${folder}/plain.env`;
        await Deno.writeTextFile(path, TEXT);
        assertEquals(await readAllWith(reader, [path, path]), [VALUES, VALUES]);
        if (reader !== "bash") return;
        for (const text of RUNS_SOMETHING) {
          await Deno.writeTextFile(path, text);
          await assertRejects(() => readAllWith("bash", [path]), RangeError);
        }
        assertEquals([...Deno.readDirSync(folder)].length, 1);
      }),
  });
}
