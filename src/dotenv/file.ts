import { folderOf, workingFolder } from "../runtime/file_paths.ts";
import { ConfigError } from "../values/errors.ts";
import { parseEnvText } from "./parser.ts";
import { mayRead, realPath, regularFile } from "./regular_file.ts";
import { editEnvText } from "./text.ts";

// In this folder: the `.env` as a file that belongs to the user. It is found, locked, read, and
// edited in place. Imports only from `runtime/` and `values/`.

/** What a `.env` held when it was read. */
export interface EnvSnapshot {
  readonly exists: boolean;
  readonly values: ReadonlyMap<string, string>;
  /** Why it could not be read, with the way out. */
  readonly problem?: ConfigError;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** How often an edit is repeated because an editor saved the file meanwhile. */
const MAX_ROUNDS = 5;

/** A file as it was when its edit began. */
interface Current {
  readonly text: string;
  readonly info: Deno.FileInfo | undefined;
}

/** Reads a `.env`. A file that is not there is empty; one that cannot be read is a `problem`, not a throw. */
export function readEnvFile(path: string): EnvSnapshot {
  if (!mayRead(path)) {
    return {
      exists: false,
      values: NOTHING,
      problem: new ConfigError(
        "PERMISSION",
        `Cannot read ${path}: the permission is missing; run with --allow-read=${flagPath(path)}`,
      ),
    };
  }
  try {
    const { text, info } = readCurrent(path);
    return { exists: info !== undefined, values: parseEnvText(text) };
  } catch (error) {
    return { exists: true, values: NOTHING, problem: asConfigError("read", path, error) };
  }
}

/**
 * Sets or removes keys in a `.env`, atomically: a reader sees the old or the new file, whole, and so
 * does a reader after a crash. The file is 0600 afterwards.
 *
 * @param locked Whether the caller holds the lock. Without it the temporary file has a name of its own.
 * @param accept Is given what the file holds right before it is replaced, if there is one; `false` leaves it as it is.
 * @returns The permission bits the file had before, if it was there.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written; it is then as it was.
 */
export async function updateEnvFile(
  path: string,
  changes: ReadonlyMap<string, string | undefined>,
  locked: boolean,
  accept?: (values: ReadonlyMap<string, string>) => boolean,
): Promise<number | undefined> {
  const missing = missingWritePermission(path);
  if (missing) throw missing;
  try {
    regularFile(path);
    const target = realPath(path);
    for (let round = 1;; round++) {
      const current = readCurrent(target);
      const { text, info } = current;
      const mode = info?.mode ?? undefined;
      if (info !== undefined && accept?.(parseEnvText(text)) === false) return mode;
      const edited = editEnvText(text, changes);
      if (edited === undefined) {
        throw new ConfigError(
          "ENV_FILE",
          `Cannot write ${path}: no edit of it reads back as wanted; check its quotes, or move it away`,
        );
      }
      if (edited === text) {
        if (mode !== undefined && grantsOthers(mode)) Deno.chmodSync(target, 0o600);
        return mode;
      }
      if (await replaceFile(target, edited, current, locked, round === MAX_ROUNDS)) return mode;
    }
  } catch (error) {
    throw asConfigError("write", path, error);
  }
}

/** Whether others than the owner may read or write a file with these permission bits. */
export function grantsOthers(mode: number): boolean {
  return (mode & 0o077) !== 0;
}

/** The error for a file that may not be written without a permission prompt. */
export function missingWritePermission(path: string): ConfigError | undefined {
  return missingIn(folderOf(path), path) ?? missingIn(folderBehind(path), path);
}

function missingIn(folder: string, path: string): ConfigError | undefined {
  for (const name of ["read", "write"] as const) {
    if (Deno.permissions.querySync({ name, path: folder }).state !== "granted") {
      return new ConfigError(
        "PERMISSION",
        `Cannot keep the session in ${path}: the permission is missing; run with --allow-${name}=${
          flagPath(folder)
        }, or set envFile: false (AUTH_ENV_FILE=false) to keep it in memory only`,
      );
    }
  }
  return undefined;
}

/** The folder in which a file is written: where it is a link, another one than its own. */
function folderBehind(path: string): string {
  try {
    return folderOf(realPath(path));
  } catch {
    return folderOf(path);
  }
}

function readCurrent(path: string): Current {
  const info = regularFile(path);
  if (info === undefined) return { text: "", info };
  try {
    return { text: decode(path, Deno.readFileSync(path)), info };
  } catch (error) {
    // Removed after it was looked at.
    if (error instanceof Deno.errors.NotFound) return { text: "", info: undefined };
    throw error;
  }
}

/** Whether the text is in place; it is not if an editor, which knows no lock, saved another one meanwhile. */
async function replaceFile(
  path: string,
  text: string,
  current: Current,
  locked: boolean,
  whatever: boolean,
): Promise<boolean> {
  // Under the lock the name is fixed, so that what a crash leaves is overwritten by the next save.
  const temporary = locked ? `${path}.tmp` : `${path}.${crypto.randomUUID()}.tmp`;
  try {
    if (locked) remove(temporary);
    // Only what waits for the disk leaves this thread: that takes longer than the rest of the way.
    {
      using file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      await file.sync();
    }
    keepOwner(temporary, current.info);
    if (!whatever && readCurrent(path).text !== current.text) {
      remove(temporary);
      return false;
    }
    Deno.renameSync(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
  await syncFolder(folderOf(path));
  return true;
}

/** A file that root writes for somebody stays theirs. */
function keepOwner(path: string, info: Deno.FileInfo | undefined): void {
  if (info === undefined) return;
  try {
    Deno.chownSync(path, info.uid, info.gid);
  } catch {
    // Only root may give a file away, and Windows knows no such owners.
  }
}

/** Takes away what a crash left beside the file; for the holder of the lock. */
export function removeLeftover(path: string): void {
  remove(`${realPath(path)}.tmp`);
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // not there
  }
}

/** Makes the rename last through a power cut, on the systems where a folder can be opened. */
async function syncFolder(folder: string): Promise<void> {
  try {
    using handle = Deno.openSync(folder, { read: true });
    await handle.sync();
  } catch {
    // Windows has no such thing; the file itself is on disk.
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ConfigError(
      "ENV_FILE",
      `Cannot use ${path}: it is not UTF-8 text; save it as UTF-8 in an editor`,
    );
  }
}

function asConfigError(verb: string, path: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error;
  const next = "check the path and its owner, or name another file in AUTH_ENV_FILE";
  return new ConfigError("ENV_FILE", `Cannot ${verb} ${path}: ${reason(error)}; ${next}`);
}

function reason(error: unknown): string {
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder";
  if (error instanceof Deno.errors.PermissionDenied) return "the system denies the access";
  if (error instanceof Deno.errors.NotFound) return "its folder is not there";
  // The system's own words, such as "No space left on device (os error 28)".
  const words = error instanceof Error ? error.message : String(error);
  return /^[^:]+\(os error \d+\)/.exec(words)?.[0] ?? "the system refuses it";
}

function flagPath(path: string): string {
  const here = workingFolder();
  return here !== undefined && path.startsWith(here) ? "." : path;
}
