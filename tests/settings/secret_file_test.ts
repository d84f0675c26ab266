/** A secret in a file: `PASSWORD_FILE` and the like contain the path of a file with the value. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { bareSession, withOnly, writeLines } from "../support/bare_session.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { makePipe } from "../support/disks.ts";
import { NO_SHELL, testNeeding } from "../support/needs.ts";
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

const unusable: [what: string, make: (path: string) => unknown, words: RegExp][] = [
  ["is missing", () => {}, /os error 2/],
  ["is empty", (path) => Deno.writeTextFile(path, ""), /it is empty/],
  ["contains only a line break", (path) => Deno.writeTextFile(path, "\r\n"), /it is empty/],
  ["is UTF-16", (path) => Deno.writeFile(path, new Uint8Array([255, 254, 97, 0])), /not UTF-8/],
  ["is too large", (path) => Deno.writeTextFile(path, "x".repeat(1_048_577)), /too large/],
  ["is a folder", (path) => Deno.mkdir(path), /it is not a regular file/],
  ["is a pipe", makePipe, /it is not a regular file/],
];
for (const [what, make, words] of unusable) {
  testNeeding(
    make === makePipe ? NO_SHELL : undefined,
    `a login is refused if the file in PASSWORD_FILE ${what}`,
    () =>
      inFolder(async (folder) => {
        await using world = portless();
        const { PASSWORD: _, ...others } = variablesOf(world.sandbox.settings);
        const PASSWORD_FILE = `${folder}/hunter2`;
        await make(PASSWORD_FILE);
        await withOnly({ ...others, PASSWORD_FILE }, async () => {
          const { code, message } = await rejection(bareSession(world).login());
          assertEquals([code, world.sent.length], ["INVALID_SETTING", 0]);
          assertMatch(message, /PASSWORD_FILE/);
          assertMatch(message, words);
          // A password that was set as PASSWORD_FILE by mistake does not appear in the error.
          assert(!message.includes("hunter2"), message);
        });
      }),
  );
}

Deno.test("a login is refused if both PASSWORD and PASSWORD_FILE are set", async () => {
  await using world = portless();
  await inFolder(async (folder) => {
    const PASSWORD_FILE = mount(folder, "password", "from-the-file");
    await withOnly({ ...variablesOf(world.sandbox.settings), PASSWORD_FILE }, async () => {
      const error = await rejection(bareSession(world).login());
      assertEquals(error.code, "INVALID_SETTING");
      assertMatch(error.message, /unset PASSWORD or PASSWORD_FILE/);
      // The option overrides both, so neither is read.
      const { settings } = bareSession(world, { username: "ada", password: "x" }).status();
      assertEquals(settings.PASSWORD, "option");
    });
  });
});

Deno.test("a password in a file is used only with the user name of the environment", async () => {
  await using world = portless();
  const { USERNAME, PASSWORD, ...others } = variablesOf(world.sandbox.settings);
  await inFolder(async (folder) => {
    const PASSWORD_FILE = mount(folder, "password", "Another-Password-1");
    world.sandbox.addUser({ username: "grace", password: "Another-Password-1" });
    const userOf = async (variables: Record<string, string>) =>
      await withOnly(
        { PASSWORD_FILE, ...variables },
        async () => (await bareSession(world).login({ force: true })).username,
      );
    writeLines(world, { ...others, USERNAME: USERNAME ?? "", PASSWORD: PASSWORD ?? "" });
    assertEquals(await userOf({ USERNAME: "grace" }), "grace");
    assertEquals(await userOf({}), USERNAME);
    // Only the environment has a password, so it may belong to either name.
    writeLines(world, { ...others, USERNAME: USERNAME ?? "" });
    const error = await rejection(userOf({ USERNAME: "grace" }));
    assertEquals(error.code, "MISSING_SETTINGS");
  });
});

Deno.test("PASSWORD_FILE in a .env is not read, but reported", async () => {
  await using world = portless();
  const { PASSWORD, ...others } = variablesOf(world.sandbox.settings);
  await inFolder(async (folder) => {
    writeLines(world, { ...others, PASSWORD_FILE: mount(folder, "password", PASSWORD ?? "") });
    await withOnly({}, async () => {
      const session = bareSession(world);
      assertEquals(session.status().settings.PASSWORD, undefined);
      const { notices } = session.status();
      assert(notices.some(({ problem }) => problem.startsWith("PASSWORD_FILE in the .env")));
      assertEquals((await rejection(session.login())).code, "MISSING_SETTINGS");
    });
  });
});

Deno.test("a script needs the permission to read the secret's folder, and sends no secret to a planted host", async () => {
  await using sandbox = await startSandbox();
  const { PASSWORD = "", USERNAME = "", ...own } = variablesOf(sandbox.settings);
  await inFolder((secrets) =>
    inFolder(async (folder) => {
      const env = { USERNAME, PASSWORD_FILE: mount(secrets, "password", `${PASSWORD}\n`) };
      const login = `
        import { doctor, login } from ${JSON.stringify(MOD_PATH)};
        const show = ({ code, state, fix, message }) =>
          console.log(JSON.stringify({ code, state, fix, message }));
        await login().then(show, show);
        show((await doctor()).checks.find(({ name }) => name === "permissions") ?? {});`;
      const run = async (env: Record<string, string>, ...flags: string[]) => {
        const net = "--allow-net=127.0.0.1";
        const options = { cwd: folder, env, flags: ["--allow-env", net, ...flags] };
        const { stdout, stderr } = await runScript(login, options);
        assert(!(stdout + stderr).includes(PASSWORD));
        return stdout.trim().split("\n").map((line) => JSON.parse(line));
      };
      const rights = ["--allow-read=.", "--allow-write=."];
      const [refused] = await run({ ...own, ...env }, ...rights);
      const flag = `--allow-read=${secrets}`;
      assertEquals([refused.code, refused.fix], ["PERMISSION", "add its folder to --allow-read"]);
      // A password that was set as PASSWORD_FILE by mistake does not appear in any output.
      const mistake = { ...own, USERNAME, PASSWORD_FILE: "/hunter2/x" };
      for (const env of [mistake, { ...mistake, USERNAME: "" }]) {
        const shown = JSON.stringify([await run(env, ...rights), await run(env, "--allow-read")]);
        assert(!shown.includes("hunter2"), shown);
      }
      const [{ state }, { message }] = await run(
        { ...own, ...env, AUTH_ENV_FILE: "false" },
        flag,
        "--allow-write=.",
      );
      assertEquals(state, "valid");
      assert(message.includes(flag), message);
      await writeEnv(folder, own);
      const [withheld] = await run(env, `${rights[0]},${secrets}`, "--allow-write=.");
      assertEquals(withheld.code, "MISSING_SETTINGS");
      assertMatch(withheld.message, /PASSWORD_FILE from the environment is not sent/);
    })
  );
});
