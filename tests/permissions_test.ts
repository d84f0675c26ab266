import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../src/sandbox/mod.ts";
import { type ChildResult, inFolder, MOD_PATH, runScript } from "./support/child_deno.ts";
import { NOT_ON_WINDOWS, testNeeding } from "./support/needs.ts";
import { variablesOf, writeEnv } from "./support/sandbox_env.ts";

const SCRIPT = `
  import { authFetch, login, status } from ${JSON.stringify(MOD_PATH)};
  const { state } = await login();
  const answer = await authFetch("/v1/stations");
  console.log(state, answer.status, (await answer.json()).length > 0);
  for (const warning of status().warnings) console.log("warning:", warning);`;

interface World {
  readonly folder: string;
  /** Host and port of the identity provider and of the API. */
  readonly hosts: readonly [string, string];
  readonly variables: Record<string, string>;
  run(flags: string[], env?: Record<string, string>): Promise<ChildResult>;
}

async function inWorld(use: (world: World) => Promise<void>): Promise<void> {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    await use({
      folder,
      hosts: [new URL(sandbox.authUrl).host, new URL(sandbox.apiUrl).host],
      variables: variablesOf(sandbox.settings),
      run: (flags, env = {}) =>
        runScript(SCRIPT, { cwd: folder, flags, env: { NO_PROXY: "127.0.0.1", ...env } }),
    });
  });
}

function all({ hosts }: World): { read: string; write: string; net: string; env: string } {
  const [read, write, env] = ["--allow-read=.", "--allow-write=.", "--allow-env"];
  return { read, write, net: `--allow-net=${hosts.join()}`, env };
}

/** Fails unless the script ended with an error that has a line to paste with these flags. */
function assertTells({ code, stdout, stderr }: ChildResult, flags: Record<string, string>): void {
  assert(code !== 0, stdout);
  assertMatch(stderr, /ConfigError: .*; run: deno run /);
  const line = /deno run (.*) script\.ts/.exec(stderr)?.[1];
  assertEquals(line, Object.values(flags).join(" "));
}

Deno.test("four narrow permissions are enough to log in and to call the API", () =>
  inWorld(async (world) => {
    await writeEnv(world.folder, world.variables);
    const { code, stdout, stderr } = await world.run(Object.values(all(world)));
    assertEquals([code, stdout, stderr], [0, "valid 200 true\n", ""]);
    assertMatch(await Deno.readTextFile(`${world.folder}/.env`), /^ACCESS_TOKEN=eyJ/m);
    // A second process goes on from the file, without a login.
    assertEquals((await world.run(Object.values(all(world)))).stdout, "valid 200 true\n");
  }));

Deno.test("a login asks about four permissions at most and a refresh about one, variables aside", () =>
  inWorld(async (world) => {
    await writeEnv(world.folder, world.variables);
    await Deno.mkdir(`${world.folder}/.git`);
    const script = `
      import { login, refresh } from ${JSON.stringify(MOD_PATH)};
      let count = 0;
      for (const name of ["querySync", "requestSync"]) {
        const real = Deno.permissions[name].bind(Deno.permissions);
        Deno.permissions[name] = (asked) => {
          if (asked.name !== "env") count++;
          return real(asked);
        };
      }
      const countOf = async (call) => {
        count = 0;
        await call();
        return count;
      };
      console.log(await countOf(login) <= 4, await countOf(refresh) <= 1);`;
    const env = { NO_PROXY: "127.0.0.1" };
    const { stdout } = await runScript(script, { cwd: world.folder, flags: ["-A"], env });
    assertEquals(stdout, "true true\n");
  }));

Deno.test("without --allow-net one line to paste has all flags, with both hosts", () =>
  inWorld(async (world) => {
    await writeEnv(world.folder, world.variables);
    const { read, write, env } = all(world);
    const [provider, api] = world.hosts;
    const none = await world.run([read, write, env]);
    assertTells(none, all(world));
    assertMatch(none.stderr, new RegExp(`Cannot reach the identity provider at ${provider}: `));
    const half = await world.run([read, write, env, `--allow-net=${provider}`]);
    assertTells(half, all(world));
    assertMatch(half.stderr, new RegExp(`Cannot reach the API at ${api}: `));
  }));

