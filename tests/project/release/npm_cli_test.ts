/**
 * The command line as npm installs it: on a `PATH` with Node and npm, and without Deno. npm takes the
 * packages from its cache, which `deno task test prepare` fills.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repliesWith } from "../../cli/replies.ts";
import { decoded, inFolder, neededVariables, outputOf } from "../../support/child_deno.ts";
import { commandPath, type Lack, lackOf, NO_SIGNALS, testNeeding } from "../../support/needs.ts";
import { type Answer, inTerminal, NO_INTERRUPTS } from "../../support/terminal.ts";
import { saysReady } from "../../support/text_lines.ts";
import { DIST, PACKAGE, packed } from "./consumer.ts";

const noNpm = await lackOf("npm", "--version");

/** Installs the package as npm does with these options. */
async function install(folder: string, ...options: string[]): Promise<void> {
  await Deno.mkdir(`${folder}/bin`);
  for (const name of ["node", "npm", "sh", "env"]) {
    await Deno.symlink(commandPath(name) ?? name, `${folder}/bin/${name}`);
  }
  await Deno.writeFile(`${folder}/cli.tgz`, await packed(`${DIST}npm-cli`));
  const { code, stderr } = await outputOf("npm", {
    args: ["install", "--offline", `--prefix=${folder}`, ...options, `${folder}/cli.tgz`],
    env: { PATH: `${folder}/bin` },
  });
  assertEquals(code, 0, stderr);
}

/** The folder of this file's installation. */
let home = "";
const program = () => `${home}/bin/platform-auth`;

Deno.test.beforeAll(async () => {
  if (noNpm !== undefined) return;
  home = await Deno.realPath(await Deno.makeTempDir());
  await install(home, "--global");
});
Deno.test.afterAll(async () => {
  if (home !== "") await Deno.remove(home, { recursive: true });
});

function environment(): Record<string, string> {
  return { ...neededVariables(), HOME: home, PATH: `${home}/bin`, NO_COLOR: "1" };
}

function start(args: string[], cwd: string): Deno.ChildProcess {
  const piped = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const options = { args, cwd, clearEnv: true, env: environment(), ...piped };
  return new Deno.Command(program(), options).spawn();
}

/** Runs the command with this text as its standard input. */
async function run(args: string[], cwd: string, input = "") {
  const child = start(args, cwd);
  await new Response(input).body?.pipeTo(child.stdin);
  return decoded(await child.output());
}

/** Runs the command in a terminal. */
function type(
  args: string[],
  dialog: [awaited: string, answer: Answer][],
  cwd: string,
) {
  const variables = Object.entries({ ...environment(), TERM: "xterm" }).map((each) =>
    each.join("=")
  );
  return inTerminal(["env", "-i", ...variables, program(), ...args], dialog, { cwd, env: {} });
}

function npmTest(name: string, fn: (folder: string) => Promise<void>, lack?: Lack): void {
  testNeeding(noNpm ?? lack, name, () => inFolder(fn));
}

npmTest(
  "npm installs a command that signs in, calls the API and exits with its status",
  async (folder) => {
    await using sandbox = await startSandbox();
    const { settings } = sandbox;
    // Without "--" before the launcher, Node 20 reads this option itself.
    const file = ["--env-file", "new.env"];
    const reply = repliesWith(settings)["lines of a .env"];
    const init = await run(["init", "--from", "-", ...file], folder, reply);
    assertEquals([init.code, init.stderr.includes("error")], [0, false], init.stderr);
    const login = ["login", "--username", settings.username, "--stdin", ...file];
    assertEquals((await run(login, folder, settings.password)).code, 0);
    const fetched = await run(["fetch", "/v1/whoami", ...file], folder);
    assertEquals([fetched.code, JSON.parse(fetched.stdout).username], [0, settings.username]);
    assertEquals((await run(["token", "--env-file", "none.env"], folder)).code, 3);
    const { stdout } = await run(["--version"], folder);
    assertStringIncludes(stdout, `platform-auth ${PACKAGE.version}, run from ${home}/lib/`);
    const python = await run(["python"], folder);
    assertEquals(python.stdout, Deno.readTextFileSync(`${DIST}npm-cli/platform_auth.py`));
  },
);

npmTest("a notebook of the installed command imports the package from npm", async (folder) => {
  const { stdout } = await run(["notebook", "--json"], folder);
  assertEquals(JSON.parse(stdout).import, `npm:${PACKAGE.name}@^${PACKAGE.version}`);
  const { cells } = JSON.parse(await Deno.readTextFile(`${folder}/notebook.ipynb`));
  assertStringIncludes(cells[1].source, `"npm:${PACKAGE.name}@^${PACKAGE.version}/notebook"`);
});

// The terminal closes only when the launcher and Deno have both ended.
npmTest("Ctrl-C at a prompt ends the launcher and Deno with status 130", async (folder) => {
  const seen = await type(["init"], [["reply", "\u0003"]], folder);
  assertEquals([seen.code, seen.signal, seen.sane, seen.left], [130, 0, true, 0], seen.screen);
}, NO_INTERRUPTS);

/** The exit status after a signal: the sandbox ends regularly, and does not handle SIGHUP. */
const STATUSES = { SIGINT: 0, SIGTERM: 0, SIGHUP: 129 } as const;
npmTest("a signal to the launcher also ends Deno", async (folder) => {
  for (const [signal, status] of Object.entries(STATUSES)) {
    const child = start(["sandbox", "--port", "0"], folder);
    const { drained } = await saysReady(child.stdout, "Ctrl+C", "the sandbox");
    await child.stdin.close();
    child.kill(signal as Deno.Signal);
    // The output ends when both processes have closed it.
    await drained;
    await child.stderr.cancel();
    assertEquals((await child.status).code, status, signal);
  }
}, NO_SIGNALS);

npmTest("the command without its optional packages says how to install them", async (folder) => {
  await install(folder, "--omit=optional");
  const { code, stderr } = await outputOf(`${folder}/node_modules/.bin/platform-auth`, {
    clearEnv: true,
    env: environment(),
  });
  assertEquals(code, 1);
  const advice = /^platform-auth: .*npm install -g --include=optional @platform-auth\/cli.*\n$/;
  assertMatch(stderr, advice);
});
