/**
 * Replaces the text of a file atomically: every reader, even after a crash, sees the old or the new
 * text as a whole. The new file is private (0600).
 *
 * @param locked Whether the caller holds the lock. It allows a temporary file with a fixed name, so that
 *   the next holder finds and removes what a crash left.
 * @param isWanted Asked last; `false` leaves the file as it is.
 * @returns Whether it was replaced.
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
      // Only waiting for the disk is asynchronous: the other calls are faster synchronous.
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
 * Attempts to rename while another program has the file open, and the pause between them: one second in
 * all. The pause is short, because a program that reads in a loop leaves short gaps.
 */
const RENAME_ATTEMPTS = 101;
const RENAME_PAUSE_MS = 10;

/**
 * Renames a file over another. Windows refuses while another program has that one open, as editors,
 * virus scanners and backups do for a moment, so it is tried again there.
 *
 * @param isWanted Asked before each try; `false` leaves both files as they are.
 * @returns Whether it was renamed.
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
 * Whether Windows may have refused because another program has the file open: "access denied", or a
 * sharing violation. It says the same of a file that is marked as read-only. Other systems use these
 * numbers for errors that a rename does not have.
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
    // It does not exist, or this user must not remove it.
  }
}
