/**
 * Replaces the text of a file atomically: every reader, even after a crash, sees either the old or
 * the new text. The new file is private (0600).
 *
 * @param locked Whether the caller holds the lock. If so, the temporary file has a fixed name, so
 * that the next holder finds and removes it after a crash.
 * @param isWanted Called last; `false` leaves the file unchanged.
 * @returns Whether the file was replaced.
 */
export async function replaceFile(
  path: string,
  text: string,
  locked: boolean,
  isWanted: () => boolean,
): Promise<boolean> {
  const temporary = locked ? `${path}.tmp` : `${path}.${crypto.randomUUID()}.tmp`;
  if (locked) remove(temporary);
  try {
    {
      using file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      // Only the wait for the disk is asynchronous. The other calls are faster when synchronous.
      await file.sync();
    }
    if (!await renameOver(temporary, path, isWanted)) {
      remove(temporary);
      return false;
    }
  } catch (error) {
    remove(temporary);
    throw error;
  }
  return true;
}

/**
 * Maximum number of attempts to rename a file that another program has open, and the pause between
 * them. All attempts together take one second. A program that reads in a loop leaves only short
 * gaps, so the pause is short.
 */
const RENAME_ATTEMPTS = 101;
const RENAME_PAUSE_MS = 10;

/**
 * Renames a file so that it replaces another one. Windows refuses to replace a file that a program
 * such as an editor or a virus scanner has open, so this function tries again there.
 *
 * @param isWanted Called before each attempt; `false` leaves both files unchanged.
 * @returns Whether the file was renamed.
 */
export async function renameOver(
  from: string,
  to: string,
  isWanted: () => boolean,
): Promise<boolean> {
  for (let attempt = 1;; attempt++) {
    try {
      if (!isWanted()) return false;
      Deno.renameSync(from, to);
      return true;
    } catch (error) {
      if (!isInUse(error) || attempt === RENAME_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, RENAME_PAUSE_MS));
    }
  }
}

/**
 * Whether Windows may have refused an operation because another program has the file open. The
 * error is then a sharing violation, or "access denied", as for a read-only file. On other systems,
 * a rename never fails with these numbers.
 */
export function isInUse(error: unknown): boolean {
  const isDenied = error instanceof Deno.errors.PermissionDenied;
  return error instanceof Error &&
    (isDenied ? /\(os error 5\)/ : /\(os error 3[23]\)/).test(error.message);
}

/** Removes a file, if possible. */
export function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // The file does not exist, or this user is not allowed to remove it.
  }
}
