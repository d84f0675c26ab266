/** Ports for programs that cannot let the system choose one, and an address at which no one listens. */

/** An address that refuses connections: the system assigns no port below 1024 by itself. */
export const REFUSING = "http://127.0.0.1:2/";

const ATTEMPTS = 5;

/**
 * Starts a program that needs the number of a free port, or of the first of `count` consecutive ones.
 * Another program may take a port just before this one opens it: then starts it again on others.
 */
export async function onFreePort<T>(start: (port: number) => Promise<T>, count = 1): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const port = freePort(count);
    try {
      return await start(port);
    } catch (error) {
      if (attempt === ATTEMPTS || areFree(port, count)) throw error;
    }
  }
}

/**
 * The ports are below those that the system assigns by itself (from 32768 on Linux, from 49152
 * elsewhere), so only a program that asks for this very port takes it.
 */
function freePort(count: number): number {
  for (;;) {
    // The start depends on a port that the system chooses. Math.random() would not do: the seed is the
    // same in all test files that run side by side.
    const first = 12_000 + portOfTheSystem() % 20_000;
    if (areFree(first, count)) return first;
  }
}

function areFree(first: number, count: number): boolean {
  const listeners: Deno.Listener[] = [];
  try {
    for (let port = first; port < first + count; port++) {
      listeners.push(Deno.listen({ hostname: "127.0.0.1", port }));
    }
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return false;
  } finally {
    for (const listener of listeners) listener.close();
  }
}

function portOfTheSystem(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
