/** An edit of the `.env` changes only the given keys, and other programs can read the result. */
import { assertEquals, assertMatch } from "@std/assert";
import { parse } from "dotenv";
import { parseEnv } from "node:util";
import { parseEnvText, scanEnvText } from "../../src/settings/env_parser.ts";
import { editEnvText } from "../../src/settings/env_text.ts";
import { inFolder } from "../support/child_deno.ts";
import { needing, notInstalled, pythonWith } from "../support/needs.ts";
import { fc, rounds } from "../support/property.ts";

type Changes = Map<string, string | undefined>;

const TOKEN: Changes = new Map([["ACCESS_TOKEN", "new"]]);
const TOKENS: Changes = new Map([["ACCESS_TOKEN", "a.b-c=="], ["REFRESH_TOKEN", "r/s+1"]]);
const NONE: Changes = new Map([["ACCESS_TOKEN", undefined], ["REFRESH_TOKEN", undefined]]);

const cases: [string, string, Changes, string | RegExp][] = [
  [
    "ends the last line before it adds more lines",
    "A=1",
    TOKENS,
    "A=1\nACCESS_TOKEN=a.b-c==\nREFRESH_TOKEN=r/s+1\n",
  ],
  ["keeps a byte order mark", "\ufeffA=1\nB=2\n", new Map([["A", "3"]]), "\ufeffA=3\nB=2\n"],
  [
    "keeps the CRLF of other lines",
    "A=1\r\nACCESS_TOKEN=old\r\nB=2\r\n",
    TOKEN,
    "A=1\r\nACCESS_TOKEN=new\nB=2\r\n",
  ],
  [
    "keeps `export` before a key",
    "export  ACCESS_TOKEN=old\nA=1\n",
    TOKEN,
    "export ACCESS_TOKEN=new\nA=1\n",
  ],
  [
    "keeps a line without an equals sign",
    "ACCESS_TOKENS\nA=1\n",
    TOKEN,
    "ACCESS_TOKENS\nA=1\nACCESS_TOKEN=new\n",
  ],
  [
    "merges repeated lines of a key into the first one",
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
    "adds a line before blank lines at the end",
    "A=1\n# b\n \t\n\n# c\n",
    TOKEN,
    "A=1\n# b\nACCESS_TOKEN=new\n \t\n\n# c\n",
  ],
  [
    "adds a line before a last line with a blank value",
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
    "ignores a key inside another setting's value",
    'A="x\nACCESS_TOKEN=decoy\ny"\nACCESS_TOKEN=old\n',
    TOKEN,
    'A="x\nACCESS_TOKEN=decoy\ny"\nACCESS_TOKEN=new\n',
  ],
  [
    "keeps commented-out keys",
    "#ACCESS_TOKEN=decoy\nACCESS_TOKEN='a b'\n  # REFRESH_TOKEN=decoy\n",
    TOKEN,
    "#ACCESS_TOKEN=decoy\nACCESS_TOKEN=new\n  # REFRESH_TOKEN=decoy\n",
  ],
  [
    "keeps similar names",
    "MY_ACCESS_TOKEN=1\nACCESS_TOKEN2=2\naccess_token=3\n",
    NONE,
    "MY_ACCESS_TOKEN=1\nACCESS_TOKEN2=2\naccess_token=3\n",
  ],
  ["accepts spaces around the equals sign", "  ACCESS_TOKEN = old\n", TOKEN, "ACCESS_TOKEN=new\n"],
  ["removes every line of a key", "ACCESS_TOKEN=1\nA=1\nexport ACCESS_TOKEN=2\n", NONE, "A=1\n"],
  [
    "changes nothing if there is nothing to remove",
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
    "refuses a text with an unclosed quote",
    'A="x\nACCESS_TOKEN=old\n',
    NONE,
    /a quote in it is not closed/,
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

Deno.test("editEnvText() quotes a value if necessary, and refuses one that programs read differently", () => {
  const written = (value: string) => editEnvText("", new Map([["A", value]]));
  assertEquals(
    written("2030-01-01T00:00:00.000Z/a.b_c+=="),
    "A=2030-01-01T00:00:00.000Z/a.b_c+==\n",
  );
  assertEquals(written('say "hi" #1 $x'), "A='say \"hi\" #1 $x'\n");
  for (const odd of ["a'b", "a\nB=2", "a\rb", "a\u2028b", "a\\\\b", "a${b}", "a\\"]) {
    assertEquals(written(odd), {
      problem: "the value of A contains a character that some programs read differently",
      fix: 'choose a value without quotes, backslashes, line breaks and "${"',
    }, odd);
  }
});

const read: [what: string, text: string, values: Record<string, string>][] = [
  ["bare values", "A=1\r\nB = a b \nexport C=x=y\n", { A: "1", B: "a b", C: "x=y" }],
  ["quoted values", `A="it's # 1"\nB='say "hi"' # note\n`, { A: "it's # 1", B: 'say "hi"' }],
  ["a blank value", "A= \nB=x\n", { A: "", B: "x" }],
  ["a comment after the last value", "A=x  # it's", { A: "x" }],
  ["an indented comment", "A=1\n  # B='2\nC=3\n", { A: "1", C: "3" }],
  ["a value of several lines", 'A="x\nB=decoy\ny"\nC=1\n', { A: "x\nB=decoy\ny", C: "1" }],
  ["a repeated key", "A=1\nexport A=2\nA='3'\n", { A: "3" }],
];
for (const [what, text, values] of read) {
  Deno.test(`parseEnvText() reads ${what}`, () => {
    assertEquals(Object.fromEntries(parseEnvText(text)), values);
  });
}

/** Fragments of a `.env` in random order. */
const anyText = fc.array(
  fc.oneof(
    fc.constantFrom(..."\n\n===\t#\"'`\\ ", "\r\n", "export "),
    fc.constantFrom("ACCESS_TOKEN", "REFRESH_TOKEN=old\n", "A=1\n", "A", "my-key", "é", "$", ": "),
    fc.constantFrom("\nACCESS_TOKEN=x # note\n", "B='a b'\n", 'C="x\nACCESS_TOKEN=decoy"\n'),
  ),
  { maxLength: 14 },
).map((parts) => parts.join(""));
const numRuns = rounds(5_000, 100_000);

Deno.test("editEnvText() sets the new values in any text that it does not refuse", () => {
  fc.assert(
    fc.property(anyText, fc.constantFrom(TOKENS, TOKEN, NONE), (text, wanted) => {
      const edited = editEnvText(text, wanted);
      fc.pre(typeof edited === "string");
      const values = parseEnvText(text);
      for (const [key, value] of wanted) {
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      }
      assertEquals(new Map([...parseEnvText(edited)].sort()), new Map([...values].sort()));
    }),
    { numRuns, maxSkipsPerRun: 1 },
  );
});

Deno.test("parseEnvText() and the runtime's parseEnv() return the same values for any text of plain lines", () => {
  // The runtime's parseEnv() misreads a blank value and an indented comment.
  const quirk = /=[ \t]+\r?$|^[ \t]+#/m;
  const plainText = anyText.filter((text) => scanEnvText(text).isPlain && !quirk.test(text));
  fc.assert(
    fc.property(plainText, (text) => {
      assertEquals(Object.fromEntries(parseEnvText(text)), { ...parseEnv(`${text}\n`) });
    }),
    { numRuns },
  );
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

Deno.test("dotenv and deno --env-file read the values that editEnvText() wrote", async () => {
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
const python = await pythonWith("dotenv");
const noDotenv = python ? undefined : notInstalled("python-dotenv is not installed");

Deno.test(
  needing(noDotenv, "python-dotenv reads the values that editEnvText() wrote"),
  async () => {
    const { B: _, ...values } = JSON.parse(await output(python ?? "", "-c", PYTHON, EDITED) ?? "");
    assertEquals(values, READ);
  },
);
