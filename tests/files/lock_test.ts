import { assertEquals } from "@std/assert";
import { lockBeside } from "../../src/files/lock.ts";
import { inFolder } from "../support/child_deno.ts";

Deno.test("a released lock is free at once, even while another thread starts programs", async () => {
  const starting = `for (;;) {
    await new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).output();
    postMessage("started");
  }`;
  const url = `data:application/javascript,${encodeURIComponent(starting)}`;
  const worker = new Worker(url, { type: "module" });
  const world = { monotonic: () => 0, sleep: () => Promise.resolve() };
  let programs = 0;
  worker.onmessage = () => programs++;
  try {
    await inFolder(async (folder) => {
      while (programs < 20) {
        const lock = await lockBeside(`${folder}/.env`, 0, world);
        assertEquals(lock.state, "held");
        await new Promise((resolve) => setTimeout(resolve, 0));
        lock.release();
      }
    });
  } finally {
    worker.terminate();
  }
});
