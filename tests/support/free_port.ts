/**
 * Returns the first of this many consecutive free ports, for programs that cannot choose a port and
 * for refused connections. The ports are below those that the system assigns by itself (from 32768 on
 * Linux, from 49152 elsewhere), so no parallel test takes one that is free for a moment.
 */
export function freePort(count = 1): number {
  for (let attempt = 0; attempt < 100; attempt++) {
    // The start depends on a port that the system chooses. Math.random() would not do: the seed is the
    // same in all test files that run side by side.
    const first = 12_000 + portOfTheSystem() % 20_000;
    const listeners: Deno.Listener[] = [];
    try {
      for (let port = first; port < first + count; port++) {
        listeners.push(Deno.listen({ hostname: "127.0.0.1", port }));
      }
      return first;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    } finally {
      for (const listener of listeners) listener.close();
    }
  }
  throw new Error(`no ${count} free ports in a row`);
}

function portOfTheSystem(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
