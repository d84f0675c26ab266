import { assertEquals } from "@std/assert";
import { delimiter as PATH_SEPARATOR } from "node:path";
import { fileURLToPath } from "node:url";
import { createSession } from "../../../mod.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH } from "../../support/child_deno.ts";
import { type Lack, needing, NO_SHELL, subject } from "../../support/needs.ts";
import { childEnvironment, CLI_PATH } from "../../support/cli_world.ts";
import { DOCUMENTS, documentText, filledIn } from "../../support/documented_flags.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

/** The toolkit for notebooks, wherever the snippet runs. */
const TOOLKIT = import.meta.resolve("../../../src/notebook/mod.ts");
const SANDBOX = import.meta.resolve("../../../src/sandbox/mod.ts");
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

interface Snippet {
  readonly place: string;
  readonly language: string;
  readonly text: string;
}

/** The blocks of a document. Those marked `ignore` show a part only. */
function snippetsOf(path: string): Snippet[] {
  const text = documentText(path);
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map((match) => {
    const line = text.slice(0, match.index).split("\n").length;
    return { place: `${path}:${line}`, language: match[1] ?? "", text: match[2] ?? "" };
  });
}

/** The examples of the documents name hosts that do not exist. */
function inSandbox(text: string, sandbox: Sandbox): string {
  const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
  return (filledIn([text], hosts)[0] ?? "")
    .replaceAll("https://api.example.com", sandbox.apiUrl)
    .replaceAll(/"(\.\.\/|\.\/)mod\.ts"/g, JSON.stringify(MOD_PATH))
    .replaceAll('"../src/notebook/mod.ts"', JSON.stringify(TOOLKIT))
    .replaceAll('"../src/sandbox/mod.ts"', JSON.stringify(SANDBOX));
}

/** Runs a snippet in a folder like that of a reader, with a session, and returns what it printed. */
async function outcomeOf(
  snippet: Snippet,
): Promise<{ code: number; stdout: string; stderr: string }> {
  await using sandbox = await startSandbox();
  sandbox.addUser({ username: "service", password: "a-service-of-its-own" });
  const variables = variablesOf(sandbox.settings);
  return await inFolder(async (folder) => {
    const bin = `${folder}/bin`;
    await Deno.mkdir(bin);
    const deno = Deno.execPath();
    const program = (name: string, line: string) =>
      Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    await program("platform-auth", `exec '${deno}' run --no-lock -qA '${CLI_PATH}' "$@"`);
    await program("deno", `exec '${deno}' "$@"`);
    // There is no network, so only the existence of the task is checked.
    await program(
      "npx",
      `shift 2; '${deno}' $1 --config '${ROOT}deno.json' 2>&1 | grep -w -- "- $2"`,
    );
    // Neither is there a registry, so only the name of the package is checked.
    await program("npm", `grep -qF "\\"name\\": \\"$3\\"" '${ROOT}.ci/npm/package.json'`);
    await writeEnv(folder, variables);
    const service = { ...variables, USERNAME: "service", PASSWORD: "a-service-of-its-own" };
    await writeEnv(bin, service);
    await Deno.rename(`${bin}/.env`, `${folder}/.env.service`);
    await Deno.writeTextFile(`${folder}/.gitignore`, "node_modules\n");
    await Deno.copyFile(`${ROOT}.env.example`, `${folder}/.env.example`);
    const script = 'import { login } from "./mod.ts";\nconsole.log((await login()).state);\n';
    await Deno.writeTextFile(`${folder}/script.ts`, inSandbox(script, sandbox));
    await Deno.symlink(`${ROOT}src`, `${folder}/src`);
    const env = childEnvironment({
      PATH: `${bin}${PATH_SEPARATOR}${Deno.env.get("PATH")}`,
      NO_COLOR: "1",
      DENO_INSTALL_ROOT: `${folder}/installed`,
    });
    const run = (command: string, ...args: string[]) =>
      new Deno.Command(command, { args, cwd: folder, env, clearEnv: true }).output();
    const needsSession = !snippet.text.includes("cp .env.example");
    const envFile = `${folder}/.env`;
    if (needsSession) await createSession({ ...sandbox.settings, envFile }).login();
    const file = `${folder}/snippet.${snippet.language}`;
    await Deno.writeTextFile(file, inSandbox(snippet.text, sandbox));
    const runners: Record<string, string[]> = {
      ts: [deno, "run", "-qA", file],
      sh: ["bash", "-eu", "-o", "pipefail", file],
      py: ["python3", file],
    };
    const [command = "", ...args] = runners[snippet.language] ?? [];
    // With AUTH_ENV_FILE=false, a script has its settings in the environment.
    if (snippet.text.startsWith("deno run --allow-net=")) {
      Object.assign(env, variables, { AUTH_ENV_FILE: "false" });
    }
    const { code, stdout, stderr } = await run(command, ...args);
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  });
}

/** The output that the comments after `console.log` promise. */
function promisedBy(text: string): string[] {
  return [...text.matchAll(/^console\.log\(.*\); \/\/ (.+)$/gm)].map(([, said = ""]) => said);
}

const python = await has("python3");
const bash = NO_SHELL === undefined && await has("bash");

async function has(command: string): Promise<boolean> {
  try {
    return (await new Deno.Command(command, { args: ["--version"] }).output()).success;
  } catch {
    return false;
  }
}

const notFound: Lack = { reason: "its interpreter was not found", installable: false };
const runnable: Record<string, boolean> = { ts: true, sh: bash, py: python && bash };

const all = DOCUMENTS.flatMap(snippetsOf).filter(({ language, place }) =>
  // The TypeScript examples of the README run with the docstrings.
  Object.hasOwn(runnable, language) && !(place.startsWith("README.md:") && language === "ts")
);
const { plain = [], shell = [] } = Object.groupBy(
  all,
  ({ language, text }) => language === "ts" && !text.includes('"python3"') ? "plain" : "shell",
);
for (const snippet of plain) snippetTest(Deno.test, snippet);
subject(NO_SHELL, "the snippets for a shell and for Python", (test) => {
  for (const snippet of shell) snippetTest(test, snippet);
});

function snippetTest(test: typeof Deno.test, { language, place, text }: Snippet): void {
  const needs = [language, text.includes('"python3"') ? "py" : language];
  const lack = needs.every((each) => runnable[each]) ? undefined : notFound;
  test({
    ...needing(lack, `${place} runs`),
    fn: async () => {
      const { code, stdout, stderr } = await outcomeOf({ language, place, text });
      assertEquals(code, 0, `${place}\n${stdout}\n${stderr}`);
      const promised = promisedBy(text);
      if (promised.length > 0) assertEquals(stdout.trim().split("\n"), promised);
    },
  });
}
