import { missingWritePermission } from "./file.ts";
import { realPath, regularFile } from "./regular_file.ts";
import type { World } from "../runtime/world.ts";

/** A lock held, or why there is none. */
export type FileLock =
  | { readonly held: true; release(): void }
  | { readonly held: false; readonly reason: "busy" | "impossible"; release(): void };

const FIRST_POLL_MS = 2;
const LONGEST_POLL_MS = 10;

/**
 * Takes the lock that processes on the same `.env` share: the operating system's lock on a file
 * beside it, which is never deleted, so that a killed holder frees it. Waiting is polling, because
 * a pending `lock()` cannot be given up.
 *
 * @param waitMs How long to wait for another holder.
 * @param signal Ends the wait; its reason is thrown.
 */
export async function lockBeside(
  path: string,
  waitMs: number,
  world: Pick<World, "monotonic" | "sleep">,
  signal?: AbortSignal,
): Promise<FileLock> {
  const started = world.monotonic();
  const none = { held: false, reason: "impossible", release() {} } as const;
  if (missingWritePermission(path)) return none;
  let file: Deno.FsFile | undefined;
  try {
    regularFile(path);
    // None of this waits for a disk or for others: a thread of its own would take longer.
    file = Deno.openSync(`${realPath(path)}.lock`, {
      read: true,
      write: true,
      create: true,
      mode: 0o600,
    });
    const held = file;
    for (let poll = FIRST_POLL_MS; !held.tryLockSync(true); poll *= 1.5) {
      if (world.monotonic() - started >= waitMs) {
        held.close();
        return { held: false, reason: "busy", release() {} };
      }
      await world.sleep(Math.min(poll, LONGEST_POLL_MS) * (0.5 + Math.random()), signal);
      signal?.throwIfAborted();
    }
    // Closing the only handle frees the lock.
    return { held: true, release: () => held.close() };
  } catch {
    // A read-only folder, or a file system without locks.
    file?.close();
    signal?.throwIfAborted();
    return none;
  }
}
