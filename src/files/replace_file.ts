/**
 * Replaces the text of a file atomically: every reader, even after a crash, sees either the old or
 * the new text. The new file is private (0600).
 *
 * @param locked Whether the caller holds the lock of the file. If so, the temporary file has a
 * fixed name: after a crash, the next holder of the lock finds and removes the temporary file.
 * @param isWanted Called just before the replacement. If it returns `false`, the file is left
 * unchanged.
 * @returns Whether the file was replaced. It was not if `isWanted` returned `false`, or if another
 * process removed the temporary file.
 */
export async function replaceFile(
  path: string,
  text: string,
  locked: boolean,
  isWanted: () => boolean,
): Promise<boolean> {
  const temporary = locked ? `${path}.tmp` : `${path}.${crypto.randomUUID()}.tmp`;
  if (locked) remove(temporary);
  let isWritten = false;
  try {
    {
      using file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      // Waiting for the disk takes long, so only this call is asynchronous. The other file
      // operations are faster as synchronous calls.
      await file.sync();
      isWritten = true;
    }
    if (!await renameOver(temporary, path, isWanted)) {
      remove(temporary);
      return false;
    }
  } catch (error) {
    remove(temporary);
    // Another process removed the temporary file, as if a killed process had left it behind.
    if (!locked && isWritten && error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  return true;
}

/**
 * Maximum number of attempts to rename a file that another program has open, and the pause between
 * two attempts. All attempts together take one second. The pause is short, because a program that
 * reads the file in a loop closes the file only briefly.
 */
const RENAME_ATTEMPTS = 101;
const RENAME_PAUSE_MS = 10;

/**
 * Renames a file so that it replaces another one. Windows refuses to replace a file that an editor
 * or a virus scanner has open. This function then tries again.
 *
 * @param isWanted Called before each attempt. If it returns `false`, both files are left unchanged.
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
