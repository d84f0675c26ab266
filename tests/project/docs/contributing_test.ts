/** The commands and the code samples of CONTRIBUTING.md work. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { cpSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { errorAnswer, jwt } from "../../support/answers.ts";
import { SETTINGS } from "../../support/canned_session.ts";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { rejection } from "../../support/portless.ts";
import { documentText } from "../../support/documented_flags.ts";

const ROOT = new URL("../../../", import.meta.url);
const PAGE = documentText("CONTRIBUTING.md");
const LOCK = "--lock=tests/deno.lock";

async function runDeno(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await outputOf(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  });
  assertEquals(code, 0, `deno ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

Deno.test("CONTRIBUTING.md describes each folder of tests", () => {
  const [, table = ""] = /\n((?:\|.*\n)+)/.exec(PAGE) ?? [];
  const described = [...table.matchAll(/^\| `(\w+)\/`/gm)].map(([, name = ""]) => name);
  const folders = [...Deno.readDirSync(new URL("tests/", ROOT))]
    .filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
  assertEquals(described.sort(), folders.sort());
});

Deno.test("the test commands of CONTRIBUTING.md name existing tests", () => {
  const commands = [...PAGE.matchAll(/^deno test .*?(?=\s+#|$)/gm)].map(([line]) => line);
  assert(commands.length > 1);
  for (const command of commands) {
    // Without the tasks' lock file, packages can have other versions than in the check of a change.
    assertStringIncludes(command, LOCK);
    const [path = ""] = /tests\/\S+$/.exec(command) ?? [];
    assert(Deno.statSync(new URL(path, ROOT)), command);
  }
});

/** The code samples, without the indentation of the list that contains them. */
const SAMPLES = [...PAGE.matchAll(/^( *)```ts\n([^]*?)^\1```$/gm)]
  .map(([, indent = "", text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));

function sampleWith(part: string): string {
  const [sample = "", ...others] = SAMPLES.filter((text) => text.includes(part));
  assert(sample !== "" && others.length === 0, part);
  return sample;
}

const TEST = sampleWith("Deno.test(");
const COMMAND = sampleWith('"whoami": command({');
const COMMAND_FILE = sampleWith("export function run()");
const SETTING = sampleWith("userAgent: {");
const REFUSAL = sampleWith("InvalidUserPoolConfigurationException");

Deno.test("this test file covers each code sample of CONTRIBUTING.md", () => {
  assertEquals(SAMPLES.toSorted(), [TEST, COMMAND, COMMAND_FILE, SETTING, REFUSAL].toSorted());
});

Deno.test("the test in CONTRIBUTING.md passes", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/example_test.ts`;
    await Deno.writeTextFile(path, TEST.replaceAll('"./', `"${ROOT.href}`));
    const config = fileURLToPath(new URL("deno.json", ROOT));
    const out = await runDeno("test", "-A", "--no-check", LOCK, "--config", config, path);
    assertStringIncludes(out, "ok | 1 passed");
  });
});

/** Where each sample belongs: before the first match of the pattern. */
const EDITS: [path: string, before: RegExp, sample: string][] = [
  ["src/cli/commands.ts", /^ {2}"login": command/m, COMMAND],
  ["src/settings/options.ts", /^ {2}clientId: \{/m, SETTING],
  ["src/settings/options.ts", /^ {2}clientId\?: /m, "userAgent?: string;\n"],
  ["src/provider/refusals.ts", /^ {2}\/\/ The firewall demands/m, REFUSAL],
];

Deno.test("the code samples in CONTRIBUTING.md compile and work", (test) =>
  inFolder(async (folder) => {
    const root = fileURLToPath(ROOT);
    for (const path of ["mod.ts", "src", "deno.json", "tests/imports.json"]) {
      cpSync(`${root}${path}`, `${folder}/${path}`, { recursive: true });
    }
    await Deno.writeTextFile(`${folder}/src/cli/commands/whoami.ts`, COMMAND_FILE);
    for (const [path, before, sample] of EDITS) {
      const text = await Deno.readTextFile(`${folder}/${path}`);
      assert(before.test(text), path);
      await Deno.writeTextFile(`${folder}/${path}`, text.replace(before, `${sample}$&`));
    }
    const envFile = `${folder}/.env`;
    const token = jwt({ username: "ada", token_use: "access", exp: 4e9 });
    await Deno.writeTextFile(envFile, `ACCESS_TOKEN=${token}\nAUTH_USER_AGENT=example/1.0\n`);
    await runDeno("check", LOCK, "--config", `${folder}/deno.json`, `${folder}/src/cli.ts`);

    await test.step("the command prints the user name and has a help text", async () => {
      const cli = ["run", "-A", "--no-check", LOCK, `${folder}/src/cli.ts`];
      assertEquals(await runDeno(...cli, "--env-file", envFile, "whoami"), "ada\n");
      const help = await runDeno(...cli, "help", "whoami");
      assertStringIncludes(help, "Prints the name of the user who is signed in");
    });
    await test.step("the setting is read from a .env", async () => {
      const source = `${pathToFileURL(folder).href}/src/session/configuration.ts`;
      const { Configuration } = await import(source);
      const { settings } = new Configuration("createSession()", { envFile }, false);
      assertEquals(settings.text("userAgent"), "example/1.0");
    });
    await test.step("the error of a refused request contains the sample's advice", async () => {
      const refused = errorAnswer("InvalidUserPoolConfigurationException", "No such pool.");
      const { createSession } = await import(`${pathToFileURL(folder).href}/mod.ts`);
      const session = createSession({ ...SETTINGS, fetch: () => Promise.resolve(refused) });
      const { code, message } = await rejection(session.login());
      assertEquals(code, "REJECTED");
      assertMatch(message, /user pool is not set up completely.*; ask the support channel/);
    });
  }));
