/** If a login lacks settings, a `.env` that is not used is mentioned. */
import { join } from "node:path";
import { assert, assertStringIncludes } from "@std/assert";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

const SETTINGS = "AUTH_URL=https://provider.example\nAPP_CLIENT_ID=a\n";

const SCRIPT = `import { doctor, login } from ${JSON.stringify(MOD_PATH)};
  const failed = await login({ strategy: "environment" }).catch((error) => error.message);
  const checks = (await doctor()).checks.map(({ message }) => message);
  console.log(JSON.stringify({ login: failed, doctor: checks.join() }));`;

/** The error of `login()` and the findings of `doctor()` in a script that runs in a folder. */
async function toldIn(
  cwd: string,
  env: Record<string, string> = {},
): Promise<{ login: string; doctor: string }> {
  const { stdout } = await runScript(SCRIPT, { cwd, env, flags: ["-A", "--no-config"] });
  return JSON.parse(stdout);
}

const places = [
  ["in the folder above a project root", "project/.git"],
  ["in the folder above, where there is no root", "project"],
] as const;
for (const [what, folder] of places) {
  Deno.test(`a .env ${what} is mentioned, and not used`, () =>
    inFolder(async (root) => {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
      await Deno.writeTextFile(`${root}/.env`, SETTINGS);
      const told = await toldIn(`${root}/project`);
      const path = join(root, ".env");
      const sentence = `${path} has settings, but is not used here`;
      assertStringIncludes(told.doctor, sentence);
      assertStringIncludes(
        told.login,
        `${sentence}; to use it, set AUTH_ENV_FILE to its path; set the missing values in`,
      );
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

Deno.test("a file that is named and does not exist is reported as that", () =>
  inFolder(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const told = await toldIn(root, { AUTH_ENV_FILE: "other.env" });
    const path = join(root, "other.env");
    assertStringIncludes(told.login, `${path}, named as the .env, does not exist; check its path`);
    assert(!told.login.includes("has settings"), told.login);
  }));
