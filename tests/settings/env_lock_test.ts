import { assert, assertEquals } from "@std/assert";
import { lockEnvFile, readEnvFile, updateEnvFile } from "../../src/settings/env_file.ts";
import { inFolder, MOD_PATH, namesIn, runScript } from "../support/child_deno.ts";

const WORLD = {
  monotonic: () => performance.now(),
  sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms)),
};

const ENV_FILE = JSON.stringify(MOD_PATH.replace("mod.ts", "src/settings/env_file.ts"));

const COUNT = `
  import { lockEnvFile, readEnvFile, updateEnvFile } from ${ENV_FILE};
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
    await updateEnvFile({ path }, new Map([next(key), next("TOTAL")]), true);
    lock.release();
  }`;

Deno.test("writers in several processes lose no change, and a reader sees only complete files", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    await Deno.writeTextFile(path, "TOTAL=0\n");
    const times = 25;
    let writing = true;
    const writers = ["A", "B", "C"].map((key) =>
      runScript(COUNT, { cwd: folder, flags: ["-A"], args: [path, key, String(times)] })
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
    const names = namesIn(folder);
    assertEquals(names, [".env", ".env.lock"]);
  });
});

Deno.test("lockEnvFile() admits one caller at a time, even in one process", async () => {
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
  });
});

Deno.test("a released lock is free at once, even while another thread starts programs", async () => {
  const starting = `for (;;) {
    await new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).output();
    postMessage("started");
  }`;
  const url = `data:application/javascript,${encodeURIComponent(starting)}`;
  const worker = new Worker(url, { type: "module" });
  let programs = 0;
  worker.onmessage = () => programs++;
  try {
    await inFolder(async (folder) => {
      while (programs < 20) {
        const { lock } = await lockEnvFile(`${folder}/.env`, 0, WORLD);
        assertEquals(lock.state, "held");
        await new Promise((resolve) => setTimeout(resolve, 0));
        lock.release();
      }
    });
  } finally {
    worker.terminate();
  }
});

Deno.test("a save without the lock keeps the temporary file of the process that holds the lock", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.env.tmp`, "ACCESS_TOKEN=half");
    await updateEnvFile({ path: `${folder}/.env` }, new Map([["ACCESS_TOKEN", "newer"]]), false);
    assertEquals(namesIn(folder), [".env", ".env.tmp"]);
  });
});
