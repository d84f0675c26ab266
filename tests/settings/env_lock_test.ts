import { assert, assertEquals } from "@std/assert";
import { lockEnvFile, readEnvFile, updateEnvFile } from "../../src/settings/env_file.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { needing, NOT_ON_WINDOWS, ROOT_ONLY, subject } from "../support/needs.ts";
import { frozen, noFreezing } from "../support/disks.ts";

const WORLD = {
  monotonic: () => performance.now(),
  sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms)),
};

const COUNT = `
  const [path, key, times] = Deno.args;
  const world = {
    monotonic: () => performance.now(),
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
  };
  for (let i = 0; i < Number(times); i++) {
    const { lock } = await lockEnvFile(path, 30_000, world);
    if (lock.state !== "held") throw new Error(lock.state);
    const { values } = readEnvFile(path);
    const next = (name) => [name, String(Number(values.get(name) ?? 0) + 1)];
    await updateEnvFile(path, new Map([next(key), next("TOTAL")]), true);
    lock.release();
  }`;

Deno.test("writers in several processes lose nothing, and readers see whole files only", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    await Deno.writeTextFile(path, "TOTAL=0\n");
    const script = `
      import { readEnvFile, updateEnvFile } from ${
      JSON.stringify(MOD_PATH.replace("mod.ts", "src/settings/env_file.ts"))
    };
      import { lockEnvFile } from ${
      JSON.stringify(MOD_PATH.replace("mod.ts", "src/settings/env_file.ts"))
    };
      ${COUNT}`;
    const times = 25;
    let writing = true;
    const writers = ["A", "B", "C"].map((key) =>
      runScript(script, { cwd: folder, flags: ["-A"], args: [path, key, String(times)] })
    );
    const all = Promise.all(writers).finally(() => writing = false);
    let seen = 0;
    while (writing) {
      const total = Number(readEnvFile(path).values.get("TOTAL"));
      assert(total >= seen, `${total} after ${seen}`);
      seen = total;
      await WORLD.sleep(1);
    }
    for (const { code, stderr } of await all) assertEquals([code, stderr], [0, ""]);
    assertEquals(
      await Deno.readTextFile(path).then((text) => text.split("\n").sort()),
      ["", `A=${times}`, `B=${times}`, `C=${times}`, `TOTAL=${3 * times}`],
    );
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(names, [".env", ".env.lock"]);
  });
});

Deno.test("lockEnvFile() lets one in at a time, in one process too, and gives up when told", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    const { lock: first } = await lockEnvFile(path, 0, WORLD);
    assertEquals(first.state, "held");
    const { lock: second } = await lockEnvFile(path, 0, WORLD);
    assertEquals(second.state, "busy");
    second.release();
    first.release();
    const { lock: third } = await lockEnvFile(path, 0, WORLD);
    assertEquals(third.state, "held");
    third.release();
    const { lock: nowhere } = await lockEnvFile(`${folder}/nowhere/.env`, 0, WORLD);
    assertEquals(nowhere.state, "impossible");
  });
});

Deno.test("a lock ends with the process that held it, however that ends", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    const script = `
      import { lockEnvFile } from ${
      JSON.stringify(MOD_PATH.replace("mod.ts", "src/settings/env_file.ts"))
    };
      const world = { monotonic: () => 0, sleep: () => Promise.resolve() };
      const { lock } = await lockEnvFile(${JSON.stringify(path)}, 0, world);
      console.log(lock.state === "held");
      Deno.kill(Deno.pid, "SIGKILL");`;
    const { stdout } = await runScript(script, { cwd: folder, flags: ["-A"] });
    assertEquals(stdout, "true\n");
    const { lock } = await lockEnvFile(path, 0, WORLD);
    assertEquals(lock.state, "held");
    lock.release();
  });
});

Deno.test("of two processes that make the lock file at the same moment one has the lock", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    const { lstatSync } = Deno;
    const locks = [];
    try {
      // Each looks before the other has made it.
      Deno.lstatSync = (looked) => {
        if (`${looked}`.endsWith(".lock")) throw new Deno.errors.NotFound();
        return lstatSync(looked);
      };
      for (let count = 0; count < 2; count++) locks.push((await lockEnvFile(path, 0, WORLD)).lock);
    } finally {
      Deno.lstatSync = lstatSync;
    }
    assertEquals(locks.map(({ state }) => state), ["held", "busy"]);
    for (const lock of locks) lock.release();
  });
});

