/** The editor of the `.env` changes only its own lines, and all programs read what it writes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parse } from "dotenv";
import { parseEnv } from "node:util";
import { parseEnvText, scanEnvText } from "../../src/settings/env_parser.ts";
import { editEnvText } from "../../src/settings/env_text.ts";
import { inFolder } from "../support/child_deno.ts";
import { needing, NO_SHELL, notInstalled } from "../support/needs.ts";
import { fc, rounds } from "../support/property.ts";

type Changes = Map<string, string | undefined>;

const TOKEN: Changes = new Map([["ACCESS_TOKEN", "new"]]);
const TOKENS: Changes = new Map([["ACCESS_TOKEN", "a.b-c=="], ["REFRESH_TOKEN", "r/s+1"]]);
const NONE: Changes = new Map([["ACCESS_TOKEN", undefined], ["REFRESH_TOKEN", undefined]]);

const cases: [string, string, Changes, string | RegExp][] = [
  [
    "adds lines behind a missing final line end",
    "A=1",
    TOKENS,
    "A=1\nACCESS_TOKEN=a.b-c==\nREFRESH_TOKEN=r/s+1\n",
  ],
  ["keeps a byte order mark", "\ufeffA=1\nB=2\n", new Map([["A", "3"]]), "\ufeffA=3\nB=2\n"],
  ["adds to a byte order mark alone", "\ufeff", TOKEN, "\ufeffACCESS_TOKEN=new\n"],
  [
    "keeps CRLF on foreign lines and writes LF on its own",
    "A=1\r\nACCESS_TOKEN=old\r\nB=2\r\n",
    TOKEN,
    "A=1\r\nACCESS_TOKEN=new\nB=2\r\n",
  ],
  ["keeps export", "export  ACCESS_TOKEN=old\nA=1\n", TOKEN, "export ACCESS_TOKEN=new\nA=1\n"],
  [
    "collapses further lines of a key into its first",
    "ACCESS_TOKEN=1\nA=1\nACCESS_TOKEN=2\nACCESS_TOKEN=3",
    TOKEN,
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
    TOKEN,
    "# note\nACCESS_TOKEN=new\nA=1 # kept\n",
  ],
  [
    "leaves a foreign value alone that holds a line like its own",
    'A="x\nACCESS_TOKEN=decoy\ny"\nACCESS_TOKEN=old\n',
    TOKEN,
    'A="x\nACCESS_TOKEN=decoy\ny"\nACCESS_TOKEN=new\n',
  ],
  [
    "leaves comments alone",
    "#ACCESS_TOKEN=decoy\nACCESS_TOKEN='a b'\n  # REFRESH_TOKEN=decoy\n",
    TOKEN,
    "#ACCESS_TOKEN=decoy\nACCESS_TOKEN=new\n  # REFRESH_TOKEN=decoy\n",
  ],
  [
    "leaves longer names alone",
    "MY_ACCESS_TOKEN=1\nACCESS_TOKEN2=2\naccess_token=3\n",
    NONE,
    "MY_ACCESS_TOKEN=1\nACCESS_TOKEN2=2\naccess_token=3\n",
  ],
  ["takes spaces round the sign", "  ACCESS_TOKEN = old\n", TOKEN, "ACCESS_TOKEN=new\n"],
  ["removes every line of a key", "ACCESS_TOKEN=1\nA=1\nexport ACCESS_TOKEN=2\n", NONE, "A=1\n"],
  [
    "changes nothing where there is nothing of its own to take away",
    "A=1\r\n\n B = 2",
    NONE,
    "A=1\r\n\n B = 2",
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
];
for (const [what, text, changes, wanted] of cases) {
  Deno.test(`the editor of the .env ${what}`, () => {
    const edited = editEnvText(text, changes);
    if (typeof wanted === "string") {
      assertEquals(edited, wanted);
      assertEquals(editEnvText(wanted, changes), wanted, "a second time");
    } else assertMatch(typeof edited === "string" ? edited : edited.problem, wanted);
  });
}

Deno.test("a .env holds tokens bare, other text in quotes, and nothing that programs read differently", () => {
  const written = (value: string) => editEnvText("", new Map([["A", value]]));
  assertEquals(
    written("2030-01-01T00:00:00.000Z/a.b_c+=="),
    "A=2030-01-01T00:00:00.000Z/a.b_c+==\n",
  );
  assertEquals(written('say "hi" #1 $x'), "A='say \"hi\" #1 $x'\n");
  for (const odd of ["a'b", "a\nB=2", "a\rb", "a\u2028b", "a\\\\b", "a${b}", "a\\"]) {
    assertMatch(JSON.stringify(written(odd)), /the value of A contains a character/, odd);
  }
});

const read: [string, string, Record<string, string>][] = [
  ["bare values", "A=1\r\nB = a b \nexport C=x=y\n", { A: "1", B: "a b", C: "x=y" }],
  ["quoted values", `A="it's # 1"\nB='say "hi"' # note\n`, { A: "it's # 1", B: 'say "hi"' }],
  ["blanks as no value, not as the next line", "A= \nB=x\n", { A: "", B: "x" }],
  ["a comment behind the last value, without a line end", "A=x  # it's", { A: "x" }],
  ["an indented comment as a comment", "A=1\n  # B='2\nC=3\n", { A: "1", C: "3" }],
  ["values of several lines", 'A="x\nB=decoy\ny"\nC=1\n', { A: "x\nB=decoy\ny", C: "1" }],
  ["the last of several", "A=1\nexport A=2\nA='3'\n", { A: "3" }],
];
for (const [what, text, wanted] of read) {
  Deno.test(`a .env is read with ${what}`, () => {
    assertEquals(Object.fromEntries(parseEnvText(text)), wanted);
  });
}

/** Texts as strange as people have them. */
const anyText = fc.array(
  fc.oneof(
    fc.constantFrom(
      "\n",
      "\n",
      "\r\n",
      "=",
      "=",
      "=",
      " ",
      "\t",
      "#",
      '"',
      "'",
      "`",
      "\\",
      "export ",
    ),
    fc.constantFrom("ACCESS_TOKEN", "REFRESH_TOKEN=old\n", "A=1\n", "A", "my-key", "é", "$", ": "),
    fc.constantFrom("\nACCESS_TOKEN=x # note\n", "B='a b'\n", 'C="x\nACCESS_TOKEN=decoy"\n'),
  ),
  { maxLength: 14 },
).map((parts) => parts.join(""));
const RUNS = rounds(5_000, 100_000);

