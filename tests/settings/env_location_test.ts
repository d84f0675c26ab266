/** The search for the `.env`, and its path in `AUTH_ENV_FILE` or `envFile`. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError, createSession } from "../../mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { needing, NOT_ON_WINDOWS, ROOT_ONLY, subject } from "../support/needs.ts";

/** Calls `work` with a new folder that contains these files (text) and folders (`null`). */
function withTree(
  entries: Record<string, string | null>,
  work: (root: string) => Promise<void>,
): Promise<void> {
  return inFolder(async (root) => {
    for (const [name, text] of Object.entries(entries)) {
      const path = `${root}/${name}`;
      const folder = text === null ? path : path.slice(0, path.lastIndexOf("/"));
      Deno.mkdirSync(folder, { recursive: true });
      if (text !== null) Deno.writeTextFileSync(path, text);
    }
    await work(root);
  });
}

/** The output of a script that runs in this folder. */
async function printedIn(
  cwd: string,
  script: string,
  env: Record<string, string> = {},
): Promise<string> {
  const { stdout, stderr } = await runScript(script, { cwd, env, flags: ["-A"] });
  assertEquals(stderr, "");
  return stdout;
}

/** The result of status() in a separate process that runs in this folder. */
async function statusIn(folder: string, variables: Record<string, string> = {}) {
  const script = `import { status } from ${JSON.stringify(MOD_PATH)};
    const { envFile, clientId, warnings } = status();
    console.log(JSON.stringify({ envFile, clientId, warnings }));`;
  return JSON.parse(await printedIn(folder, script, variables));
}

const ENV = "APP_CLIENT_ID=from-the-right-file\n";
const PLANTED = "APP_CLIENT_ID=planted\nAUTH_URL=https://evil.example\n";

type Place = [what: string, entries: Record<string, string | null>, work: string, file: string];

/** In each case: the files and folders, the working folder, and the folder of the `.env` in use. */
const places: Place[] = [
  ["in the working folder", { ".git": null, ".env": PLANTED, "a/.env": ENV }, "a", "a"],
  ...[".git/config", "deno.json", "deno.jsonc"].map((marker): Place => [
    `in the parent folder that contains ${marker}`,
    { ".env": PLANTED, [`root/${marker}`]: "{}", "root/.env": ENV, "root/a/b": null },
    "root/a/b",
    "root",
  ]),
  [
    "above a folder that is itself named .env",
    { ".git": null, ".env": ENV, "a/.env/x": "", "a/b": null },
    "a/b",
    "",
  ],
];
for (const [what, entries, work, file] of places) {
  Deno.test(`the search finds the .env ${what}`, () =>
    withTree(entries, async (root) => {
      const path = normalize(`${root}/${file}/.env`);
      assertEquals(await statusIn(`${root}/${work}`), {
        envFile: path,
        clientId: "from-the-right-file",
        warnings: [],
      });
    }));
}

Deno.test("AUTH_ENV_FILE accepts a path relative to the working folder, a file URL, or false", async () => {
  const files = { ".git": null, ".env": PLANTED, "here/my.env": ENV, "here/sp ace%20#/x.env": ENV };
  await withTree(files, async (root) => {
    const here = normalize(`${root}/here`);
    const fileOf = async (name: string) => {
      const { envFile, clientId } = await statusIn(here, { AUTH_ENV_FILE: name });
      return [envFile, clientId];
    };
    const right = "from-the-right-file";
    for (const name of ["my.env", pathToFileURL(`${here}/my.env`).href, "../here/my.env"]) {
      assertEquals(await fileOf(name), [normalize(`${here}/my.env`), right], name);
    }
    const odd = "sp ace%20#/x.env";
    assertEquals(await fileOf(odd), [normalize(`${here}/${odd}`), right]);
    assertEquals(await fileOf("false"), [undefined, undefined]);
  });
});

const WINDOWS = Deno.build.os === "windows";

Deno.test("envFile refuses an address that is not a valid file URL, and the error does not quote it", () => {
  const rest = "ada:hunter2-hunter2@store.example/.env?key=hunter2-hunter2";
  const given = ["http://", "https:/", "https:", "HTTPS://", "redis://", "ftp://x ", "data://"];
  if (!WINDOWS) given.push("file://", "FILE://%zz");
  for (const begin of given) {
    const named = () => createSession({ envFile: `${begin}${rest}` }).status();
    const { code, message } = assertThrows(named, ConfigError, "is not the address of a file");
    assertEquals(code, "INVALID_SETTING");
    assertEquals(/hunter2|ada|example/.test(message), false, message);
  }
  for (const envFile of ["", "file:///%zz/.env", new URL("https://example.org/.env")]) {
    assertThrows(() => createSession({ envFile }).status(), ConfigError, "the address of a file");
  }
});

Deno.test("envFile accepts a file URL as a string or a URL object", () => {
  const [file, path] = WINDOWS
    ? ["file:///D:/nowhere/my%20.env", "D:\\nowhere\\my .env"]
    : ["file:///nowhere/my%20.env", "/nowhere/my .env"];
  for (const envFile of [file, file.replace("file", "FILE"), new URL(file)]) {
    assertEquals(createSession({ envFile }).status().envFile, path);
  }
  for (const envFile of WINDOWS ? ["FILE://nas/share/.env", "\\\\nas\\share\\.env"] : []) {
    assertEquals(createSession({ envFile }).status().envFile, "\\\\nas\\share\\.env");
  }
});

subject(
  NOT_ON_WINDOWS,
  "owners, and a deleted working folder",
  (test) => {
    test(
      needing(ROOT_ONLY, "a .env of another user is used if AUTH_ENV_FILE specifies it"),
      () =>
        withTree({ ".env": ENV }, async (root) => {
          Deno.chownSync(`${root}/.env`, 12_345, 12_345);
          const { clientId } = await statusIn(root, { AUTH_ENV_FILE: `${root}/.env` });
          assertEquals(clientId, "from-the-right-file");
        }),
    );

    test(
      needing(ROOT_ONLY, "without --allow-sys, a .env of the working folder's owner is used"),
      () =>
        withTree({ ".env": ENV }, async (root) => {
          for (const path of [root, `${root}/.env`]) Deno.chownSync(path, 12_345, 12_345);
          const script = `import { status } from ${JSON.stringify(MOD_PATH)};
            console.log(status().clientId);`;
          const flags = ["--allow-env", `--allow-read=.,${MOD_PATH.replace("mod.ts", "")}`];
          const clientId = async (...more: string[]) =>
            (await runScript(script, { cwd: root, flags: [...flags, ...more] })).stdout;
          assertEquals(await clientId(), "from-the-right-file\n");
          assertEquals(await clientId("--allow-sys=uid"), "undefined\n");
        }),
    );

    test("status() and doctor() report a deleted working folder", async () => {
      const code = `import { createSession, doctor, status } from ${JSON.stringify(MOD_PATH)};
    Deno.mkdirSync("gone");
    Deno.chdir("gone");
    Deno.removeSync("../gone");
    try { status(); } catch (error) { console.log(error.code, error.message); }
    const { ok, checks } = await doctor();
    console.log(ok, checks.at(-1).name, checks.at(-1).fix);
    const { state, envFile } = createSession({ envFile: "/nowhere/.env" }).status();
    console.log(state, envFile);`;
      const lines = (await inFolder((folder) => printedIn(folder, code))).split("\n");
      assertMatch(lines[0] ?? "", /^ENV_FILE .*working folder was removed; change to another/);
      assertMatch(lines[1] ?? "", /^false settings change to another/);
      assertEquals(lines[2], "none /nowhere/.env");
    });
  },
);
