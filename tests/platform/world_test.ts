import { assertEquals } from "@std/assert";
import { worldOf } from "../../src/platform/world.ts";

const HOUR_MS = 3_600_000;

Deno.test("a pause in real time ends immediately when its signal aborts", async () => {
  const { sleep } = worldOf({});
  await sleep(1);
  await sleep(HOUR_MS, AbortSignal.abort());
  const controller = new AbortController();
  const pause = sleep(HOUR_MS, controller.signal);
  controller.abort();
  assertEquals(await pause, undefined, "without an error");
});
