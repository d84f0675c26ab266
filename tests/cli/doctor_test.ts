/** Checks of doctor() on this computer: settings, files and permissions. */
import { assertEquals, assertMatch } from "@std/assert";
import { dirname } from "node:path";
import { createSession } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { canaries, SETTINGS, tokenLines } from "../support/canaries.ts";
import { inFolder, MOD_PATH, namesIn, runScript } from "../support/child_deno.ts";
import { mounted, noModelessDisk, noMounts, withoutModes } from "../support/disks.ts";
import { heldTimeouts } from "../support/held_timeouts.ts";
import { needing } from "../support/needs.ts";
import { assertCheck, assertNone, checkNamed, diagnosisOf, NO_VARIABLES } from "./doctor_checks.ts";
import { withEnvironment } from "../support/environment.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";

Deno.test("doctor() reports ok on a working setup, and changes nothing", async () => {
  using _ = heldTimeouts();
  await using sandbox = await startSandbox();
  const { settings } = sandbox;
  const session = createSession(settings);
  await session.login();
  const look = () => ({
    file: Deno.readTextFileSync(settings.envFile),
    info: { ...Deno.statSync(settings.envFile), atime: null },
    folder: namesIn(dirname(settings.envFile)),
    environment: Deno.env.toObject(),
    status: { ...session.status(), asOf: undefined },
  });
  await withEnvironment(NO_VARIABLES, async () => {
    const before = look();
    const { ok, checks } = await session.doctor();
    assertEquals(look(), before);
    assertEquals(ok, true);
    assertEquals(checks.map(({ name, level }) => `${name} ${level}`), [
      "runtime ok",
      "settings ok",
      "receivers ok",
      ".env ok",
      "provider ok",
      "clock ok",
      "API ok",
      "token ok",
      "session ok",
      "permissions ok",
    ]);
    // Of all requests to the provider, only the login succeeded: doctor() changed nothing there.
    assertEquals(sandbox.requests.filter(({ status }) => status === 200).length, 1);
  });
});

Deno.test("the settings check shows the source of each setting", () =>
  inFolder(async (folder) => {
    const variables = { USER_POOL_ID: "pool_1", APP_CLIENT_ID: "shadowed-by-the-option" };
    await writeEnv(folder, { ...variables, APP_CLIENT_SECRET: canaries.clientSecret });
    const { clientSecret: _, userPoolId: __, ...others } = SETTINGS;
    const environment = { USER_POOL_ID: "pool_1", APP_CLIENT_SECRET: undefined };
    const diagnosis = await withEnvironment(
      environment,
      () => diagnosisOf({ ...others, envFile: `${folder}/.env` }),
    );
    const options = "AUTH_URL, APP_CLIENT_ID, USERNAME, PASSWORD, API_BASE_URL";
    assertEquals(
      checkNamed("settings", diagnosis).message,
      `as options: ${options}; from the environment: USER_POOL_ID; from the .env: APP_CLIENT_SECRET`,
    );
  }));

Deno.test("missing settings are only a warning while a portal string is valid", async () => {
  const empty = { AUTH_URL: undefined, APP_CLIENT_ID: undefined, APP_CLIENT_SECRET: undefined };
  await withEnvironment({ ...NO_VARIABLES, ...empty, USER_POOL_ID: undefined }, async () => {
    const session = createSession({ envFile: false });
    assertCheck(
      await session.doctor(),
      "settings",
      "fail",
      /missing AUTH_URL, .*USER_POOL_ID/,
      /the support channel of your subscription/,
    );
    await session.login({ portalToken: `bearer ${canaries.accessToken}` });
    const diagnosis = await session.doctor();
    assertCheck(
      diagnosis,
      "settings",
      "warn",
      /missing AUTH_URL/,
      /the support channel of your subscription/,
    );
    assertEquals(diagnosis.ok, true);
  });
});

Deno.test("the shadowing check reports a variable that overrides another value in the .env", () =>
  inFolder(async (folder) => {
    const secret = canaries.clientSecret;
    const envFile = `${folder}/.env`;
    await writeEnv(folder, { USER_POOL_ID: "pool_1", APP_CLIENT_SECRET: secret });
    const { clientSecret: _, userPoolId: __, ...others } = SETTINGS;
    const variables = { USER_POOL_ID: "pool_2", APP_CLIENT_SECRET: secret };
    const diagnosis = await withEnvironment(variables, () => diagnosisOf({ ...others, envFile }));
    assertCheck(diagnosis, "shadowing", "warn", /: USER_POOL_ID$/, /^unset USER_POOL_ID,/);
    assertEquals(diagnosis.ok, true);
  }));

Deno.test("the .env check reports a missing folder, and creates no file", () =>
  inFolder(async (folder) => {
    const diagnosis = await diagnosisOf({ ...SETTINGS, envFile: `${folder}/gone/.env` });
    const message = /its folder does not exist, so the session is in memory only$/;
    assertCheck(diagnosis, ".env", "warn", message, /make its folder writable.*AUTH_ENV_FILE/);
    await diagnosisOf({ ...SETTINGS, envFile: `${folder}/.env` });
    assertEquals(namesIn(folder), []);
  }));

