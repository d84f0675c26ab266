import { backoffMs } from "./backoff.ts";
import type { World } from "./world.ts";

/** A lock, or why there is none. */
export interface FileLock {
  /**
   * - `held`: this process has it until `release()`.
   * - `busy`: another process has it.
   * - `none`: the lock file cannot be opened, or the file system has no locks.
   */
  readonly state: "held" | "busy" | "none";
  /** Releases the lock, if it is held. */
  release(): void;
}

const FIRST_POLL_MS = 4;
const LONGEST_POLL_MS = 16;

/** The world as a lock needs it. */
export type LockWorld = Pick<World, "monotonic" | "sleep"> & Partial<Pick<World, "random">>;

/**
 * Takes the operating system's lock on a file next to the target, which all processes use that change
 * the target. The lock file is never deleted; the lock ends with the process that holds it.
 *
 * @param target The file, behind any links.
 * @param waitMs How long to wait for another holder, in milliseconds.
 * @param signal Ends the wait; its reason is thrown.
 */
export async function lockBeside(
  target: string,
  waitMs: number,
  world: LockWorld,
  signal?: AbortSignal,
): Promise<FileLock> {
  const { monotonic, random = Math.random } = world;
  const started = monotonic();
  let file: Deno.FsFile | undefined;
  try {
    const opened = file = Deno.openSync(`${target}.lock`, {
      read: true,
      write: true,
      create: true,
      mode: 0o600,
    });
    // Polled, because a pending `lock()` cannot be cancelled. Synchronous calls, because they are faster.
    for (let attempt = 1; !opened.tryLockSync(true); attempt++) {
      if (monotonic() - started >= waitMs) {
        opened.close();
        return notHeld("busy");
      }
      await world.sleep(backoffMs(attempt, FIRST_POLL_MS, random, LONGEST_POLL_MS), signal);
      signal?.throwIfAborted();
    }
    // Closing the only handle releases the lock.
    return { state: "held", release: () => opened.close() };
  } catch {
    file?.close();
    signal?.throwIfAborted();
    return notHeld("none");
  }
}

function notHeld(state: FileLock["state"]): FileLock {
  return { state, release() {} };
}