Deno.test("any .env reads back as wanted after an edit, or is refused", () => {
  let refused = 0;
  fc.assert(
    fc.property(anyText, fc.constantFrom(TOKENS, TOKEN, NONE), (text, wanted) => {
      const edited = editEnvText(text, wanted);
      if (typeof edited !== "string") {
        refused++;
        return;
      }
      const values = parseEnvText(text);
      for (const [key, value] of wanted) {
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      }
      assertEquals(new Map([...parseEnvText(edited)].sort()), new Map([...values].sort()));
    }),
    { numRuns: RUNS },
  );
  assert(refused < RUNS * 0.5, `${refused} of ${RUNS} texts were refused`);
});

Deno.test("a .env of plain lines is read as the runtime reads it", () => {
  let plain = 0;
  // The runtime misreads blanks as a value, and indented comments.
  const quirk = /=[ \t]+\r?$|^[ \t]+#/m;
  fc.assert(
    fc.property(anyText.filter((text) => !quirk.test(text)), (text) => {
      if (!scanEnvText(text).isPlain) return;
      plain++;
      assertEquals(Object.fromEntries(parseEnvText(text)), { ...parseEnv(`${text}\n`) });
    }),
    { numRuns: RUNS },
  );
  assert(plain > RUNS / 10, `${plain} of ${RUNS} are plain`);
});

/** Texts on which a pattern that backtracks takes minutes or hours; the test would not end. */
const long = 400_000;
const hostile = [
  `${" \t".repeat(long / 2)}"`,
  `${" ".repeat(long)}B${" ".repeat(long)}"\nC=1`,
  `B=x${" ".repeat(long)}y"`,
  `B=${"x ".repeat(long / 2)}"`,
  `${"\r".repeat(long)}B="`,
  `${"\n".repeat(long)}B="`,
  `ACCESS_TOKEN='${'"'.repeat(long)}'`,
  `B="\nC='\n`.repeat(long / 8),
  `${"export ".repeat(long / 7)}B="`,
  `B=${"#".repeat(long)}"`,
  `A="\n\n"\n${"ACCESS_TOKEN=x\n".repeat(long / 15)}`,
  `A="\n\n"\n${`ACCESS_TOKEN="\n`.repeat(long / 15)}`,
];
Deno.test(`a .env with ${long} odd characters is edited in one go, or refused`, () => {
  for (const text of hostile) {
    const edited = editEnvText(text, TOKEN);
    if (typeof edited !== "string") continue;
    assertEquals(parseEnvText(edited).get("ACCESS_TOKEN"), "new", text.slice(0, 20));
  }
});

const EDITED = editEnvText(
  `# it's a note\nexport A="a b"\nACCESS_TOKEN=old # note\nB='x\nACCESS_TOKEN=decoy'\n\n`,
  new Map([...TOKENS, ["NAME", "é #1 $A"]]),
) as string;
const READ = { ACCESS_TOKEN: "a.b-c==", REFRESH_TOKEN: "r/s+1", NAME: "é #1 $A", A: "a b" };

async function output(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command(program, { args, stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch {
    return undefined;
  }
}

Deno.test("dotenv and deno --env-file find in a .env what was written", async () => {
  const { B: _, ...values } = parse(EDITED);
  assertEquals(values, READ);
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.env`, EDITED);
    const print = "data:application/javascript,console.log(JSON.stringify(Deno.env.toObject()))";
    const flags = ["run", "--quiet", "--no-config", "-A", `--env-file=${folder}/.env`];
    const found = JSON.parse(await output(Deno.execPath(), ...flags, print) ?? "");
    for (const [name, value] of Object.entries(READ)) assertEquals(found[name], value);
  });
});

const PYTHON = "import dotenv, io, json, sys\n" +
  "print(json.dumps(dotenv.dotenv_values(stream=io.StringIO(sys.argv[1]))))";
const hasDotenv = await output("python3", "-c", PYTHON, "") !== undefined;
const noDotenv = hasDotenv ? undefined : NO_SHELL ?? notInstalled("python-dotenv is not installed");

Deno.test(needing(noDotenv, "python-dotenv finds in a .env what was written"), async () => {
  const { B: _, ...values } = JSON.parse(await output("python3", "-c", PYTHON, EDITED) ?? "");
  assertEquals(values, READ);
});