Deno.test("the .env check reports what is wrong with the file", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    const look = () => diagnosisOf({ ...SETTINGS, envFile });
    assertCheck(await diagnosisOf(SETTINGS), ".env", "ok", /in memory only/);
    assertCheck(await look(), ".env", "ok", /does not exist yet/);
    await Deno.writeTextFile(envFile, tokenLines(), { mode: 0o600 });
    assertCheck(await look(), ".env", "ok", /exists$/);
    if (Deno.build.os !== "windows") {
      await Deno.chmod(envFile, 0o644);
      assertCheck(
        await look(),
        ".env",
        "warn",
        /other users of this computer can read/,
        /chmod 600/,
      );
      assertEquals((Deno.statSync(envFile).mode ?? 0) & 0o777, 0o644);
    }
    await Deno.writeFile(envFile, new Uint8Array([0xff, 0xfe, 0]));
    assertCheck(await look(), ".env", "fail", /not UTF-8/, /save it as UTF-8/);
    await Deno.remove(envFile);
    await Deno.mkdir(envFile);
    assertCheck(await look(), ".env", "fail", /not a regular file/, /./);
  }));

Deno.test({
  ...needing(noMounts, "the .env check reports a .env that is mounted as a single file"),
  fn: () =>
    inFolder(async (folder) => {
      const envFile = `${folder}/.env`;
      await Deno.writeTextFile(envFile, tokenLines(), { mode: 0o600 });
      await mounted(envFile, async () => {
        const diagnosis = await diagnosisOf({ ...SETTINGS, envFile });
        assertCheck(diagnosis, ".env", "warn", /mounted as a single file/, /^mount its folder/);
      });
      assertEquals(namesIn(folder), [".env"]);
    }),
});

Deno.test({
  ...needing(noModelessDisk, "the .env check reports a disk that cannot make the .env private"),
  fn: () =>
    inFolder(async (folder) => {
      const envFile = `${folder}/.env`;
      await Deno.writeTextFile(envFile, tokenLines(), { mode: 0o600 });
      await withoutModes(folder, async () => {
        const diagnosis = await diagnosisOf({ ...SETTINGS, envFile });
        assertCheck(
          diagnosis,
          ".env",
          "warn",
          /its disk cannot make files private$/,
          /another disk$/,
        );
      });
    }),
});

const IGNORING: [lines: string, level: "ok" | "warn"][] = [
  ["", "warn"],
  [".env*\r\n!.env.example\r\n", "ok"],
  // The temporary file contains the same tokens.
  [".env", "warn"],
  [".env\n*.tmp", "ok"],
  ["*.env\n.env.*", "ok"],
  ["**/.env*", "ok"],
  ["project/.env*", "ok"],
  ["/.env*", "warn"],
  ["#.env*\nxenv*\n.env*/", "warn"],
  [".env*\n!.env", "warn"],
];
for (const [lines, level] of IGNORING) {
  Deno.test(`the version control check reads the .gitignore ${JSON.stringify(lines)}`, () =>
    inFolder(async (folder) => {
      const envFile = `${folder}/project/.env`;
      await Deno.mkdir(`${folder}/project`);
      await Deno.writeTextFile(`${folder}/.gitignore`, lines);
      assertNone(await diagnosisOf({ ...SETTINGS, envFile }), "version control");
      await Deno.mkdir(`${folder}/.git`);
      const diagnosis = await diagnosisOf({ ...SETTINGS, envFile });
      const fix = level === "warn" ? /^add \.env\* and .* to \.gitignore$/ : undefined;
      assertCheck(diagnosis, "version control", level, /\.gitignore/, fix);
      await Deno.writeTextFile(`${folder}/project/.gitignore`, ".env*");
      assertCheck(await diagnosisOf({ ...SETTINGS, envFile }), "version control", "ok", /covers/);
    }));
}

Deno.test("the permissions check prints the necessary flags; other checks name a missing flag", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (cwd) => {
    await writeEnv(cwd, variablesOf(sandbox.settings));
    const script = `
      import { doctor } from ${JSON.stringify(MOD_PATH)};
      // Nothing here takes too long, except on a busy machine.
      AbortSignal.timeout = () => new AbortController().signal;
      const { checks } = await doctor();
      console.log(checks.find(({ name }) => name === "permissions").message);
      console.log(JSON.stringify(checks.filter(({ level }) => level === "fail")));`;
    const env = { NO_PROXY: "127.0.0.1", HTTP_PROXY: "http://127.0.0.1:9" };
    const [line = ""] = (await runScript(script, { cwd, env, flags: ["-A"] })).stdout.split("\n");
    const hosts = [sandbox.authUrl, sandbox.apiUrl].map((url) => new URL(url).host).join();
    // Tests of the documented permissions run a script with these flags.
    assertEquals(line, `--allow-read=. --allow-write=. --allow-net=${hosts} --allow-env`);
    for (const name of ["read", "net", "env"]) {
      const flags = line.split(" ").filter((each) => !each.startsWith(`--allow-${name}`));
      const { stdout, stderr } = await runScript(script, { cwd, env, flags });
      const [found, failed = ""] = stdout.split("\n");
      // Without the .env, the hosts are unknown.
      const hostless = line.replace(`=${hosts}`, "");
      assertEquals([stderr, found], ["", name === "read" ? hostless : line]);
      // Without the environment nothing fails, because the settings are in the .env.
      assertMatch(failed, name === "env" ? /^\[\]$/ : new RegExp(`--allow-${name}=`));
    }
  });
});
