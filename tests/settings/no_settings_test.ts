/** Messages about missing settings list the searched folders. */
import { join } from "node:path";
import { assertStringIncludes } from "@std/assert";
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

/** The messages of login(), of doctor(), and of calls without a session. */
type Messages = Readonly<Record<"login" | "doctor" | "token" | "call", string>>;

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
    const sub = join(root, "sub");
    const own = join(root, "config", "platform-auth");
    await Deno.mkdir(`${root}/.git`);
    await Deno.mkdir(sub);
    const env = { XDG_CONFIG_HOME: join(root, "config") };
    const found = await messagesIn(sub, env);
    for (const message of Object.values(found)) {
      assertStringIncludes(message, `no .env was found in ${sub}, ${root}, ${own}`);
    }
    assertStringIncludes(
      found.token,
      "; run platform-auth init, or specify a file in AUTH_ENV_FILE, then run login()",
    );
    const { token } = await messagesIn(sub, env, ["--allow-env", `--allow-read=${sub}`]);
    const stopped = `the search stopped because --allow-read=${root},${own} is missing`;
    assertStringIncludes(token, `no .env was found in ${sub}; ${stopped}`);
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
