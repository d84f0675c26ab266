/** A `.env` that is not used is mentioned where a login lacks settings. */
import { join } from "node:path";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { inFolder, MOD_PATH, neededVariables } from "../support/child_deno.ts";

const SETTINGS = "AUTH_URL=https://provider.example\nAPP_CLIENT_ID=a\n";

interface Told {
  warnings: string[];
  login: string;
  call: string;
  path: string;
  doctor: string[];
}

/** What a script says that runs in a folder. */
async function toldIn(
  folder: string,
  script: string,
  variables: Record<string, string> = {},
): Promise<Told> {
  const code = `import { accessToken, authFetch, doctor, login, status } from ${
    JSON.stringify(MOD_PATH)
  };
    const { warnings } = status();
    const message = (error: Error) => error.message;
    const failed = await login({ strategy: "environment" }).catch(message);
    const call = await accessToken().catch(message);
    const path = await authFetch("/v1/x").catch(message);
    const checks = (await doctor()).checks.map(({ message }) => message);
    console.log(JSON.stringify({ warnings, login: failed, call, path, doctor: checks }));`;
  await Deno.writeTextFile(script, code);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-config", "--no-lock", script],
    cwd: folder,
    clearEnv: true,
    env: { ...neededVariables(), ...variables },
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert(text.startsWith("{"), new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

function assertTells(told: Told, sentence: string): void {
  assertEquals(told.warnings.filter((warning) => warning.includes(sentence)).length, 1, sentence);
  for (const text of [told.login, told.call, told.path, told.doctor.join("\n")]) {
    assertStringIncludes(text, sentence);
  }
}

const places: [what: string, env: string, work: string, script: string][] = [
  ["in the folder above a project root", ".env", "project/.git", "project/a.ts"],
  ["in the folder above, where there is no root", ".env", "sub", "sub/a.ts"],
  ["beside the script", "tools/.env", "work", "tools/a.ts"],
  ["in a folder below", "project/.env", ".", "a.ts"],
];
for (const [what, env, work, script] of places) {
  Deno.test(`a .env ${what} is mentioned, and not used`, () =>
    inFolder(async (root) => {
      for (const folder of [work, env.replace(".env", "."), script.replace("a.ts", ".")]) {
        await Deno.mkdir(`${root}/${folder}`, { recursive: true });
      }
      await Deno.writeTextFile(`${root}/${env}`, SETTINGS);
      const folder = `${root}/${work.replace("/.git", "")}`;
      const told = await toldIn(folder, `${root}/${script}`);
      assertTells(
        told,
        `${await Deno.realPath(`${root}/${env}`)} has settings, and is not used here`,
      );
      assertMatch(
        told.login,
        /missing AUTH_URL .*; to use it, name it in AUTH_ENV_FILE; set them in/,
      );
      const used = await toldIn(folder, `${root}/${script}`, {
        AUTH_ENV_FILE: `${root}/${env}`,
      });
      assertEquals(used.warnings, []);
      assert(!used.login.includes("AUTH_URL"), used.login);
    }));
}

Deno.test("a .env of another program is not mentioned", () =>
  inFolder(async (root) => {
    await Deno.mkdir(`${root}/sub`);
    await Deno.writeTextFile(`${root}/.env`, "DATABASE_URL=x\nUSERNAME=db\nPASSWORD=db\n");
    const told = await toldIn(`${root}/sub`, `${root}/sub/a.ts`);
    assertEquals(told.warnings, []);
    assert(!told.login.includes("not used"), told.login);
  }));

Deno.test("a .env elsewhere is no news where the settings are there", () =>
  inFolder(async (root) => {
    await Deno.mkdir(`${root}/sub`);
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const told = await toldIn(`${root}/sub`, `${root}/sub/a.ts`, {
      AUTH_URL: "https://provider.example",
      APP_CLIENT_ID: "a",
      APP_CLIENT_SECRET: "",
      USER_POOL_ID: "b",
    });
    assertEquals(told.warnings, []);
  }));

Deno.test("a file that is named and not there is told as that", () =>
  inFolder(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, SETTINGS);
    const told = await toldIn(root, `${root}/a.ts`, { AUTH_ENV_FILE: "other.env" });
    const path = join(await Deno.realPath(root), "other.env");
    assertTells(told, `${path}, the .env that is named, is not there`);
    assert(!told.login.includes("has settings"), told.login);
  }));
