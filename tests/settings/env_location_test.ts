import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError, createSession } from "../../mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { needing, NOT_ON_WINDOWS, ROOT_ONLY, subject } from "../support/needs.ts";

/** A fresh folder with these files (text) and folders (`null`) in it. */
function tree(entries: Record<string, string | null>): string {
  const root = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "env-location-" }));
  for (const [name, text] of Object.entries(entries)) {
    const path = `${root}/${name}`;
    if (text === null) Deno.mkdirSync(path, { recursive: true });
    else {
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
  }
  return root;
}

interface Found {
  envFile?: string;
  clientId?: string;
  warnings: string[];
}

/** What status() says in a process of its own that works in that folder. */
async function statusIn(folder: string, variables: Record<string, string> = {}): Promise<Found> {
  const mod = import.meta.resolve("../../mod.ts");
  const code = `import { status } from ${JSON.stringify(mod)};
    const { envFile, clientId, warnings } = status();
    console.log(JSON.stringify({ envFile, clientId, warnings }));`;
  const unset = { AUTH_ENV_FILE: "", APP_CLIENT_ID: "", ACCESS_TOKEN: "", REFRESH_TOKEN: "" };
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", code],
    cwd: folder,
    env: { ...unset, ...variables },
    stdin: "null",
  });
  const { stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout);
  assert(text.startsWith("{"), new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

async function withTree(
  entries: Record<string, string | null>,
  work: (root: string) => Promise<void>,
): Promise<void> {
  const root = tree(entries);
  try {
    await work(root);
  } finally {
    Deno.removeSync(root, { recursive: true });
  }
}

const ENV = "APP_CLIENT_ID=from-the-right-file\n";
const PLANTED = "APP_CLIENT_ID=planted\nAUTH_URL=https://evil.example\n";

Deno.test("the .env of the working folder is taken first", async () => {
  const files = { ".git": null, ".env": PLANTED, "deep/er/.env": ENV };
  await withTree(files, async (root) => {
    const found = await statusIn(`${root}/deep/er`);
    assertEquals(found, {
      envFile: normalize(`${root}/deep/er/.env`),
      clientId: "from-the-right-file",
      warnings: [],
    });
  });
});

for (const marker of [".git", "deno.json", "deno.jsonc"]) {
  Deno.test(`the nearest .env up to the folder with ${marker} is taken`, async () => {
    const files = {
      ".env": PLANTED,
      [`project/${marker}`]: marker === ".git" ? null : "{}",
      "project/.env": ENV,
      "project/notebooks/week1": null,
    };
    await withTree(files, async (root) => {
      const { envFile, clientId } = await statusIn(`${root}/project/notebooks/week1`);
      assertEquals(envFile, normalize(`${root}/project/.env`));
      assertEquals(clientId, "from-the-right-file");
    });
  });
}

Deno.test("a .env above the project root is not taken", async () => {
  const files = { ".env": PLANTED, "project/.git": null, "project/notebooks": null };
  await withTree(files, async (root) => {
    const { envFile, clientId } = await statusIn(`${root}/project/notebooks`);
    assertEquals(envFile, normalize(`${root}/project/notebooks/.env`));
    assertEquals(clientId, undefined);
    assertEquals([...Deno.readDirSync(`${root}/project/notebooks`)], []);
  });
});

Deno.test("without a project root a .env in a parent folder is not taken", async () => {
  await withTree({ ".env": PLANTED, "work/here": null }, async (root) => {
    const { envFile, clientId } = await statusIn(`${root}/work/here`);
    assertEquals(envFile, normalize(`${root}/work/here/.env`));
    assertEquals(clientId, undefined);
  });
});

Deno.test("a folder named .env on the way up is passed over", async () => {
  const files = { ".git": null, ".env": ENV, "a/.env/x": "", "a/b": null };
  await withTree(files, async (root) => {
    assertEquals((await statusIn(`${root}/a/b`)).envFile, normalize(`${root}/.env`));
  });
});

Deno.test("AUTH_ENV_FILE names a file against the working folder, false means memory only", async () => {
  const files = { ".git": null, ".env": PLANTED, "here/my.env": ENV, "here/sp ace%20#/x.env": ENV };
  await withTree(files, async (root) => {
    const here = normalize(`${root}/here`);
    const right = "from-the-right-file";
    const url = pathToFileURL(`${here}/my.env`).href;
    for (const name of ["my.env", `${here}/my.env`, url, "../here/my.env"]) {
      const { envFile, clientId } = await statusIn(here, { AUTH_ENV_FILE: name });
      assertEquals([envFile, clientId], [normalize(`${here}/my.env`), right], name);
    }
    const odd = await statusIn(here, { AUTH_ENV_FILE: "sp ace%20#/x.env" });
    assertEquals([odd.envFile, odd.clientId], [normalize(`${here}/sp ace%20#/x.env`), right]);
    const none = await statusIn(here, { AUTH_ENV_FILE: "false" });
    assertEquals([none.envFile, none.clientId], [undefined, undefined]);
  });
});

Deno.test("the file is created in the working folder at the first save, not before", async () => {
  await withTree({ ".git": null, "here": null }, async (root) => {
    const modules = ["../../mod.ts", "../../src/sandbox/mod.ts"].map((path) =>
      JSON.stringify(import.meta.resolve(path))
    );
    const code = `import { configure, login, status } from ${modules[0]};
      import { createSandbox } from ${modules[1]};
      const sandbox = createSandbox();
      const { envFile, ...settings } = sandbox.settings;
      configure({ ...settings, fetch: (a, b) => sandbox.handle(new Request(a, b)) });
      const files = () => [...Deno.readDirSync(".")].map((it) => it.name).join();
      status();
      console.log(files());
      await login();
      console.log(files().includes(".env"), status().envFile);
      await sandbox.close();`;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-lock", code],
      cwd: `${root}/here`,
      env: { AUTH_ENV_FILE: "" },
      stdin: "null",
    });
    const { stdout, stderr } = await child.output();
    assertEquals(
      new TextDecoder().decode(stdout),
      `\ntrue ${normalize(`${root}/here/.env`)}\n`,
      new TextDecoder().decode(stderr),
    );
  });
});

