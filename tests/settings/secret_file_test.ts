/** A secret in a file: `PASSWORD_FILE` and the like contain the path of a file with the value. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bareSession, writeLines } from "../support/bare_session.ts";
import { withOnly } from "../support/environment.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

/** Writes a secret as Kubernetes mounts it: behind a link to a folder. */
function mount(folder: string, name: string, text: string): string {
  const real = `${folder}/..2026`;
  Deno.mkdirSync(real, { recursive: true });
  Deno.writeTextFileSync(`${real}/${name}`, text);
  if (Deno.build.os === "windows") return `${real}/${name}`;
  Deno.symlinkSync(`..2026/${name}`, `${folder}/${name}`);
  return `${folder}/${name}`;
}

Deno.test("a login uses the secrets in mounted files, without the line break at their end", async () => {
  await using world = portless();
  const { PASSWORD, APP_CLIENT_SECRET, ...others } = variablesOf(world.sandbox.settings);
  for (const end of ["\n", "\r\n"]) {
    await inFolder((folder) =>
      withOnly({
        ...others,
        // Empty variables, which a list of variables for a container may contain.
        PASSWORD: "",
        APP_CLIENT_SECRET: "",
        PASSWORD_FILE: mount(folder, "password", PASSWORD + end),
        APP_CLIENT_SECRET_FILE: mount(folder, "secret", APP_CLIENT_SECRET + end),
      }, async () => {
        assertEquals((await bareSession(world).login({ force: true })).source, "password");
      })
    );
  }
});

const UNUSABLE: [what: string, make: (path: string) => unknown, words: RegExp][] = [
  ["is missing", () => {}, /os error 2/],
  ["contains only a line break", (path) => Deno.writeTextFile(path, "\r\n"), /it is empty/],
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
  const { PASSWORD: _, ...others } = variablesOf(world.sandbox.settings);
  writeLines(world, { ...others, PASSWORD_FILE: "/run/secrets/password" });
  await withOnly({}, async () => {
    const session = bareSession(world);
    const { notices } = session.status();
    assert(notices.some(({ problem }) => problem.startsWith("PASSWORD_FILE in the .env")));
    assertEquals((await rejection(session.login())).code, "MISSING_SETTINGS");
  });
});

Deno.test("the error and doctor() name the folder of PASSWORD_FILE for --allow-read", () =>
  inFolder((secrets) =>
    inFolder(async (cwd) => {
      const script = `
        import { doctor, login } from ${JSON.stringify(MOD_PATH)};
        const { code, fix } = await login().catch((error) => error);
        const { checks } = await doctor();
        const { message } = checks.find(({ name }) => name === "permissions") ?? {};
        console.log(JSON.stringify({ code, fix, message }));`;
      const env = {
        AUTH_ENV_FILE: "false",
        AUTH_URL: "https://provider.example",
        USERNAME: "ada",
        PASSWORD_FILE: mount(secrets, "password", "Some-Password-1"),
      };
      const run = async (read: string) =>
        JSON.parse((await runScript(script, { cwd, env, flags: ["--allow-env", read] })).stdout);
      const { code, fix } = await run("--allow-read=.");
      assertEquals([code, fix], ["PERMISSION", "add its folder to --allow-read"]);
      const flag = `--allow-read=${secrets}`;
      assertStringIncludes((await run(flag)).message, flag);
    })
  ));
