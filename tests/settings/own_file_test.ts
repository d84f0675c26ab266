/** The user's own `.env`, which is used in every folder without a `.env`. */
import { assertEquals, assertMatch } from "@std/assert";
import { normalize } from "node:path";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, namesIn, runScript } from "../support/child_deno.ts";
import { needing, NOT_ON_WINDOWS, ROOT_ONLY, subject } from "../support/needs.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";

interface Home {
  /** The folder of the settings. */
  readonly config: string;
  readonly ownFile: string;
  /** A folder without a `.env`. */
  readonly work: string;
  /** Runs a script in the work folder, with all permissions unless given, and returns its output. */
  run(script: string, env?: Record<string, string>, flags?: string[]): Promise<string>;
}

/** Works in a home folder whose own file contains these variables. */
function atHome(variables: Record<string, string>, use: (home: Home) => Promise<void>) {
  return inFolder(async (root) => {
    const [config, work] = [`${root}/config`, `${root}/work`];
    await Deno.mkdir(`${config}/platform-auth`, { recursive: true });
    await Deno.mkdir(work);
    await writeEnv(`${config}/platform-auth`, variables);
    const run: Home["run"] = async (script, more, flags = ["-A"]) => {
      const env = { NO_PROXY: "127.0.0.1", XDG_CONFIG_HOME: config, ...more };
      const { stdout, stderr } = await runScript(script, { cwd: work, flags, env });
      assertEquals(stderr, "");
      return stdout;
    };
    await use({ config, ownFile: normalize(`${config}/platform-auth/.env`), work, run });
  });
}

const OWN = { APP_CLIENT_ID: "from-the-own-file" };

const STATUS = `import { createSession, status } from ${JSON.stringify(MOD_PATH)};
  const { envFile, clientId } = status();
  console.log(JSON.stringify([envFile, clientId, createSession().status().envFile]));`;

Deno.test("the global .env is used in a folder without a .env, but not by createSession()", () =>
  atHome(OWN, async ({ ownFile, run, work }) => {
    assertEquals(JSON.parse(await run(STATUS)), [ownFile, OWN.APP_CLIENT_ID, null]);
    assertEquals(namesIn(work), []);
    await Deno.writeTextFile(`${work}/.env`, "APP_CLIENT_ID=from-the-folder\n");
    const nearest = [normalize(`${work}/.env`), "from-the-folder", null];
    assertEquals(JSON.parse(await run(STATUS)), nearest);
  }));

Deno.test("the global .env may set the hosts that receive a password from the environment", async () => {
  await using sandbox = await startSandbox();
  const { USERNAME = "", PASSWORD = "", ...others } = variablesOf(sandbox.settings);
  await atHome(others, async ({ ownFile, run, work }) => {
    const script = `import { authFetch, login, status } from ${JSON.stringify(MOD_PATH)};
      await login();
      console.log((await authFetch("/v1/whoami")).status, status().warnings.length);`;
    assertEquals(await run(script, { USERNAME, PASSWORD }), "200 0\n");
    assertMatch(await Deno.readTextFile(ownFile), /^REFRESH_TOKEN=/m);
    assertEquals(namesIn(work), []);
  });
});

Deno.test("a script that may not read the global .env ignores it without a permission prompt", () =>
  atHome(OWN, async ({ run, work }) => {
    const script = `const looked = [];
      const { statSync } = Deno;
      Deno.statSync = (path) => {
        looked.push(path);
        return statSync(path);
      };
      const { status } = await import(${JSON.stringify(MOD_PATH)});
      const { envFile } = status();
      console.log(JSON.stringify([envFile, looked.some((path) => path.includes("config"))]));`;
    const flags = ["--allow-env", `--allow-read=.,${MOD_PATH.replace("mod.ts", "")}`];
    // In a terminal, an attempt to read the file would cause a prompt of Deno.
    const expected = [normalize(`${work}/.env`), false];
    assertEquals(JSON.parse(await run(script, {}, flags)), expected);
  }));

Deno.test("a login uses a global .env that was written after the process looked for one", () =>
  atHome(OWN, async ({ ownFile, run, work }) => {
    const script = `import { login, status } from ${JSON.stringify(MOD_PATH)};
      const own = ${JSON.stringify(ownFile)};
      Deno.renameSync(own, "away");
      const before = status().envFile;
      Deno.renameSync("away", own);
      await login({ strategy: "environment" }).catch(() => {});
      console.log(JSON.stringify([before, status().envFile]));`;
    assertEquals(JSON.parse(await run(script)), [normalize(`${work}/.env`), ownFile]);
  }));

subject(NOT_ON_WINDOWS, "the folder of the global .env", (test) => {
  test("the global .env is in ~/.config without XDG_CONFIG_HOME", () =>
    atHome(OWN, async ({ config, run }) => {
      const HOME = config.replace(/\/config$/, "");
      await Deno.rename(config, `${HOME}/.config`);
      const [envFile] = JSON.parse(await run(STATUS, { HOME, XDG_CONFIG_HOME: "" }));
      assertEquals(envFile, `${HOME}/.config/platform-auth/.env`);
    }));

  test(
    needing(
      ROOT_ONLY,
      "the global .env is ignored with a warning if it belongs to another user",
    ),
    () =>
      atHome(OWN, async ({ ownFile, run, work }) => {
        await Deno.chown(ownFile, 12_345, 12_345);
        const script = `import { status } from ${JSON.stringify(MOD_PATH)};
        console.log(JSON.stringify([status().envFile, status().warnings.join()]));`;
        const [envFile, warnings] = JSON.parse(await run(script));
        assertEquals(envFile, `${work}/.env`);
        assertMatch(warnings, /config\/platform-auth\/\.env belongs to another user/);
      }),
  );
});