const addresses: (string | URL)[] = [
  ...["", "https://example.org/.env", "file:///%zz/.env"],
  ...["https://example.org/.env", "data:,x"].map((url) => new URL(url)),
];
// On Windows a host in a file URL is that of a share.
const WINDOWS = Deno.build.os === "windows";
if (!WINDOWS) addresses.push("FILE://elsewhere/.env", new URL("file://elsewhere/.env"));

for (const address of addresses) {
  const name = address instanceof URL ? `new URL("${address}")` : JSON.stringify(address);
  Deno.test(`envFile: ${name} is refused`, () => {
    const named = () => createSession({ envFile: address }).status();
    const error = assertThrows(named, ConfigError, "names no file");
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, /; give a path, a file URL like .*, or false for memory only \(/);
  });
}

Deno.test("an address that is no file is refused without what it holds", () => {
  const rest = "ada:hunter2-hunter2@store.example/.env?key=hunter2-hunter2";
  const given = ["http://", "https:/", "https:", "HTTPS://", "redis://", "ftp://x ", "data://"];
  if (!WINDOWS) given.push("file://", "FILE://%zz");
  for (const begin of given) {
    const named = () => createSession({ envFile: `${begin}${rest}` }).status();
    const { message } = assertThrows(named, ConfigError, "names no file");
    assertEquals(/hunter2|ada|example/.test(message), false, message);
  }
});

Deno.test("envFile takes a file URL, however it is written", () => {
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

subject(NOT_ON_WINDOWS, "files of other owners, and a working folder that is gone", (test) => {
  test(needing(ROOT_ONLY, "a .env of another owner is ignored, and said"), async () => {
    const files = { ".git": null, ".env": PLANTED, "here": null };
    await withTree(files, async (root) => {
      Deno.chownSync(`${root}/.env`, 12_345, 12_345);
      for (const folder of [root, `${root}/here`]) {
        const { envFile, clientId, warnings } = await statusIn(folder);
        assertEquals(clientId, undefined);
        assert(envFile !== `${root}/.env`);
        assertMatch(warnings.join(), /belongs to another user.*AUTH_ENV_FILE/);
      }
      const named = await statusIn(root, { AUTH_ENV_FILE: `${root}/.env` });
      assertEquals(named.clientId, "planted");
    });
  });

  test({
    name: "a working folder that was removed is told, and doctor() tells it too",
  }, async () => {
    const code = `import { createSession, doctor, status } from ${
      JSON.stringify(import.meta.resolve("../../mod.ts"))
    };
    const folder = Deno.makeTempDirSync();
    Deno.chdir(folder);
    Deno.removeSync(folder);
    try { status(); } catch (error) { console.log(error.code, error.message); }
    const { ok, checks } = await doctor();
    console.log(ok, checks.at(-1).name, checks.at(-1).fix);
    console.log(createSession({ envFile: "/nowhere/.env" }).status().state);`;
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", "--no-lock", code],
      env: { AUTH_ENV_FILE: "" },
      stdin: "null",
    }).output();
    const lines = new TextDecoder().decode(stdout).split("\n");
    assertMatch(lines[0] ?? "", /^ENV_FILE .*working folder was removed; change to another/);
    assertMatch(lines[1] ?? "", /^false settings change to another/);
    assertEquals(lines[2], "none");
  });

  test("a path is shown whole where the working folder was removed", async () => {
    const script = `
      import { displayPath } from ${
      JSON.stringify(import.meta.resolve("../../src/platform/paths.ts"))
    };
      Deno.mkdirSync("gone");
      Deno.chdir("gone");
      Deno.removeSync("../gone");
      console.log(displayPath("/srv/project/.env"));`;
    const { stdout } = await inFolder((cwd) => runScript(script, { cwd, flags: ["-A"] }));
    assertEquals(stdout, "/srv/project/.env\n");
  });

  test({
    ...needing(ROOT_ONLY, "doctor() says that a .env of another owner is not used"),
    fn: () =>
      inFolder(async (cwd) => {
        await writeEnv(cwd, { APP_CLIENT_ID: "of-somebody-else" });
        await Deno.chown(`${cwd}/.env`, 65_534, 65_534);
        const script = `
        import { doctor } from ${JSON.stringify(MOD_PATH)};
        console.log(JSON.stringify((await doctor()).checks.slice(1, 4)));`;
        const { stdout } = await runScript(script, { cwd, flags: ["-A"] });
        assertMatch(stdout, /"warn".*belongs to another user and is ignored.*in memory only/);
      }),
  });
});
