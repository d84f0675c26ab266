import { nodeModule } from "./environment.ts";
import { folderOf } from "./paths.ts";

/** What a temporary file adds to the name of the file: always the same, or a random part. */
const TEMPORARY = /^(\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?\.tmp$/;

/** A file that nobody wrote to for longer was left by a killed process. */
const ABANDONED_MS = 24 * 60 * 60 * 1_000;

/** How a file is replaced. */
export interface Replacement {
  /** The file as it is: the new one gets its owner. `undefined`: there is none yet. */
  readonly info: Deno.FileInfo | undefined;
  /** Whether the caller holds the lock. */
  readonly locked: boolean;
  /** Asked last: `false` leaves the file as it is. */
  isWanted(): boolean;
}

/**
 * Replaces the text of a file atomically: whoever reads it, also after a crash, sees the old or the
 * new text, whole.
 *
 * @returns Whether it was replaced.
 */
export async function replaceFile(
  path: string,
  text: string,
  { info, locked, isWanted }: Replacement,
): Promise<boolean> {
  if (!locked) removeAbandoned(path, TEMPORARY);
  // The lock allows a fixed name, so that the next holder of it finds and removes what a crash left.
  const temporary = locked ? `${path}.tmp` : `${path}.${crypto.randomUUID()}.tmp`;
  if (locked) remove(temporary);
  try {
    {
      using file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      // Only waiting for the disk is asynchronous: the other calls are faster synchronous.
      await file.sync();
      if (info) giveTo(info, temporary, file.statSync());
    }
    if (!await renameOver(temporary, path, isWanted)) {
      remove(temporary);
      return false;
    }
  } catch (error) {
    remove(temporary);
    throw error;
  }
  await syncFolder(folderOf(path));
  return true;
}

/**
 * Tries of a rename that meets a program which has the file open, and the pause between: one second.
 * The pause is short, as a program that reads again and again leaves short gaps.
 */
const RENAME_ATTEMPTS = 101;
const RENAME_PAUSE_MS = 10;

/** What a rename needs of the system; replaced in tests only. */
export interface RenameSystem {
  readonly windows: boolean;
  rename(from: string, to: string): void;
  sleep(ms: number): Promise<void>;
}

const SYSTEM: RenameSystem = {
  windows: Deno.build.os === "windows",
  rename: Deno.renameSync,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * Renames a file over another. Windows refuses while another program has that one open, as editors,
 * virus scanners and backups do for a moment: there it is tried again.
 *
 * @param isWanted Asked before each try; `false` leaves both files as they are.
 * @returns Whether it was renamed.
 */
export async function renameOver(
  from: string,
  to: string,
  isWanted: () => boolean,
  system: RenameSystem = SYSTEM,
): Promise<boolean> {
  for (let attempt = 1;; attempt++) {
    try {
      if (!isWanted()) return false;
      system.rename(from, to);
      return true;
    } catch (error) {
      if (!isInUse(error, system.windows) || attempt === RENAME_ATTEMPTS) throw error;
      await system.sleep(RENAME_PAUSE_MS);
    }
  }
}

/**
 * Whether Windows may have refused because another program has the file open: "access denied", or a
 * sharing violation. It says the same of a file that is marked as read-only.
 */
export function isInUse(error: unknown, windows: boolean = SYSTEM.windows): boolean {
  return windows && error instanceof Error && /\(os error (5|32|33)\)/.test(error.message);
}

/**
 * Gives a file that this process made to the owner of the file that it replaces or stands beside, so
 * that what root writes for a user stays theirs. Only root may do that, and Windows has no such owners:
 * elsewhere nothing happens.
 */
export function giveTo(owner: Deno.FileInfo, path: string, made: Deno.FileInfo): void {
  const { uid, gid } = owner;
  if (uid === null || gid === null || (uid === made.uid && gid === made.gid)) return;
  try {
    // Unlike `Deno.chownSync` this follows no link that somebody put there in the meantime.
    nodeModule("node:fs").lchownSync(path, uid, gid);
  } catch {
    // not permitted
  }
}

/** Removes the temporary files that killed processes left beside a file; for the holder of its lock. */
export function removeLeftovers(path: string): void {
  remove(`${path}.tmp`);
  removeAbandoned(path, TEMPORARY);
}

/**
 * Removes the files beside a file that are too old to be in use: killed processes left them, and they
 * hold what the file holds.
 *
 * @param ending What they add to the name of the file.
 * @param isFree Asked of each: whether it may go.
 * @param list The names in a folder.
 */
export function removeAbandoned(
  path: string,
  ending: RegExp,
  isFree: (path: string, info: Deno.FileInfo) => boolean = () => true,
  list: (folder: string) => readonly string[] = namesIn,
): void {
  for (const found of filesBeside(path, ending, list)) {
    try {
      const info = Deno.lstatSync(found);
      const age = info.mtime ? Date.now() - info.mtime.getTime() : 0;
      if (info.isFile && age > ABANDONED_MS && isFree(found, info)) Deno.removeSync(found);
    } catch {
      // Another process removed it just now, or this user may not.
    }
  }
}

/**
 * The paths of the files beside a file that were made for it.
 *
 * @param ending What they add to the name of the file.
 * @param list The names in a folder.
 */
export function filesBeside(
  path: string,
  ending: RegExp,
  list: (folder: string) => readonly string[],
): string[] {
  const folder = folderOf(path);
  const name = path.slice(folder.length);
  return list(folder)
    .filter((found) => found.startsWith(name) && ending.test(found.slice(name.length)))
    .map((found) => folder + found);
}

/** The names in a folder; none if it cannot be listed. */
export function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Removes a file, if it is there and may be removed. */
export function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It is not there, or it must stay.
  }
}

/** Makes the rename last through a power cut, on the systems where a folder can be opened. */
async function syncFolder(folder: string): Promise<void> {
  try {
    using handle = Deno.openSync(folder, { read: true });
    await handle.sync();
  } catch {
    // Windows opens no folders; the file itself is on disk.
  }
}