subject(NOT_ON_WINDOWS, "owners and links of a lock file", (test) => {
  test({
    ...needing(ROOT_ONLY, "a lock file that root makes belongs to the owner of the .env"),
  }, async () => {
    await inFolder(async (folder) => {
      const path = `${folder}/.env`;
      await Deno.writeTextFile(path, "A=1\n");
      await Deno.chown(path, 12_345, 23_456);
      // A lock file that root left earlier is given back, too.
      for (const left of [false, true]) {
        if (left) await Deno.chown(`${path}.lock`, 0, 0);
        const { lock } = await lockEnvFile(path, 0, WORLD);
        assertEquals(lock.state, "held");
        lock.release();
        const { uid, gid, mode } = Deno.statSync(`${path}.lock`);
        assertEquals([uid, gid, (mode ?? 0) & 0o777], [12_345, 23_456, 0o600]);
      }
    });
  });

  test({
    ...needing(noFreezing, "a lock file that cannot be opened is told from a folder without locks"),
  }, async () => {
    await inFolder(async (folder) => {
      const path = `${folder}/.env`;
      await Deno.writeTextFile(`${path}.lock`, "");
      const reason = async () => {
        const { lock } = await lockEnvFile(path, 0, WORLD);
        lock.release();
        return lock.state;
      };
      await frozen(`${path}.lock`, async () => assertEquals(await reason(), "denied"));
      assertEquals(await reason(), "held");
      await Deno.remove(`${path}.lock`);
      await frozen(folder, async () => assertEquals(await reason(), "impossible"));
    });
  });

  test({
    name: "a link in the place of the lock file is not followed",
  }, async () => {
    await inFolder(async (folder) => {
      const path = `${folder}/.env`;
      await Deno.symlink("planted", `${path}.lock`);
      const { lock } = await lockEnvFile(path, 0, WORLD);
      assertEquals(lock.state, "denied");
      assertEquals(namesIn(folder), [".env.lock"]);
    });
  });
});

const UUID = "0b7a2c1e-5d3f-4a6b-8c9d-0e1f2a3b4c5d";
/** Files beside a `.env`, most of them old, and whether they are leftovers of ours. */
const beside: Record<string, "ours" | "fresh" | "foreign"> = {
  [`.env.${UUID}.tmp`]: "ours",
  [`.env.${UUID.replace("0", "f")}.tmp`]: "fresh",
  [`.env.${UUID}.tmp.txt`]: "foreign",
  [`.env.${UUID}x.tmp`]: "foreign",
  [`.env.backup.tmp`]: "foreign",
  [`.env2.${UUID}.tmp`]: "foreign",
  [`x.env.${UUID}.tmp`]: "foreign",
  [`.env.example`]: "foreign",
};

function leaveBehind(folder: string): void {
  const old = new Date(Date.now() - 25 * 60 * 60 * 1_000);
  const fresh = new Date(Date.now() - 23 * 60 * 60 * 1_000);
  for (const [name, kind] of Object.entries({ ...beside, ".env.tmp": "ours" })) {
    Deno.writeTextFileSync(`${folder}/${name}`, "ACCESS_TOKEN=left-behind\n");
    const time = kind === "fresh" ? fresh : old;
    Deno.utimeSync(`${folder}/${name}`, time, time);
  }
}

const kept = Object.keys(beside).filter((name) => beside[name] !== "ours");

Deno.test("whoever takes the lock removes what killed processes left, and nothing else", async () => {
  await inFolder(async (folder) => {
    leaveBehind(folder);
    // The holder of the lock knows that nobody is writing this one now.
    await Deno.writeTextFile(`${folder}/.env.tmp`, "ACCESS_TOKEN=left-behind\n");
    (await lockEnvFile(`${folder}/.env`, 0, WORLD)).lock.release();
    assertEquals(namesIn(folder), [...kept, ".env.lock"].sort());
  });
});

Deno.test("a save without the lock removes what killed processes left, and nothing else", async () => {
  await inFolder(async (folder) => {
    leaveBehind(folder);
    await updateEnvFile(`${folder}/.env`, new Map([["ACCESS_TOKEN", "new"]]), false);
    assertEquals(namesIn(folder), [...kept, ".env"].sort());
    // Another process may hold the lock and be writing this one now.
    await Deno.writeTextFile(`${folder}/.env.tmp`, "ACCESS_TOKEN=half");
    await updateEnvFile(`${folder}/.env`, new Map([["ACCESS_TOKEN", "newer"]]), false);
    assertEquals(namesIn(folder), [...kept, ".env", ".env.tmp"].sort());
  });
});

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}
