/** Messages about missing settings list the searched folders; doctor() also finds an unused `.env`. */
import { join } from "node:path";
import { assert, assertStringIncludes } from "@std/assert";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

const SETTINGS = "AUTH_URL=https://provider.example\nAPP_CLIENT_ID=a\n";

const SCRIPT = `import { accessToken, authFetch, doctor, login } from ${JSON.stringify(MOD_PATH)};
  const failed = await login({ strategy: "environment" }).catch((error) => error.message);
  const checks = (await doctor()).checks.map(({ message }) => message);
  const { code, message } = await accessToken().catch((error) => error);
  const call = await authFetch("/v1/stations").catch((error) => error.code + error.message);
  console.log(JSON.stringify(
    { login: failed, doctor: checks.join(), token: code + message, call },
  ));`;

interface Messages {
  /** The error of login(). */
  readonly login: string;
  /** The checks of doctor(). */
  readonly doctor: string;
  /** Codes and messages of calls without a session. */
  readonly token: string;
  readonly call: string;
}

/** The messages of a script that runs in this folder. */
async function messagesIn(
  cwd: string,
  env: Record<string, string> = {},
  flags: string[] = ["-A"],
): Promise<Messages> {
  const { stdout } = await runScript(SCRIPT, { cwd, env, flags: [...flags, "--no-config"] });
  return JSON.parse(stdout);
}

Deno.test("without a .env, every message contains the searched folders and the next step", () =>
  inFolder(async (root) => {
    await Deno.mkdir(`${root}/.git`);
    await Deno.mkdir(`${root}/sub`);
    const env = { XDG_CONFIG_HOME: join(root, "config") };
    const found = await messagesIn(`${root}/sub`, env);
    const own = join(root, "config", "platform-auth");
    const problem = `no .env was found in ${join(root, "sub")}, ${root}, ${own}`;
    const fix = "run platform-auth init, or name a file in AUTH_ENV_FILE";
    const login = `${fix}, then run login() (a portal string needs no settings)`;
    assertStringIncludes(found.login, `; ${problem}; set the missing values in `);
    assertStringIncludes(found.call, `; ${problem}; ${fix}; or set `);
    assertStringIncludes(found.token, `There is no session (${problem}); ${login} `);
    assertStringIncludes(found.doctor, `; ${problem}`);
    const inner = join(root, "sub", "inner");
    await Deno.mkdir(inner);
    for (const cwd of [join(root, "sub"), inner]) {
      const flags = ["--allow-env", `--allow-read=${join(root, "sub")}`];
      const { token } = await messagesIn(cwd, env, flags);
      assertStringIncludes(
        token,
        `(no .env was found in ${cwd}; the search stopped because ` +
          `--allow-read=${root},${own} is missing); add --allow-read=${root},${own} if the .env is there; otherwise, run `,
      );
    }
  }));

const places = [
  ["above the project root", "project/.git", "it is above the project root "],
  ["in a parent folder outside any project", "project", "no folder from here up is a project"],
] as const;
for (const [what, folder, why] of places) {
  Deno.test(`doctor() mentions a .env ${what}, which is not used`, () =>
    inFolder(async (root) => {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
      await Deno.writeTextFile(`${root}/.env`, SETTINGS);
      const found = await messagesIn(`${root}/project`);
      const path = join(root, ".env");
      const end = folder === "project" ? why : why + join(root, "project");
      const sentence = `${path} has settings, but is not used here: ${end}`;
      assertStringIncludes(found.doctor, sentence);
      assertStringIncludes(found.login, "no .env was found in ");
    }));
}

Deno.test("an unused .env is mentioned only if it has settings that are missing", () =>
  inFolder(async (root) => {
    await Deno.mkdir(`${root}/sub`);
    await Deno.writeTextFile(`${root}/.env`, "DATABASE_URL=x\nUSERNAME=db\nPASSWORD=db\n");
    const found = await messagesIn(`${root}/sub`);
    assert(!found.doctor.includes("not used"), found.doctor);
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const { doctor } = await messagesIn(`${root}/sub`, {
      AUTH_URL: "https://127.0.0.1:9",
      APP_CLIENT_ID: "a",
      APP_CLIENT_SECRET: "",
      USER_POOL_ID: "b",
    });
    assert(!doctor.includes("not used"), doctor);
  }));

Deno.test("login() reports a path in AUTH_ENV_FILE that does not exist", () =>
  inFolder(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const found = await messagesIn(root, { AUTH_ENV_FILE: "other.env" });
    const path = join(root, "other.env");
    assertStringIncludes(
      found.login,
      `${path} was specified as the .env file, but it does not exist; set the missing values in `,
    );
  }));

Deno.test("doctor() says that another program's .env is used instead of the user's own file", () =>
  inFolder(async (root) => {
    const config = join(root, "config");
    await Deno.mkdir(`${config}/platform-auth`, { recursive: true });
    await Deno.writeTextFile(`${config}/platform-auth/.env`, SETTINGS);
    await Deno.writeTextFile(`${root}/.env`, "DATABASE_URL=x\n");
    const { doctor } = await messagesIn(root, { XDG_CONFIG_HOME: config });
    const own = join(config, "platform-auth", ".env");
    const near = join(root, ".env");
    assertStringIncludes(doctor, `${own} has settings, but is not used here: ${near} is `);
  }));
