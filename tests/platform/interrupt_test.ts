import { assertEquals } from "@std/assert";
import { inFolder, runScript } from "../support/child_deno.ts";
import { NO_SIGNALS, testNeeding } from "../support/needs.ts";

const INTERRUPT = JSON.stringify(
  new URL("../../src/platform/interrupt.ts", import.meta.url).href,
);

/** Runs calls in a process that looks like a kernel, and counts the listeners that keep Stop from ending it. */
const SCRIPT = `
  const { addSignalListener, removeSignalListener } = Deno;
  const listeners = new Set();
  const kernel = Object.assign(Object.create(Deno, { jupyter: { value: { display() {} } } }), {
    addSignalListener(signal, listener) {
      listeners.add(listener);
      addSignalListener(signal, listener);
    },
    removeSignalListener(signal, listener) {
      listeners.delete(listener);
      removeSignalListener(signal, listener);
    },
  });
  Object.defineProperty(globalThis, "Deno", { value: kernel });
  const timers = [];
  globalThis.setTimeout = (end, ms) => timers.push({ end, ms });
  const { cancellable } = await import(${INTERRUPT});
  const done = await cancellable("login()", undefined, () => Promise.resolve("done"));
  console.log(done, listeners.size);
  const call = cancellable("login()", undefined, () => new Promise(() => {}));
  Deno.kill(Deno.pid, "SIGINT");
  const { code, fix } = await call.catch((error) => error);
  console.log(code, fix, listeners.size, timers.map(({ ms }) => ms).join());
  for (const { end } of timers) end();
  console.log(listeners.size);`;

testNeeding(
  NO_SIGNALS,
  "Stop ends a call, and pressing it again within a second does not end the kernel",
  () =>
    inFolder(async (cwd) => {
      const { stdout, stderr } = await runScript(SCRIPT, { cwd, flags: ["-A"] });
      assertEquals([stdout, stderr], ["done 0\nINTERRUPTED run the cell again 1 1000\n0\n", ""]);
    }),
);
