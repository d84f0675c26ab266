import { assert, assertEquals } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import { parseEnv } from "node:util";
import { parseEnvText, scanEnvText } from "../../src/settings/env_parser.ts";
import { benignEnvText, hostileEnvText } from "../support/env_texts.ts";

/** How many texts are tried, many more with SOAK set. */
const RUNS = rounds(10_000, 200_000);

for (const [name, texts] of [["strange", hostileEnvText()], ["benign", benignEnvText()]] as const) {
  Deno.test(`parseEnvText() reads the plain among ${name} texts as the runtime does`, () => {
    let plain = 0;
    // Text that the runtime misreads: blanks as a value, indented comments.
    const quirk = /=[ \t]+\r?$|^[ \t]+#/m;
    fc.assert(
      fc.property(texts.filter((text) => !quirk.test(text)), (text) => {
        if (!scanEnvText(text).isPlain) return;
        plain++;
        const runtime = parseEnv(`${text.replace(/^\ufeff/, "")}\n`);
        assertEquals(Object.fromEntries(parseEnvText(text)), { ...runtime });
      }),
      { numRuns: RUNS },
    );
    assert(plain > RUNS / 10 && plain < RUNS * 0.9, `${plain} of ${RUNS} are plain`);
  });
}

const cases: [string, string, Record<string, string>][] = [
  ["bare values", "A=1\r\nB = a b \nexport C=x=y\n", { A: "1", B: "a b", C: "x=y" }],
  ["quoted values", `A="it's # 1"\nB='say "hi"' # note\n`, { A: "it's # 1", B: 'say "hi"' }],
  ["empty values", "A=\nB=''\nC=\"\"\nD=", { A: "", B: "", C: "", D: "" }],
  ["blanks as no value, not as the next line", "A= \nB=x\n", { A: "", B: "x" }],
  ["a comment behind the last value, without a line end", "A=x  # note", { A: "x" }],
  ["an indented comment as a comment", "A=1\n  # B=2\nC=3\n", { A: "1", C: "3" }],
  ["values of several lines", 'A="x\nB=decoy\ny"\nC=1\n', { A: "x\nB=decoy\ny", C: "1" }],
  ["escapes in double quotes", 'A="x\\ny"\n', { A: "x\ny" }],
  ["the last of several", "A=1\nexport A=2\nA='3'\n", { A: "3" }],
  ["behind a byte order mark", "\ufeffA=1\n", { A: "1" }],
];
for (const [what, text, wanted] of cases) {
  Deno.test(`parseEnvText() reads ${what}`, () => {
    assertEquals(Object.fromEntries(parseEnvText(text)), wanted);
  });
}

Deno.test("parseEnvText() passes lines of many thousand blanks in one go", () => {
  const blanks = " \t".repeat(100_000);
  for (const line of [blanks, `A=${blanks}`, `A=x${blanks}`, `A${blanks}=x`, `A=x${blanks}# `]) {
    assertEquals(scanEnvText(`${line}"\n`).isPlain, false);
    assert(scanEnvText(`${line}\n`).isPlain);
  }
});
