import { folderOf, workingFolder } from "../platform/paths.ts";
import { ConfigError, missingPermission } from "../errors/errors.ts";
import { type FileLock, lockBeside, type LockWorld } from "../platform/lock.ts";
import { mayRead, realPath } from "../platform/look.ts";
import { isInUse, removeLeftovers, replaceFile } from "../platform/replace_file.ts";
import { regularFile } from "./env_location.ts";
import { parseEnvText } from "./env_parser.ts";
import { editEnvText } from "./env_text.ts";

/** What a `.env` held when it was read. */
export interface EnvSnapshot {
  readonly exists: boolean;
  readonly values: ReadonlyMap<string, string>;
  /** The whole text; `undefined`: it could not be read. */
  readonly text?: string;
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

/**
 * Reads a `.env`. A missing file counts as empty. A file that cannot be read is a `problem`; nothing is
 * thrown.
 */
export function readEnvFile(path: string): EnvSnapshot {
  if (!mayRead(path)) {
    return {
      exists: false,
      values: NOTHING,
      problem: missingPermission(`read ${path}`, { flags: `--allow-read=${flagPath(path)}` }),
    };
  }
  try {
    const { text, info } = readCurrent(path);
    return { exists: info !== undefined, values: parseEnvText(text), text };
  } catch (error) {
    return { exists: true, values: NOTHING, problem: asConfigError("read", path, error) };
  }
}

/** A `.env` that may be written, judged once before anything of it is opened. */
export interface EnvFile {
  /** As it was named. */
  readonly path: string;
  /** The file behind any links. */
  readonly target: string;
  /** The file as it is; `undefined`: there is none yet. */
  readonly info: Deno.FileInfo | undefined;
}

/**
 * Judges a `.env` that is to be written: the permissions, whether it is a regular file, and where it is.
 *
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written.
 */
function writableEnvFile(path: string): EnvFile {
  const missing = missingWritePermission(path);
  if (missing) throw missing;
  try {
    return { path, info: regularFile(path), target: realPath(path) };
  } catch (error) {
    throw asConfigError("write", path, error);
  }
}

/**
 * Takes the lock that processes on the same `.env` share, and removes what a killed holder left.
 *
 * Without the lock a save is still atomic, and an edit that an editor or another process saved before
 * it is kept. What does not hold: each process refreshes on its own, and of two saves at the same
 * moment the later one can undo the earlier one, also a logout.
 *
 * @param waitMs How long to wait for another holder, in milliseconds.
 * @param signal Ends the wait; its reason is thrown.
 * @returns The file, or why it cannot be written: then there is no lock either.
 */
export async function lockEnvFile(
  path: string,
  waitMs: number,
  world: LockWorld,
  signal?: AbortSignal,
): Promise<{ readonly file: EnvFile | ConfigError; readonly lock: FileLock }> {
  let file: EnvFile;
  try {
    file = writableEnvFile(path);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { file: error, lock: { state: "impossible", release() {} } };
  }
  const lock = await lockBeside(file.target, file.info, waitMs, world, signal);
  if (lock.state === "held") removeLeftovers(file.target);
  return { file, lock };
}

/**
 * Sets or removes (`undefined`) keys in a `.env`, atomically: whoever reads it, also after a crash,
 * sees the old or the new file, whole. The file is 0600 afterwards.
 *
 * @param file The path, or the file that was judged already.
 * @param locked Whether the caller holds the lock. Without it the temporary file has a name of its own.
 * @param accept Is given what the file holds right before it is replaced, if there is one; `false`
 *   leaves it as it is.
 * @param template What a file that is empty or not there yet begins with.
 * @returns The permission bits that the file had before; `undefined` if there was none.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written. It is then unchanged.
 */
export async function updateEnvFile(
  file: EnvFile | string,
  changes: ReadonlyMap<string, string | undefined>,
  locked: boolean,
  accept?: (values: ReadonlyMap<string, string>) => boolean,
  template = "",
): Promise<number | undefined> {
  const { path, target } = typeof file === "string" ? writableEnvFile(file) : file;
  try {
    for (let round = 1;; round++) {
      const { text, info } = readCurrent(target);
      const mode = info?.mode ?? undefined;
      if (info !== undefined && accept?.(parseEnvText(text)) === false) return mode;
      const edited = editEnvText(text === "" ? template : text, changes);
      if (edited === undefined) {
        throw new ConfigError(
          "ENV_FILE",
          `Cannot write ${path}: no edit of it reads back as wanted`,
          "check its quotes, or move it away",
        );
      }
      if (edited === text) {
        if (grantsOthers(mode)) Deno.chmodSync(target, 0o600);
        return mode;
      }
      // An editor knows no lock: what it saved meanwhile is edited anew, not overwritten.
      const isWanted = () => round === MAX_ROUNDS || readCurrent(target).text === text;
      if (await replaceFile(target, edited, { info, locked, isWanted })) return mode;
    }
  } catch (error) {
    throw asConfigError("write", path, error);
  }
}

/**
 * Whether others than the owner may read or write a file with these permission bits. On Windows the
 * bits are made up: there they tell nothing.
 */
export function grantsOthers(mode: number | null | undefined): boolean {
  return Deno.build.os !== "windows" && ((mode ?? 0) & 0o077) !== 0;
}

/** The folders that must be readable and writable for a file: where it is a link, two. */
export function foldersOf(path: string): string[] {
  const folder = folderOf(path);
  return mayRead(folder) ? [...new Set([folder, folderBehind(path)])] : [folder];
}

/**
 * The error that tells which permission is missing to write a file; `undefined` if none is.
 *
 * @param command The command that grants all permissions. Default: the first missing flag is named.
 */
export function missingWritePermission(
  path: string,
  command?: () => string,
): ConfigError | undefined {
  const isGranted = (name: "read" | "write", folder: string) =>
    Deno.permissions.querySync({ name, path: folder }).state === "granted";
  const missing = (name: "read" | "write", folder: string) => {
    const run = command ? { command: command() } : { flags: `--allow-${name}=${flagPath(folder)}` };
    const otherwise = "set envFile: false (AUTH_ENV_FILE=false) to keep it in memory only";
    return missingPermission(`keep the session in ${path}`, { ...run, otherwise });
  };
  const folder = folderOf(path);
  // The system is not asked where a link leads if that needs a permission prompt.
  if (!isGranted("read", folder)) return missing("read", folder);
  const behind = folderBehind(path);
  if (behind !== folder && !isGranted("read", behind)) return missing("read", behind);
  for (const each of new Set([folder, behind])) {
    if (!isGranted("write", each)) return missing("write", each);
  }
  return undefined;
}

/** The folder that a file is written in: where the file is a link, not the folder of the link. */
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

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ConfigError(
      "ENV_FILE",
      `Cannot use ${path}: it is not UTF-8 text`,
      "save it as UTF-8 in an editor",
    );
  }
}

function asConfigError(verb: string, path: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error;
  const next = isInUse(error)
    ? "close it there, or allow writing to it"
    : error instanceof Deno.errors.NotFound
    ? "make that folder, or name another file"
    : "check the path and its owner, or name another file in AUTH_ENV_FILE";
  return new ConfigError("ENV_FILE", `Cannot ${verb} ${path}: ${reason(error)}`, next, error);
}

function reason(error: unknown): string {
  if (isInUse(error)) {
    return "the system denies the access: another program has it open, or it is read-only";
  }
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
