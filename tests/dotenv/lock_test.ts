import { assert, assertEquals } from "@std/assert";
import { readEnvFile } from "../../src/dotenv/file.ts";
import { lockBeside } from "../../src/dotenv/lock.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

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
    const lock = await lockBeside(path, 30_000, world);
    if (!lock.held) throw new Error(lock.reason);
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
      JSON.stringify(MOD_PATH.replace("mod.ts", "src/dotenv/file.ts"))
    };
      import { lockBeside } from ${
      JSON.stringify(MOD_PATH.replace("mod.ts", "src/dotenv/lock.ts"))
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

Deno.test("lockBeside() lets one in at a time, in one process too, and gives up when told", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    const first = await lockBeside(path, 0, WORLD);
    assertEquals(first.held, true);
    const second = await lockBeside(path, 0, WORLD);
    assertEquals([second.held, !second.held && second.reason], [false, "busy"]);
    second.release();
    first.release();
    const third = await lockBeside(path, 0, WORLD);
    assertEquals(third.held, true);
    third.release();
    const nowhere = await lockBeside(`${folder}/nowhere/.env`, 0, WORLD);
    assertEquals([nowhere.held, !nowhere.held && nowhere.reason], [false, "impossible"]);
  });
});

Deno.test("a lock ends with the process that held it, however that ends", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    const script = `
      import { lockBeside } from ${
      JSON.stringify(MOD_PATH.replace("mod.ts", "src/dotenv/lock.ts"))
    };
      const world = { monotonic: () => 0, sleep: () => Promise.resolve() };
      const lock = await lockBeside(${JSON.stringify(path)}, 0, world);
      console.log(lock.held);
      Deno.kill(Deno.pid, "SIGKILL");`;
    const { stdout } = await runScript(script, { cwd: folder, flags: ["-A"] });
    assertEquals(stdout, "true\n");
    const lock = await lockBeside(path, 0, WORLD);
    assertEquals(lock.held, true);
    lock.release();
  });
});
