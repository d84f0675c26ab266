import { assert, assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { signedIn } from "../support/portless.ts";

Deno.test("no call leaves a listener on its signal, which may serve many calls", () =>
  inFolder(async (folder) => {
    await using world = await signedIn({ api: () => Response.json({}) });
    const { session } = world;
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    let added = 0;
    signal.addEventListener = (_: string, listener: unknown) => {
      listeners.add(listener);
      added++;
    };
    signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
    await session.login({ force: true, signal });
    await session.refresh({ signal });
    await session.fetchJson("/v1/x", { signal });
    await session.download("/v1/x", `${folder}/x`, { signal });
    await session.downloadAll([["/v1/x", `${folder}/y`]], { signal });
    await session.doctor({ signal });
    await session.logout({ signal });
    // Listeners are removed when their work ends, which may be just after the call.
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(listeners.size, 0);
    assert(added > 0);
  }));
