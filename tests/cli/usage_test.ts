/** Wrong usage, help and version. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "../../src/cli/commands.ts";
import { UsageError } from "../../src/cli/output.ts";
import { denoConfig } from "../support/documented_flags.ts";
import { answerOf, commandTest, ENTRY } from "./own_process.ts";

const misuse: [args: string, message: string][] = [
  ["hunter2-hunter2", "There is no such command; see: platform-auth --help"],
  ["lgoin", "There is no command lgoin (did you mean login?); see: platform-auth --help"],
  ["--portl login", "no option --portl (did you mean --portal?); see: platform-auth login -"],
  ["status more", "platform-auth status takes options but no positional arguments"],
  ["login --password=hunter2-hunter2", "There is no option --password"],
  ["login --with-token", "did you mean --portal --stdin?"],
  ["notebook hunter2", "notebook takes a file that ends in .ipynb"],
  ["status --json=hunter2", "--json takes no value"],
  ["fetch /v1/a -o a --if-exists overwrite", "--if-exists takes error, keep or replace"],
  ["token --min-valid soon", "takes a whole number; write, for example, --min-valid 60"],
  ["fetch /a --output --include", "--output takes a value"],
  ["fetch /a -o -i", "-o takes a value"],
  ["fetch", "fetch takes one path or URL, or --list"],
  ["fetch /a --header hunter2-hunter2", '--header takes "name: value"'],
  ["logout --everywhere --keep-remote", "either --everywhere or --keep-remote"],
  ["whoami", "no command whoami; platform-auth status"],
  ["explain no_sesion", "no such code; run platform-auth explain"],
];

for (const [args, message] of misuse) {
  Deno.test(`"platform-auth ${args}" fails with a hint`, async () => {
    const error = await assertRejects(() => answerOf(...args.split(" ")), UsageError);
    assertStringIncludes(error.message, message);
    // An argument in the wrong place may be a secret.
    assert(!error.message.includes("hunter2"));
  });
}

commandTest(
  "wrong usage ends with exit status 2, and its message is JSON with --json",
  async ({ run }) => {
    const problem = "There is no command nothing";
    const fix = "see: platform-auth --help";
    const stderr = `platform-auth: ${problem}; ${fix}\n`;
    assertEquals(await run(["nothing"]), { code: 2, stdout: "", stderr });
    const json = await run(["--json", "nothing"]);
    assertEquals([json.code, json.stdout], [2, ""]);
    assertEquals(JSON.parse(json.stderr).error, { name: "UsageError", problem, fix });
  },
);

commandTest("options that every command has may precede the command", async ({ run, folder }) => {
  const envFile = join(folder, "other.env");
  const { code, stdout } = await run([`--env-file=${envFile}`, "--json", "status"]);
  assertEquals([code, JSON.parse(stdout).envFile], [3, envFile]);
  for (const first of ["--help", "help"]) {
    assertEquals(await answerOf(first, "login"), await answerOf("login", "--help"));
  }
});

Deno.test("every command has help with its options and examples", async () => {
  const { text: main = "" } = await answerOf("--help");
  assertEquals((await answerOf()).text, main);
  for (const [name, { options, examples }] of Object.entries(COMMANDS)) {
    assertMatch(main, new RegExp(`^ {2}${name} `, "m"));
    const { text = "" } = await answerOf(name, "--help");
    assert(!text.includes("\n\n\n"), text);
    assertMatch(text, new RegExp(`^Usage: platform-auth ${name} [^]*^Examples?:\n`, "m"));
    for (const example of examples) assertStringIncludes(example, `platform-auth ${name}`);
    for (const option of Object.keys(options)) assertMatch(text, new RegExp(`--${option}\\b`));
  }
});

commandTest("--help, --version and explain need no permission", async ({ runSeparately }) => {
  for (const args of [["--help"], ["fetch", "--help"], ["--version"], ["explain", "LOCKED_OUT"]]) {
    const { code, stderr } = await runSeparately(args, { flags: [] });
    assertEquals([code, stderr], [0, ""]);
  }
});

Deno.test("--version shows the version and the path of the program", async () => {
  const { version } = denoConfig();
  const from = fileURLToPath(ENTRY);
  const expected = { value: { version, from }, text: `platform-auth ${version}, run from ${from}` };
  for (const args of [["--version"], ["login", "--version"]]) {
    assertEquals(await answerOf(...args), expected);
  }
});
