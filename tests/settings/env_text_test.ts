import { assertEquals, assertMatch } from "@std/assert";
import { parseEnvText } from "../../src/settings/env_parser.ts";
import { editEnvText } from "../../src/settings/env_text.ts";
import { OWN_KEYS } from "../support/env_texts.ts";

type Changes = Map<string, string | undefined>;

const TOKENS: Changes = new Map([["ACCESS_TOKEN", "new.a-b_c=="], [
  "REFRESH_TOKEN",
  "new/refresh+1",
]]);
const NONE: Changes = new Map(OWN_KEYS.map((key) => [key, undefined]));

const TOKEN: Changes = new Map([["ACCESS_TOKEN", "new"]]);

const cases: [string, string, Changes, string | RegExp][] = [
  ["adds to an empty text", "", TOKENS, "ACCESS_TOKEN=new.a-b_c==\nREFRESH_TOKEN=new/refresh+1\n"],
  [
    "adds behind a missing final line end",
    "A=1",
    TOKENS,
    "A=1\nACCESS_TOKEN=new.a-b_c==\nREFRESH_TOKEN=new/refresh+1\n",
  ],
  ["keeps a byte order mark", "\ufeffA=1\n", NONE, "\ufeffA=1\n"],
  ["adds to a byte order mark alone", "\ufeff", new Map([["A", "1"]]), "\ufeffA=1\n"],
  [
    "sees a key right behind a byte order mark",
    "\ufeffA=1\nB=2\n",
    new Map([["A", "3"]]),
    "\ufeffA=3\nB=2\n",
  ],
  [
    "keeps CRLF on foreign lines and writes LF on its own",
    "A=1\r\nACCESS_TOKEN=old\r\nB=2\r\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "A=1\r\nACCESS_TOKEN=new\nB=2\r\n",
  ],
  [
    "keeps export",
    "export  ACCESS_TOKEN=old\nA=1\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "export ACCESS_TOKEN=new\nA=1\n",
  ],
  [
    "collapses further lines of a key into its first",
    "ACCESS_TOKEN=1\nA=1\nACCESS_TOKEN=2\nACCESS_TOKEN=3",
    new Map([["ACCESS_TOKEN", "new"]]),
    "ACCESS_TOKEN=new\nA=1\n",
  ],
  [
    "adds a line before an indented comment at the end",
    "A=1\n  # note\n",
    TOKEN,
    "A=1\nACCESS_TOKEN=new\n  # note\n",
  ],
  [
    "adds a line before blank lines with spaces at the end",
    "A=1\n# b\n \t\n\n# c\n",
    TOKEN,
    "A=1\n# b\nACCESS_TOKEN=new\n \t\n\n# c\n",
  ],
  [
    "adds a line before a value of blanks at the end",
    "A=1\nB= \n",
    TOKEN,
    "A=1\nACCESS_TOKEN=new\nB= \n",
  ],
  [
    "drops the comment of a line that it changes",
    "# note\nACCESS_TOKEN='a # b' # from the portal\nA=1 # kept\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "# note\nACCESS_TOKEN=new\nA=1 # kept\n",
  ],
  [
    "refuses to replace a value of several lines",
    'ACCESS_TOKEN="one\ntwo\nthree"\nA=1\n',
    NONE,
    /the value of ACCESS_TOKEN in it spans several lines/,
  ],
  [
    "refuses a text with an open quote",
    'A="x\nACCESS_TOKEN=old\n',
    NONE,
    /a quote in it is not closed/,
  ],
  [
    "leaves a foreign value alone that holds a line like its own",
    'A="x\nACCESS_TOKEN=decoy\ny"\nACCESS_TOKEN=old\n',
    new Map([["ACCESS_TOKEN", "new"]]),
    'A="x\nACCESS_TOKEN=decoy\ny"\nACCESS_TOKEN=new\n',
  ],
  [
    "adds beside a foreign value that holds a line like its own",
    "A='x\nACCESS_TOKEN=decoy\ny'\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "A='x\nACCESS_TOKEN=decoy\ny'\nACCESS_TOKEN=new\n",
  ],
  [
    "leaves comments alone",
    "# ACCESS_TOKEN=decoy\n#ACCESS_TOKEN=decoy\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "# ACCESS_TOKEN=decoy\n#ACCESS_TOKEN=decoy\nACCESS_TOKEN=new\n",
  ],
  [
    "takes no comment behind blanks for an assignment",
    "# note\nACCESS_TOKEN='a b'\n  # REFRESH_TOKEN=decoy\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "# note\nACCESS_TOKEN=new\n  # REFRESH_TOKEN=decoy\n",
  ],
  [
    "removes its line between two comments",
    "# note\nACCESS_TOKEN=old\n  # REFRESH_TOKEN=decoy\n",
    NONE,
    "# note\n  # REFRESH_TOKEN=decoy\n",
  ],
  [
    "leaves longer names alone",
    "MY_ACCESS_TOKEN=1\nACCESS_TOKEN2=2\naccess_token=3\n",
    NONE,
    "MY_ACCESS_TOKEN=1\nACCESS_TOKEN2=2\naccess_token=3\n",
  ],
  [
    "takes spaces round the sign",
    "  ACCESS_TOKEN = old\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "ACCESS_TOKEN=new\n",
  ],
  [
    "takes an empty value",
    "ACCESS_TOKEN=\nA=1\n",
    new Map([["ACCESS_TOKEN", "new"]]),
    "ACCESS_TOKEN=new\nA=1\n",
  ],
  ["removes every line of a key", "ACCESS_TOKEN=1\nA=1\nexport ACCESS_TOKEN=2\n", NONE, "A=1\n"],
  [
    "changes nothing if there are no lines of this module to remove",
    "A=1\r\n\n B = 2",
    NONE,
    "A=1\r\n\n B = 2",
  ],
  [
    "quotes a value that needs it",
    "",
    new Map([["A", 'say "hi" #1 $x']]),
    "A='say \"hi\" #1 $x'\n",
  ],
  [
    "refuses a value with a line break",
    "A=1\n",
    new Map([["B", "1\nC=2"]]),
    /the value of B contains a character/,
  ],
  [
    "refuses a value with a single quote",
    "A=1\n",
    new Map([["B", "it's"]]),
    /the value of B contains a character/,
  ],
];
for (const [what, text, changes, wanted] of cases) {
  Deno.test(`editEnvText() ${what}`, () => {
    const edited = editEnvText(text, changes);
    if (typeof wanted === "string") {
      assertEquals(edited, wanted);
      assertEquals(editEnvText(wanted, changes), wanted, "a second time");
    } else assertMatch(typeof edited === "string" ? edited : edited.problem, wanted);
  });
}

