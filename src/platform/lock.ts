import { backoffMs } from "./backoff.ts";
import type { World } from "./world.ts";
import { lookAt } from "./look.ts";
import { giveTo } from "./replace_file.ts";

/** A lock, or why there is none. */
export interface FileLock {
  /**
   * - `held`: this process has it until `release()`.
   * - `busy`: another process has it.
   * - `denied`: a lock file is there that this user cannot open: another user made it.
   * - `impossible`: there can be none here: the folder is read-only, or the file system knows no locks.
   */
  readonly state: "held" | "busy" | "denied" | "impossible";
  /** Frees the lock, if it is held. */
  release(): void;
}

const FIRST_POLL_MS = 4;
const LONGEST_POLL_MS = 16;

/** The world as a lock needs it. */
export type LockWorld = Pick<World, "monotonic" | "sleep"> & Partial<Pick<World, "random">>;

/**
 * Takes the lock that processes share which change the same file. It is the operating system's lock on
 * a file beside that file. The lock file is never deleted; the lock ends with the process that holds
 * it, however that ends.
 *
 * @param target The file, behind any links.
 * @param owner The file as it is: a new lock file gets its owner.
 * @param waitMs How long to wait for another holder, in milliseconds.
 * @param signal Ends the wait; its reason is thrown.
 */
export async function lockBeside(
  target: string,
  owner: Deno.FileInfo | undefined,
  waitMs: number,
  world: LockWorld,
  signal?: AbortSignal,
): Promise<FileLock> {
  const { monotonic, random = Math.random } = world;
  const started = monotonic();
  const path = `${target}.lock`;
  let file: Deno.FsFile | undefined;
  try {
    const opened = file = open(path, owner);
    // Polled, because a pending `lock()` cannot be cancelled. Synchronous calls, because they are faster.
    for (let attempt = 1; !opened.tryLockSync(true); attempt++) {
      if (monotonic() - started >= waitMs) {
        opened.close();
        return notHeld("busy");
      }
      await world.sleep(backoffMs(attempt, FIRST_POLL_MS, random, LONGEST_POLL_MS), signal);
      signal?.throwIfAborted();
    }
    // Closing the only handle frees the lock.
    return { state: "held", release: () => opened.close() };
  } catch (error) {
    file?.close();
    signal?.throwIfAborted();
    const isDenied = error instanceof Deno.errors.PermissionDenied &&
      lookAt(path, Deno.lstatSync) !== undefined;
    return notHeld(isDenied ? "denied" : "impossible");
  }
}

/** Opens the lock file, or makes it. Of what is no file, such as a link, it refuses to. */
function open(path: string, owner: Deno.FileInfo | undefined): Deno.FsFile {
  const there = lookAt(path, Deno.lstatSync);
  if (there && !there.isFile) throw new Deno.errors.PermissionDenied(`${path} is no file`);
  if (there) {
    const opened = Deno.openSync(path, { read: true, write: true });
    if (owner) giveTo(owner, path, there);
    return opened;
  }
  try {
    const made = Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 });
    if (owner) giveTo(owner, path, made.statSync());
    return made;
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    // Another process made it just now.
    return Deno.openSync(path, { read: true, write: true });
  }
}

function notHeld(state: FileLock["state"]): FileLock {
  return { state, release() {} };
}
