/** Without settings, a user learns where a `.env` was searched, and which one was not used. */
import { join } from "node:path";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

const SETTINGS = "AUTH_URL=https://provider.example\nAPP_CLIENT_ID=a\n";

const SCRIPT = `import { accessToken, authFetch, doctor, login, status } from ${
  JSON.stringify(MOD_PATH)
};
  const failed = await login({ strategy: "environment" }).catch((error) => error.message);
  const checks = (await doctor()).checks.map(({ message }) => message);
  const { code, message } = await accessToken().catch((error) => error);
  const call = await authFetch("/v1/stations").catch((error) => error.code + error.message);
  const notices = status().notices.map(({ code, level, problem, fix }) => [code, level, problem, fix]);
  const card = Deno.inspect(status());
  console.log(JSON.stringify(
    { login: failed, doctor: checks.join(), token: code + message, call, notices, card },
  ));`;

interface Told {
  /** The message of a failed login. */
  readonly login: string;
  /** The messages of the checks. */
  readonly doctor: string;
  /** Codes and messages of calls without a session. */
  readonly token: string;
  readonly call: string;
  readonly notices: readonly unknown[];
  readonly card: string;
}

/** The messages to a script without settings in a folder. */
async function toldIn(
  cwd: string,
  env: Record<string, string> = {},
  flags: string[] = ["-A"],
): Promise<Told> {
  const { stdout } = await runScript(SCRIPT, { cwd, env, flags: [...flags, "--no-config"] });
  return JSON.parse(stdout);
}

Deno.test("without any .env, errors, status and doctor name the searched folders and the next step", () =>
  inFolder(async (root) => {
    await Deno.mkdir(`${root}/.git`);
    await Deno.mkdir(`${root}/sub`);
    const env = { XDG_CONFIG_HOME: join(root, "config") };
    const told = await toldIn(`${root}/sub`, env);
    const own = join(root, "config", "platform-auth");
    const problem = `no .env was found in ${join(root, "sub")}, ${root}, ${own}`;
    const fix = "run platform-auth init, or name a file in AUTH_ENV_FILE";
    const login = `${fix}, then run login() (a portal string needs no settings)`;
    assertStringIncludes(told.login, `; ${problem}; ${fix}; or set the missing values in `);
    assertStringIncludes(told.doctor, `; ${problem}`);
    assertStringIncludes(told.token, `NO_SESSIONThere is no session (${problem}); ${login} `);
    assertStringIncludes(told.call, "MISSING_SETTINGS");
    assertStringIncludes(told.call, `; ${problem}; ${fix}; or set it in the environment`);
    assertEquals(told.notices, [["NO_SETTINGS", "note", problem, login]]);
    assertStringIncludes(told.card, `next: ${login}\n`);
    assertStringIncludes(told.card, `session: ${problem}`);
    const flags = ["--allow-env", "--allow-read=."];
    const { token } = await toldIn(`${root}/sub`, env, flags);
    assertStringIncludes(
      token,
      `(no .env was found in ${join(root, "sub")}, and --allow-read=${root},${own} is missing to ` +
        `search further); add --allow-read=${root},${own} if the .env is there; otherwise, run `,
    );
  }));

const places = [
  ["in the folder above a project root", "project/.git", "it is above the project root "],
  ["in the folder above, where there is no root", "project", "no folder from here up is a project"],
] as const;
for (const [what, folder, why] of places) {
  Deno.test(`a .env ${what} is mentioned, and not used`, () =>
    inFolder(async (root) => {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
      await Deno.writeTextFile(`${root}/.env`, SETTINGS);
      const told = await toldIn(`${root}/project`);
      const path = join(root, ".env");
      const sentence = `${path} has settings, but is not used here: ${why}`;
      for (const text of [told.doctor, told.token, told.card, told.login]) {
        assertStringIncludes(text, sentence);
      }
      const fix = "; to use it, set AUTH_ENV_FILE to its path; or set the missing values in";
      assertStringIncludes(told.login, fix);
      const used = await toldIn(`${root}/project`, { AUTH_ENV_FILE: path });
      assert(!used.login.includes("AUTH_URL"), used.login);
    }));
}

Deno.test("a .env of another program is not mentioned, nor one elsewhere where nothing is missing", () =>
  inFolder(async (root) => {
    await Deno.mkdir(`${root}/sub`);
    await Deno.writeTextFile(`${root}/.env`, "DATABASE_URL=x\nUSERNAME=db\nPASSWORD=db\n");
    const told = await toldIn(`${root}/sub`);
    assert(!told.login.includes("not used"), told.login);
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const { doctor } = await toldIn(`${root}/sub`, {
      AUTH_URL: "https://127.0.0.1:9",
      APP_CLIENT_ID: "a",
      APP_CLIENT_SECRET: "",
      USER_POOL_ID: "b",
    });
    assert(!doctor.includes("not used"), doctor);
  }));

Deno.test("a named file that does not exist is reported", () =>
  inFolder(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const told = await toldIn(root, { AUTH_ENV_FILE: "other.env" });
    const path = join(root, "other.env");
    assertStringIncludes(
      told.login,
      `${path} was specified as the .env file, but it does not exist; check the path`,
    );
    assert(!told.login.includes("has settings"), told.login);
    assertStringIncludes(told.token, `NO_SESSIONThere is no session (${path} was specified as `);
  }));

Deno.test("a nearer .env of another program is reported as the reason why the user's own file is not used", () =>
  inFolder(async (root) => {
    const config = join(root, "config");
    await Deno.mkdir(`${config}/platform-auth`, { recursive: true });
    await Deno.writeTextFile(`${config}/platform-auth/.env`, SETTINGS);
    await Deno.writeTextFile(`${root}/.env`, "DATABASE_URL=x\n");
    const { token } = await toldIn(root, { XDG_CONFIG_HOME: config });
    const own = join(config, "platform-auth", ".env");
    const near = join(root, ".env");
    assertStringIncludes(token, `(${own} has settings, but is not used here: ${near} is `);
  }));