/** Texts on which a pattern that backtracks takes minutes or hours; the tests would not end. */
const long = 400_000;
const OPEN = 'A="\n\n"\n';
const hostile: Record<string, string> = {
  "blanks": `${" \t".repeat(long / 2)}"`,
  "blanks and a key": `${" ".repeat(long)}B${" ".repeat(long)}"\nC=1`,
  "blanks behind the sign": `B=${" ".repeat(long)}"`,
  "blanks in a value": `B=x${" ".repeat(long)}y"`,
  "words in a value": `B=${"x ".repeat(long / 2)}"`,
  "carriage returns": `${"\r".repeat(long)}B="`,
  "empty lines": `${"\n".repeat(long)}B="`,
  "quotes": `B=${"'".repeat(long)}`,
  "quotes in quotes": `ACCESS_TOKEN='${'"'.repeat(long)}'`,
  "open quotes": `B="\n`.repeat(long / 4),
  "open quotes of two kinds": `B="\nC='\n`.repeat(long / 8),
  "the word export": `${"export ".repeat(long / 7)}B="`,
  "signs": `${"=".repeat(long)}"`,
  "comment signs": `B=${"#".repeat(long)}"`,
  "backslashes": `B=${"\\".repeat(long)}`,
  "lines of this module": "ACCESS_TOKEN=x\n".repeat(long / 15),
  "lines of this module, and a value of several lines": OPEN + "ACCESS_TOKEN=x\n".repeat(long / 15),
  "lines of this module with open quotes": OPEN + `ACCESS_TOKEN="\n`.repeat(long / 15),
};
for (const [what, text] of Object.entries(hostile)) {
  Deno.test(`editEnvText() passes ${long} of these in one go, or refuses: ${what}`, () => {
    const edited = editEnvText(text, new Map([["ACCESS_TOKEN", "new"]]));
    if (typeof edited === "string") {
      assertEquals(parseEnvText(edited).get("ACCESS_TOKEN"), "new");
    }
  });
}

Deno.test("editEnvText() writes tokens bare, other text in quotes, and refuses what no reader agrees on", () => {
  const written = (value: string) => editEnvText("", new Map([["A", value]]));
  assertEquals(written("eyJ.a-b_c/+="), "A=eyJ.a-b_c/+=\n");
  assertEquals(written("2030-01-01T00:00:00.000Z"), "A=2030-01-01T00:00:00.000Z\n");
  assertEquals(written("a b"), "A='a b'\n");
  for (const odd of ["a'b", "a\nb", "a\rb", "a\u2028b", "a\\\\b", "a${b}", "a\\"]) {
    assertEquals(typeof written(odd), "object", odd);
  }
});
