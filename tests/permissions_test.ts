import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../src/sandbox/mod.ts";
import { type ChildResult, inFolder, MOD_PATH, runScript } from "./support/child_deno.ts";
import { filledIn, SCRIPT_FLAGS } from "./support/documented_flags.ts";
import { NOT_ON_WINDOWS, testNeeding } from "./support/needs.ts";
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

/** Asserts that the script ended with an error that suggests a command line with these flags. */
function assertSuggests({ code, stdout, stderr }: ChildResult, flags: World["flags"]): void {
  assert(code !== 0, stdout);
  assertMatch(stderr, /ConfigError: .*; run: deno run /);
  const line = /deno run (.*) script\.ts/.exec(stderr)?.[1];
  assertEquals(line, Object.values(flags).join(" "));
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
    assertEquals([...Deno.readDirSync(folder)], []);
  }));

Deno.test("without --allow-net, the error suggests all flags, with both hosts", () =>
  inWorld(async ({ flags, hosts: { provider, api }, run }) => {
    const { net: _, ...others } = flags;
    const none = await run(Object.values(others));
    assertSuggests(none, flags);
    assertMatch(none.stderr, new RegExp(`Cannot reach the identity provider at ${provider}: `));
    const script = `
      import { login } from ${JSON.stringify(MOD_PATH)};
      await login().catch(({ code }) => console.log(code));`;
    const { code, stdout } = await run(Object.values(others), {}, script);
    assertEquals(
      [code, stdout],
      [0, "PERMISSION\n"],
      "a script that handles the error ends by itself",
    );
    const half = await run([...Object.values(others), `--allow-net=${provider}`]);
    assertSuggests(half, flags);
    assertMatch(half.stderr, new RegExp(`Cannot reach the API at ${api}: `));
  }));

const behindLink =
  "if the .env is a link, the error suggests flags for the folder of the linked file too";

testNeeding(NOT_ON_WINDOWS, behindLink, () =>
  inWorld(async ({ flags, folder, run }) => {
    await inFolder(async (behind) => {
      await Deno.rename(`${folder}/.env`, `${behind}/.env`);
      await Deno.symlink(`${behind}/.env`, `${folder}/.env`);
      const { read, write } = flags;
      const whole = { ...flags, read: `${read},${behind}`, write: `${write},${behind}` };
      assertSuggests(await run(Object.values({ ...whole, write })), whole);
      assertEquals([...Deno.readDirSync(behind)].map(({ name }) => name), [".env"]);
      assertEquals((await run(Object.values(whole))).stdout, WORKS);
    });
  }));

testNeeding(
  NOT_ON_WINDOWS,
  "the error of a download into a linked folder suggests flags for the real folder",
  () =>
    inWorld(async ({ flags, folder, run }) => {
      await inFolder(async (behind) => {
        await Deno.symlink(behind, `${folder}/out`);
        const script = `
          import { download, login } from ${JSON.stringify(MOD_PATH)};
          await login();
          await download("/v1/stations", "out/stations.json");`;
        const { stderr } = await run(Object.values(flags), {}, script);
        const missing = `--allow-read=${behind} --allow-write=${behind}`;
        assertMatch(
          stderr,
          new RegExp(`stations\\.json: ${missing} is missing; add ${missing} to`),
        );
        const more = missing.split(" ");
        assertEquals((await run([...Object.values(flags), ...more], {}, script)).stderr, "");
      });
    }),
);

Deno.test("without --allow-read, the error suggests the flags that the known settings require", () =>
  inWorld(async ({ flags, run, variables }) => {
    const { read: _, ...others } = flags;
    const unknown = { ...flags, net: "--allow-net" };
    assertSuggests(await run(Object.values(others)), unknown);
    assertEquals((await run(Object.values(unknown))).stdout, WORKS);
    assertSuggests(await run(Object.values(others), variables), flags);
  }));

Deno.test("without --allow-write, the error comes before the login", () =>
  inWorld(async ({ flags, folder, run }) => {
    const { write: _, ...others } = flags;
    assertSuggests(await run(Object.values(others)), flags);
    assert(!(await Deno.readTextFile(`${folder}/.env`)).includes("ACCESS_TOKEN"));
  }));

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
        try {
          await call();
          console.log(name, "ok");
        } catch (error) {
          console.log(name, error instanceof module.AuthError ? error.code : error);
        }
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
