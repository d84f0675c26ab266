/** The search for the `.env`, and its path in `AUTH_ENV_FILE` or `envFile`. */
import { assertEquals, assertThrows } from "@std/assert";
import { normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError, createSession } from "../../mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { isFile, needing, NOT_ON_WINDOWS, ROOT_ONLY, subject } from "../support/needs.ts";

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

/** The `.env` and the client id of a process in this folder, for each value of `AUTH_ENV_FILE`. */
async function foundIn(folder: string, ...names: string[]): Promise<(string | null)[][]> {
  const script = `import { configure, status } from ${JSON.stringify(MOD_PATH)};
    console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => {
      Deno.env.set("AUTH_ENV_FILE", name);
      configure({});
      const { envFile, clientId, warnings } = status();
      return [envFile, clientId, ...warnings];
    })));`;
  const { stdout, stderr } = await runScript(script, { cwd: folder, flags: ["-A"] });
  assertEquals(stderr, "");
  return JSON.parse(stdout);
}

const RIGHT = "from-the-right-file";
const ENV = `APP_CLIENT_ID=${RIGHT}\n`;
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
  ["in the working folder outside a project", { ".env": PLANTED, "a/b": null }, "a/b", "a/b"],
];
for (const [what, entries, work, file] of places) {
  Deno.test(`the search for the .env ends ${what}`, () =>
    withTree(entries, async (root) => {
      const path = normalize(`${root}/${file}/.env`);
      assertEquals(await foundIn(`${root}/${work}`, ""), [[path, isFile(path) ? RIGHT : null]]);
    }));
}

Deno.test("AUTH_ENV_FILE accepts a path relative to the working folder, a file URL, or false", () => {
  const odd = "sp ace%20#/x.env";
  const files = { ".git": null, ".env": PLANTED, "here/my.env": ENV, [`here/${odd}`]: ENV };
  return withTree(files, async (root) => {
    const here = normalize(`${root}/here`);
    const mine = [normalize(`${here}/my.env`), RIGHT];
    const url = pathToFileURL(`${here}/my.env`).href;
    assertEquals(
      await foundIn(here, "my.env", url, "../here/my.env", odd, "false"),
      [mine, mine, mine, [normalize(`${here}/${odd}`), RIGHT], [null, null]],
    );
  });
});

const WINDOWS = Deno.build.os === "windows";

Deno.test("envFile refuses an address that is not a valid file URL, and the error does not quote it", () => {
  const rest = "ada:hunter2-hunter2@store.example/.env?key=hunter2-hunter2";
  for (const begin of ["https:/", "redis://", ...WINDOWS ? [] : ["file://"]]) {
    const named = () => createSession({ envFile: `${begin}${rest}` }).status();
    const { code, message } = assertThrows(named, ConfigError, "is not the address of a file");
    assertEquals(code, "INVALID_SETTING");
    assertEquals(/hunter2|ada|example/.test(message), false, message);
  }
});

Deno.test("envFile accepts a file URL as a string or a URL object", () => {
  const [file, path] = WINDOWS
    ? ["file:///D:/nowhere/my%20.env", "D:\\nowhere\\my .env"]
    : ["file:///nowhere/my%20.env", "/nowhere/my .env"];
  for (const envFile of [file, new URL(file)]) {
    assertEquals(createSession({ envFile }).status().envFile, path);
  }
});

subject(
  NOT_ON_WINDOWS,
  "owners",
  (test) => {
    test(
      needing(ROOT_ONLY, "a .env of another user is used if AUTH_ENV_FILE specifies it"),
      () =>
        withTree({ ".env": ENV }, async (root) => {
          Deno.chownSync(`${root}/.env`, 12_345, 12_345);
          assertEquals(await foundIn(root, ".env"), [[`${root}/.env`, RIGHT]]);
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
          assertEquals(await clientId(), `${RIGHT}\n`);
          assertEquals(await clientId("--allow-sys=uid"), "undefined\n");
        }),
    );
  },
);
