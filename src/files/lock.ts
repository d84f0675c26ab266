import { throwIfBug } from "../errors/errors.ts";
import { backoffMs } from "../platform/backoff.ts";
import type { World } from "../platform/world.ts";

/** A lock, or the reason why this process does not hold it. */
export interface FileLock {
  /**
   * - `held`: this process has the lock until `release()`.
   * - `busy`: another process has the lock.
   * - `none`: the lock file cannot be opened, or the file system has no locks.
   */
  readonly state: "held" | "busy" | "none";
  /** Releases the lock. Does nothing if the lock is not held. */
  release(): void;
}

const FIRST_POLL_MS = 4;
const LONGEST_POLL_MS = 16;

/** The parts of the world that a lock needs. */
export type LockWorld = Pick<World, "monotonic" | "sleep"> & Partial<Pick<World, "random" | "log">>;

/**
 * Takes the operating system's lock on a lock file next to the target. All processes that change
 * the target use this lock file, which is never deleted. When the process that holds the lock ends,
 * the operating system releases the lock.
 *
 * @param target The file, with links resolved.
 * @param waitMs Maximum time to wait while another process holds the lock, in milliseconds.
 * @param signal Ends the wait. The signal's reason is then thrown.
 * @param mayCreate Whether to create the lock file.
 */
export async function lockBeside(
  target: string,
  waitMs: number,
  world: LockWorld,
  signal?: AbortSignal,
  mayCreate = true,
): Promise<FileLock> {
  const { log, monotonic, random = Math.random } = world;
  const started = monotonic();
  const logWait = (isHeld: boolean) =>
    log?.({ event: "lock", waitedMs: Math.round(monotonic() - started), isHeld });
  let file: Deno.FsFile | undefined;
  try {
    const opened = file = Deno.openSync(`${target}.lock`, {
      read: true,
      write: true,
      create: mayCreate,
      mode: 0o600,
    });
    // A pending `lock()` cannot be canceled, so the lock is polled. The calls are synchronous,
    // because that is faster.
    let attempt = 1;
    for (; !opened.tryLockSync(true); attempt++) {
      if (monotonic() - started >= waitMs) {
        opened.close();
        logWait(false);
        return notHeld("busy");
      }
      await world.sleep(backoffMs(attempt, FIRST_POLL_MS, random, LONGEST_POLL_MS), signal);
      signal?.throwIfAborted();
    }
    if (attempt > 1) logWait(true);
    return { state: "held", release: () => closeLocked(opened) };
  } catch (error) {
    file?.close();
    signal?.throwIfAborted();
    throwIfBug(error);
    return notHeld("none");
  }
}

/**
 * Releases the lock of a file and closes the file. Closing alone might not release the lock: a
 * program that another thread is starting has a copy of the handle for a moment.
 */
export function closeLocked(file: Deno.FsFile): void {
  try {
    file.unlockSync();
  } catch (error) {
    // Some file systems have no locks.
    throwIfBug(error);
  }
  file.close();
}

function notHeld(state: FileLock["state"]): FileLock {
  return { state, release() {} };
}
