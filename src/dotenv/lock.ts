import type { World } from "../runtime/world.ts";
import { missingWritePermission } from "./file.ts";
import { lookAt, realPath } from "../files/look.ts";
import { regularFile } from "./location.ts";
import { giveTo, removeLeftovers } from "../files/replace_file.ts";

/**
 * A lock held, or why there is none:
 *
 * - `busy`: another process holds it.
 * - `denied`: a lock file is there, and this user cannot open it: another user made it.
 * - `impossible`: there can be none here. The folder is read-only, the file system knows no locks, the
 *   permission is missing, or the `.env` is no regular file.
 */
export type FileLock =
  | { readonly held: true; release(): void }
  | {
    readonly held: false;
    readonly reason: "busy" | "denied" | "impossible";
    release(): void;
  };

const FIRST_POLL_MS = 2;
const LONGEST_POLL_MS = 10;

/**
 * Takes the lock that processes on the same `.env` share, and removes what a killed holder left. It
 * is the operating system's lock on a file beside the `.env`. That file is never deleted; the lock
 * ends with the process that holds it, however that ends.
 *
 * Without the lock a save is still atomic, and an edit that an editor or another process saved before
 * it is kept. What does not hold: each process refreshes on its own, and of two saves at the same
 * moment the later one can undo the earlier one, also a logout.
 *
 * @param waitMs How long to wait for another holder, in milliseconds.
 * @param signal Ends the wait; its reason is thrown.
 */
export async function lockBeside(
  path: string,
  waitMs: number,
  world: Pick<World, "monotonic" | "sleep">,
  signal?: AbortSignal,
): Promise<FileLock> {
  const started = world.monotonic();
  if (missingWritePermission(path)) return notHeld("impossible");
  let lockPath: string | undefined;
  let file: Deno.FsFile | undefined;
  try {
    const owner = regularFile(path);
    const target = realPath(path);
    lockPath = `${target}.lock`;
    const opened = file = open(lockPath);
    if (owner) giveTo(owner, lockPath, opened.statSync());
    // Polled, because a pending `lock()` cannot be cancelled. Synchronous calls, because they are faster.
    for (let poll = FIRST_POLL_MS; !opened.tryLockSync(true); poll *= 1.5) {
      if (world.monotonic() - started >= waitMs) {
        opened.close();
        return notHeld("busy");
      }
      await world.sleep(Math.min(poll, LONGEST_POLL_MS) * (0.5 + Math.random()), signal);
      signal?.throwIfAborted();
    }
    removeLeftovers(target);
    // Closing the only handle frees the lock.
    return { held: true, release: () => opened.close() };
  } catch (error) {
    file?.close();
    signal?.throwIfAborted();
    const isThere = lockPath !== undefined && lookAt(lockPath, Deno.lstatSync) !== undefined;
    const isDenied = isThere && error instanceof Deno.errors.PermissionDenied;
    return notHeld(isDenied ? "denied" : "impossible");
  }
}

/** Opens the lock file, or makes it. Of what is no file, such as a link, it refuses to. */
function open(path: string): Deno.FsFile {
  const there = lookAt(path, Deno.lstatSync);
  if (there && !there.isFile) throw new Deno.errors.PermissionDenied(`${path} is no file`);
  try {
    return Deno.openSync(path, { read: true, write: true, createNew: !there, mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    // Another process made it just now.
    return Deno.openSync(path, { read: true, write: true });
  }
}

function notHeld(reason: "busy" | "denied" | "impossible"): FileLock {
  return { held: false, reason, release() {} };
}
