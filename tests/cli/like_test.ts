/** `login --like`: another account with the settings of the first. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { inCliWorld } from "../support/cli_world.ts";
import { linesOf } from "../support/portless.ts";

Deno.test("another account logs in with the settings of the first, and its own file", () =>
  inCliWorld(async ({ run, sandbox, folder, envFile, variables }) => {
    await run(["login"]);
    sandbox.addUser({ username: "ben", password: "another-password" });
    const login = [
      "login",
      "--env-file",
      ".env.ben",
      "--like",
      ".env",
      "--username=ben",
      "--stdin",
    ];
    const first = await run(login, { stdin: "another-password\n" });
    assertEquals([first.code, first.stderr], [0, ""]);
    assertMatch(first.stdout, /^● Signed in as ben/);
    const copied = linesOf(`${folder}/.env.ben`);
    assertEquals(copied.APP_CLIENT_SECRET, variables.APP_CLIENT_SECRET);
    assertEquals([copied.USERNAME, copied.PASSWORD], [undefined, undefined]);
    const who = async (...further: string[]) =>
      JSON.parse((await run(["fetch", "/v1/whoami", ...further])).stdout).username;
    assertEquals([await who(), await who("--env-file=.env.ben")], ["student", "ben"]);
    const text = await Deno.readTextFile(envFile);
    assertEquals((await run(login, { stdin: "another-password\n" })).code, 0);
    assertEquals(await Deno.readTextFile(envFile), text);
  }));

Deno.test("settings are copied neither over others nor from a file that is not there", () =>
  inCliWorld(async ({ run, folder, sandbox }) => {
    const theirs = "AUTH_URL=https://provider.example\nAPP_CLIENT_ID=theirs\n";
    await Deno.writeTextFile(`${folder}/.env.ben`, theirs);
    const over = await run(["login", "--env-file", ".env.ben", "--like", ".env"]);
    assertEquals(over.code, 1);
    assertMatch(over.stderr, /it has others \(AUTH_URL, APP_CLIENT_ID\); name another file/);
    assertEquals(await Deno.readTextFile(`${folder}/.env.ben`), theirs);
    const missing = await run(["login", "--env-file", ".env.ada", "--like", ".env.x"]);
    assertMatch(missing.stderr, /Cannot read \S+\.env\.x: it is not there; check its path/);
    for (const further of [[], ["--env-file=false"]]) {
      const { code, stderr } = await run(["login", "--like", ".env", ...further]);
      assertEquals(code, 2);
      assertMatch(stderr, /name both: --env-file \.env\.ben --like \.env/);
    }
    assertEquals(sandbox.requests.length, 0);
    assert(![...Deno.readDirSync(folder)].some(({ name }) => name === ".env.ada"));
  }));
