/** A secret in a file: `PASSWORD_FILE` and the like contain the path of a file with the value. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { bareSession, withOnly, writeLines } from "../support/bare_session.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";

/** Writes a secret as Kubernetes mounts it: behind a link to a folder. */
function mount(folder: string, name: string, text: string): string {
  const real = `${folder}/..2026`;
  Deno.mkdirSync(real, { recursive: true });
  Deno.writeTextFileSync(`${real}/${name}`, text);
  if (Deno.build.os === "windows") return `${real}/${name}`;
  Deno.symlinkSync(`..2026/${name}`, `${folder}/${name}`);
  return `${folder}/${name}`;
}

const endings: [before: string, after: string][] = [["", ""], ["", "\n"], ["\ufeff", "\r\n"]];
Deno.test("a login uses the secrets in mounted files, without the line break at their end", async () => {
  await using world = portless();
  const { PASSWORD, APP_CLIENT_SECRET, ...others } = variablesOf(world.sandbox.settings);
  for (const [before, after] of endings) {
    await inFolder((folder) => {
      const file = (name: string, text = "") => mount(folder, name, before + text + after);
      return withOnly({
        ...others,
        // Empty variables, which a list of variables for a container may contain.
        PASSWORD: "",
        APP_CLIENT_SECRET: "",
        PASSWORD_FILE: file("password", PASSWORD),
        APP_CLIENT_SECRET_FILE: file("secret", APP_CLIENT_SECRET),
        AUTH_STORE_KEY_FILE: file("key", "k".repeat(43)),
      }, async () => {
        const { state, settings, source } = await bareSession(world).login({ force: true });
        assertEquals([state, source], ["valid", "password"]);
        for (const name of ["PASSWORD", "APP_CLIENT_SECRET", "AUTH_STORE_KEY"]) {
          assertEquals(settings[name], "environment");
        }
      });
    });
  }
});

const UNUSABLE: [what: string, make: (path: string) => unknown, words: RegExp][] = [
  ["is missing", () => {}, /os error 2/],
  ["contains only a line break", (path) => Deno.writeTextFile(path, "\r\n"), /it is empty/],
  ["is UTF-16", (path) => Deno.writeFile(path, new Uint8Array([255, 254, 97, 0])), /not UTF-8/],
  ["is a folder", (path) => Deno.mkdir(path), /it is not a regular file/],
];
Deno.test("a login is refused if PASSWORD_FILE cannot be used, and the error does not quote it", async () => {
  await using world = portless();
  const { PASSWORD: _, ...others } = variablesOf(world.sandbox.settings);
  for (const [what, make, words] of UNUSABLE) {
    await inFolder(async (folder) => {
      const PASSWORD_FILE = `${folder}/hunter2`;
      await make(PASSWORD_FILE);
      await withOnly({ ...others, PASSWORD_FILE }, async () => {
        const { code, message } = await rejection(bareSession(world).login());
        assertEquals(code, "INVALID_SETTING", what);
        assertMatch(message, /PASSWORD_FILE/);
        assertMatch(message, words);
        // A password that was set as PASSWORD_FILE by mistake does not appear in the error.
        assert(!message.includes("hunter2"), message);
      });
    });
  }
  const both = { ...others, PASSWORD: "x", PASSWORD_FILE: "/nowhere/password" };
  await withOnly(both, async () => {
    const { code, message } = await rejection(bareSession(world).login());
    assertEquals(code, "INVALID_SETTING");
    assertMatch(message, /unset PASSWORD or PASSWORD_FILE/);
    // The option overrides both, so neither is read.
    const { settings } = bareSession(world, { username: "ada", password: "x" }).status();
    assertEquals(settings.PASSWORD, "option");
  });
  assertEquals(world.sent.length, 0);
});

Deno.test("a password in a file is used only with the user name of the environment", async () => {
  await using world = portless();
  const { PASSWORD = "", ...others } = variablesOf(world.sandbox.settings);
  world.sandbox.addUser({ username: "grace", password: "Another-Password-1" });
  await inFolder(async (folder) => {
    const PASSWORD_FILE = mount(folder, "password", "Another-Password-1");
    const login = async (variables: Record<string, string>) =>
      await withOnly(
        { PASSWORD_FILE, ...variables },
        () => bareSession(world).login({ force: true }),
      );
    writeLines(world, { ...others, PASSWORD });
    assertEquals((await login({ USERNAME: "grace" })).username, "grace");
    assertEquals((await login({})).username, others.USERNAME);
    // Only the environment has a password, so it may belong to either name.
    writeLines(world, others);
    assertEquals((await rejection(login({ USERNAME: "grace" }))).code, "MISSING_SETTINGS");
  });
});

Deno.test("PASSWORD_FILE in a .env is not read, but reported", async () => {
  await using world = portless();
  const { PASSWORD = "", ...others } = variablesOf(world.sandbox.settings);
  await inFolder(async (folder) => {
    writeLines(world, { ...others, PASSWORD_FILE: mount(folder, "password", PASSWORD) });
    await withOnly({}, async () => {
      const session = bareSession(world);
      const { notices } = session.status();
      assert(notices.some(({ problem }) => problem.startsWith("PASSWORD_FILE in the .env")));
      assertEquals((await rejection(session.login())).code, "MISSING_SETTINGS");
    });
  });
});

Deno.test("a script needs the permission to read the secret's folder, and sends no secret to a planted host", async () => {
  await using sandbox = await startSandbox();
  const { PASSWORD = "", USERNAME = "", ...own } = variablesOf(sandbox.settings);
  const script = `
    import { doctor, login } from ${JSON.stringify(MOD_PATH)};
    const show = ({ code, state, fix, message }) =>
      console.log(JSON.stringify({ code, state, fix, message }));
    await login().then(show, show);
    show((await doctor()).checks.find(({ name }) => name === "permissions") ?? {});`;
  await inFolder((secrets) =>
    inFolder(async (folder) => {
      const run = async (read: string, variables: Record<string, string>) => {
        const flags = ["--allow-env", "--allow-net=127.0.0.1", "--allow-write=.", read];
        const env = { USERNAME, ...variables };
        const { stdout, stderr } = await runScript(script, { cwd: folder, env, flags });
        assert(!/hunter2/.test(stdout + stderr) && !(stdout + stderr).includes(PASSWORD));
        return stdout.trim().split("\n").map((line) => JSON.parse(line));
      };
      const PASSWORD_FILE = mount(secrets, "password", `${PASSWORD}\n`);
      const [refused] = await run("--allow-read=.", { ...own, PASSWORD_FILE });
      assertEquals([refused.code, refused.fix], ["PERMISSION", "add its folder to --allow-read"]);
      // A password that was set as PASSWORD_FILE by mistake does not appear in any output.
      for (const read of ["--allow-read=.", "--allow-read"]) {
        await run(read, { ...own, PASSWORD_FILE: "/hunter2/x" });
      }
      const flag = `--allow-read=${secrets}`;
      const inMemory = { ...own, PASSWORD_FILE, AUTH_ENV_FILE: "false" };
      const [{ state }, { message }] = await run(flag, inMemory);
      assertEquals(state, "valid");
      assert(message.includes(flag), message);
      await writeEnv(folder, own);
      const [withheld] = await run(`--allow-read=.,${secrets}`, { PASSWORD_FILE });
      assertEquals(withheld.code, "MISSING_SETTINGS");
      assertMatch(withheld.message, /PASSWORD_FILE from the environment is not sent/);
    })
  );
});
