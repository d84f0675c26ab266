import { assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { signedIn } from "../support/portless.ts";

/** Counts the listeners on all abort signals while `work` runs. */
async function listenersLeftBy(work: () => Promise<unknown>): Promise<number> {
  const { addEventListener, removeEventListener } = AbortSignal.prototype;
  const listeners = new Set<unknown>();
  AbortSignal.prototype.addEventListener = function (...[type, listener, options]: unknown[]) {
    listeners.add(listener);
    return Reflect.apply(addEventListener, this, [type, listener, options]);
  };
  AbortSignal.prototype.removeEventListener = function (...[type, listener]: unknown[]) {
    listeners.delete(listener);
    return Reflect.apply(removeEventListener, this, [type, listener]);
  };
  try {
    await work();
    return listeners.size;
  } finally {
    Object.assign(AbortSignal.prototype, { addEventListener, removeEventListener });
  }
}

Deno.test("calls that share a signal leave no listener on it, even after retries", async () => {
  // Each call is busy once.
  await using world = await signedIn({
    api: (_, count) => count % 2 === 1 ? new Response("", { status: 503 }) : Response.json(1),
  });
  const { signal } = new AbortController();
  await inFolder(async (folder) => {
    const left = await listenersLeftBy(async () => {
      await world.session.fetchJson("/v1/x", { signal });
      await world.session.download("/v1/x", `${folder}/x`, { signal });
      await world.session.downloadAll([["/v1/y", `${folder}/y`]], { signal });
    });
    assertEquals([left, world.called.length], [0, 6]);
  });
});