Deno.test("a script that goes on without --allow-net ends by itself", () =>
  inFolder(async (folder) => {
    await using sandbox = await startSandbox();
    await writeEnv(folder, variablesOf(sandbox.settings));
    const script = `
      import { login } from ${JSON.stringify(MOD_PATH)};
      await login().catch(({ code }) => console.log(code));`;
    const flags = ["--allow-read", "--allow-write", "--allow-env"];
    // Else a process that does not end would hold up all tests.
    const signal = AbortSignal.timeout(60_000);
    const { code, stdout } = await runScript(script, { cwd: folder, flags, signal });
    assertEquals([code, stdout], [0, "PERMISSION\n"]);
  }));

const behindLink =
  "where the .env is a link, the line to paste has the folder behind it, and is enough";

testNeeding(NOT_ON_WINDOWS, behindLink, () =>
  inWorld(async (world) => {
    await inFolder(async (behind) => {
      await writeEnv(behind, world.variables);
      await Deno.symlink(`${behind}/.env`, `${world.folder}/.env`);
      const { read, write, net, env } = all(world);
      const folder = await Deno.realPath(behind);
      const whole = { read: `${read},${folder}`, write: `${write},${folder}`, net, env };
      assertTells(await world.run([whole.read, write, net, env]), whole);
      assertEquals([...Deno.readDirSync(behind)].map(({ name }) => name), [".env"]);
      assertEquals((await world.run(Object.values(whole))).stdout, "valid 200 true\n");
    });
  }));

Deno.test("without --allow-read the line to paste has all flags, as far as the settings are known", () =>
  inWorld(async (world) => {
    await writeEnv(world.folder, world.variables);
    const { read, write, net, env } = all(world);
    const unknown = { read, write, net: "--allow-net", env };
    assertTells(await world.run([write, net, env]), unknown);
    assertEquals((await world.run(Object.values(unknown))).stdout, "valid 200 true\n");
    assertTells(await world.run([write, net, env], world.variables), all(world));
  }));

Deno.test("without --allow-write the line to paste comes before a password is sent", () =>
  inWorld(async (world) => {
    await writeEnv(world.folder, world.variables);
    const { read, net, env } = all(world);
    assertTells(await world.run([read, net, env]), all(world));
    const text = await Deno.readTextFile(`${world.folder}/.env`);
    assert(!text.includes("ACCESS_TOKEN"));
  }));

Deno.test("without --allow-env a .env is enough, and the status says what is missing", () =>
  inWorld(async (world) => {
    await writeEnv(world.folder, world.variables);
    const { read, write, net } = all(world);
    const { code, stdout } = await world.run([read, write, net]);
    assertEquals(code, 0);
    assertMatch(stdout, /^valid 200 true\nwarning: .*--allow-env/);
  }));

Deno.test("without --allow-env settings in the environment are missing, and the error names it", () =>
  inWorld(async (world) => {
    const { read, write, net, env } = all(world);
    const missing = await world.run([read, write, net], world.variables);
    assertMatch(missing.stderr, /ConfigError: .*APP_CLIENT_ID.*--allow-env/);
    const { stdout } = await world.run([read, write, net, env], world.variables);
    assertEquals(stdout, "valid 200 true\n");
  }));

Deno.test("with AUTH_ENV_FILE=false neither read nor write permission is needed", () =>
  inWorld(async (world) => {
    const { net, env } = all(world);
    const variables = { ...world.variables, AUTH_ENV_FILE: "false" };
    const { stderr, stdout } = await world.run([net, env], variables);
    assertEquals([stdout, stderr], ["valid 200 true\n", ""]);
    assertEquals([...Deno.readDirSync(world.folder)], []);
  }));

Deno.test("without any permission every part of the API fails with an error of its own or works", () =>
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
