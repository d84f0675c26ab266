import { assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { signedIn } from "../support/portless.ts";

Deno.test("fetchJson() and downloads leave no listener on an abort signal, even after retries", async () => {
  const { addEventListener, removeEventListener } = AbortSignal.prototype;
  const listeners = new Set<unknown>();
  type Arguments = Parameters<typeof removeEventListener>;
  AbortSignal.prototype.addEventListener = function (...given: Arguments) {
    listeners.add(given[1]);
    addEventListener.apply(this, given);
  };
  AbortSignal.prototype.removeEventListener = function (...given: Arguments) {
    listeners.delete(given[1]);
    removeEventListener.apply(this, given);
  };
  // Each call is retried once.
  await using world = await signedIn({
    api: (_, count) => count % 2 === 1 ? new Response("", { status: 503 }) : Response.json(1),
  });
  const { session: { fetchJson, download, downloadAll } } = world;
  const { signal } = new AbortController();
  try {
    await inFolder(async (folder) => {
      await fetchJson("/v1/x", { signal });
      await download("/v1/x", `${folder}/x`, { signal });
      await downloadAll([["/v1/y", `${folder}/y`]], { signal });
    });
  } finally {
    Object.assign(AbortSignal.prototype, { addEventListener, removeEventListener });
  }
  assertEquals([listeners.size, world.called.length], [0, 6]);
});
