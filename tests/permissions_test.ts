import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../src/sandbox/mod.ts";
import { type ChildResult, inFolder, MOD_PATH, namesIn, runScript } from "./support/child_deno.ts";
import { filledIn, SCRIPT_FLAGS } from "./support/documented_flags.ts";
import { NOT_ON_WINDOWS, subject } from "./support/needs.ts";
import { variablesOf, writeEnv } from "./support/sandbox_env.ts";

const SCRIPT = `
  import { authFetch, login, status } from ${JSON.stringify(MOD_PATH)};
  const { state } = await login();
  const answer = await authFetch("/v1/stations");
  console.log(state, answer.status, (await answer.json()).length > 0);
  for (const warning of status().warnings) console.log("warning:", warning);`;

const WORKS = "valid 200 true\n";

/** A folder with a `.env` for a sandbox, and the flags that the documents name. */
interface World {
  readonly folder: string;
  readonly hosts: { readonly provider: string; readonly api: string };
  readonly variables: Record<string, string>;
  readonly flags: Readonly<Record<"read" | "write" | "net" | "env", string>>;
  run(flags: string[], env?: Record<string, string>, script?: string): Promise<ChildResult>;
}

function inWorld(use: (world: World) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    await using sandbox = await startSandbox();
    const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
    const variables = variablesOf(sandbox.settings);
    await writeEnv(folder, variables);
    const [read = "", write = "", net = "", env = ""] = filledIn(SCRIPT_FLAGS[0] ?? [], hosts);
    const flags = { read, write, net, env };
    // Without this limit, a process that does not end would block all tests.
    const signal = AbortSignal.timeout(60_000);
    const run: World["run"] = (flags, env, script = SCRIPT) =>
      runScript(script, { cwd: folder, flags, signal, env: { NO_PROXY: "127.0.0.1", ...env } });
    await use({ folder, hosts, variables, flags, run });
  });
}

/** Asserts that the script ended with an error that names this flag, and no other. */
function assertNames({ code, stdout, stderr }: ChildResult, flag: string): void {
  assert(code !== 0, stdout);
  assertMatch(stderr, /ConfigError: .*explain PERMISSION/);
  assertEquals([...new Set(stderr.match(/--allow-[^ ;]+?(?=:? )/g))], [flag], stderr);
}

Deno.test("the four documented permissions suffice to log in and to call the API", () =>
  inWorld(async ({ flags, folder, run }) => {
    const { code, stdout, stderr } = await run(Object.values(flags));
    assertEquals([code, stdout, stderr], [0, WORKS, ""]);
    assertMatch(await Deno.readTextFile(`${folder}/.env`), /^ACCESS_TOKEN=eyJ/m);
  }));

Deno.test("the two documented permissions suffice with AUTH_ENV_FILE=false", () =>
  inWorld(async ({ folder, hosts, run, variables }) => {
    await Deno.remove(`${folder}/.env`);
    const flags = filledIn(SCRIPT_FLAGS[1] ?? [], hosts);
    const { stderr, stdout } = await run(flags, { ...variables, AUTH_ENV_FILE: "false" });
    assertEquals([stdout, stderr], [WORKS, ""]);
    assertEquals(namesIn(folder), []);
  }));

Deno.test("without one permission, the error names its flag", () =>
  inWorld(async ({ flags, folder, hosts: { provider, api }, run }) => {
    const without = (name: keyof World["flags"], ...more: string[]) =>
      run([...Object.values({ ...flags, [name]: "--no-prompt" }), ...more]);
    assertNames(await without("read"), flags.read);
    assertNames(await without("write"), flags.write);
    // If several are missing, the error names the first one that is needed.
    assertNames(await run([flags.net, flags.env]), flags.read);
    const none = await without("net");
    assertNames(none, `--allow-net=${provider}`);
    assertMatch(none.stderr, /Cannot reach the identity provider/);
    assert(!(await Deno.readTextFile(`${folder}/.env`)).includes("ACCESS_TOKEN"));
    const half = await without("net", `--allow-net=${provider}`);
    assertNames(half, `--allow-net=${api}`);
    assertMatch(half.stderr, /Cannot reach the API/);
  }));

subject(NOT_ON_WINDOWS, "owners and links", (test) => {
  test("if only the .env may be read, the error names the flag for its folder", () =>
    inWorld(async ({ flags, run }) => {
      const { stderr } = await run(Object.values({ ...flags, read: "--allow-read=.env" }));
      const reason = "its owner cannot be checked without --allow-read=.";
      assertStringIncludes(stderr, `.env is ignored, because ${reason}`);
    }));

  test("if the .env is a link, the error names the folder of the linked file", () =>
    inWorld(async ({ flags, folder, run }) => {
      await inFolder(async (behind) => {
        await Deno.rename(`${folder}/.env`, `${behind}/.env`);
        await Deno.symlink(`${behind}/.env`, `${folder}/.env`);
        const write = { ...flags, write: `${flags.write},${behind}` };
        const both = { ...write, read: `${flags.read},${behind}` };
        assertNames(await run(Object.values(flags)), `--allow-write=${behind}`);
        const { stdout } = await run(Object.values(write));
        assertMatch(stdout, new RegExp(`memory only: .*: --allow-read=${behind} is missing`));
        assertEquals(namesIn(behind), [".env"]);
        assertEquals((await run(Object.values(both))).stdout, WORKS);
      });
    }));
});

Deno.test("without --allow-env, the settings come from the .env, with a warning", () =>
  inWorld(async ({ flags, folder, run, variables }) => {
    const { env: _, ...others } = flags;
    const { code, stdout } = await run(Object.values(others));
    assertEquals(code, 0);
    assertMatch(stdout, /^valid 200 true\nwarning: .*--allow-env/);
    await Deno.remove(`${folder}/.env`);
    const missing = await run(Object.values(others), variables);
    assertMatch(missing.stderr, /ConfigError: .*APP_CLIENT_ID.*--allow-env/);
  }));

Deno.test("without any permission, every function works or throws an AuthError", () =>
  inFolder(async (cwd) => {
    const script = `
      import * as module from ${JSON.stringify(MOD_PATH)};
      const calls = {
        login: () => module.login(),
        portal: () => module.login({ portalToken: "bearer some-opaque-token" }),
        refresh: () => module.refresh(),
        authFetch: () => module.authFetch("https://api.example/"),
        accessToken: () => module.accessToken(),
        status: () => module.status(),
        logout: () => module.logout(),
      };
      for (const [name, call] of Object.entries(calls)) {
        const outcome = (async () => await call())().then(() => "ok", (error) =>
          error instanceof module.AuthError ? error.code : error);
        console.log(name, await outcome);
      }`;
    const { stdout, stderr, code } = await runScript(script, { cwd });
    assertEquals([code, stderr], [0, ""]);
    assertEquals(stdout.trim().split("\n"), [
      "login PERMISSION",
      "portal PERMISSION",
      "refresh NO_SESSION",
      "authFetch UNTRUSTED_ORIGIN",
      "accessToken NO_SESSION",
      "status ok",
      "logout PERMISSION",
    ]);
  }));
