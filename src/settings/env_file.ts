import { systemWords } from "../errors/cause.ts";
import { ConfigError, throwIfBug } from "../errors/errors.ts";
import { type FileLock, lockBeside, type LockWorld } from "../files/lock.ts";
import {
  foldersOf,
  mayRead,
  missingFolderPermission,
  realPath,
  unlessMissing,
} from "../files/file_info.ts";
import { folderOf } from "../files/paths.ts";
import { isInUse, remove, replaceFile } from "../files/replace_file.ts";
import { parseEnvText } from "./env_parser.ts";
import { editEnvText } from "./env_text.ts";
import { utf8Text, whyUnreadable } from "./text_file.ts";

/** The content of a `.env` at the time of reading. */
export interface EnvSnapshot {
  readonly exists: boolean;
  readonly values: ReadonlyMap<string, string>;
  /** The whole text; `undefined` if the file could not be read. */
  readonly text?: string;
  readonly mode?: number | undefined;
  readonly problem?: ConfigError;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/**
 * Whether an editor is writing the file, which is empty in the meantime. The content that was read
 * before stays valid. This module itself never saves an empty file.
 */
export function isBeingWritten({ exists, text }: EnvSnapshot): boolean {
  return exists && text === "";
}

/**
 * Reads a `.env`. A missing file counts as empty. If the file cannot be read, the result has a
 * `problem`; no error is thrown.
 */
export function readEnvFile(path: string): EnvSnapshot {
  try {
    return readCurrent(path);
  } catch (error) {
    const problem = asConfigError("read", path, error);
    return { exists: problem.code !== "PERMISSION", values: NOTHING, problem };
  }
}

/** A `.env` to be written. */
export interface EnvFile {
  /** The path as the user wrote it. */
  readonly path: string;
  /** The file that the path finally links to; `undefined` if it is not known yet. */
  readonly target?: string;
}

/** Time to wait for an editor to fill an empty file. An editor on a busy machine is slow. */
const EDITOR_MS = 1_000;
const EDITOR_STEP_MS = 20;

/** Reads a `.env` before an edit. If an editor is writing the file, first waits a moment. */
export async function readSettledEnvFile(path: string): Promise<EnvSnapshot> {
  let now = readEnvFile(path);
  for (let ms = 0; isBeingWritten(now) && ms < EDITOR_MS; ms += EDITOR_STEP_MS) {
    await new Promise((resolve) => setTimeout(resolve, EDITOR_STEP_MS));
    now = readEnvFile(path);
  }
  return now;
}

/**
 * Returns the file to which a path finally links.
 * @throws If the file evidently cannot be written: `ENV_FILE`, or the system's error.
 */
function targetOf(path: string): string {
  regularFile(path);
  return realPath(path);
}

/**
 * Removes the temporary files with random names that killed processes left behind, because they
 * contain tokens. If it removes the file of a save in progress, that save makes another one. Reads
 * the whole folder, which takes long if the folder contains many files.
 *
 * @param file The result of `lockEnvFile()`.
 */
export function removeLeftOvers({ target }: EnvFile): void {
  if (target === undefined) return;
  const folder = folderOf(target);
  if (!mayRead(folder)) return;
  try {
    for (const { name } of Deno.readDirSync(folder)) {
      const path = folder + name;
      const isLeft = path.startsWith(target) &&
        /^\.[\da-f-]{36}\.tmp$/.test(path.slice(target.length));
      if (isLeft) remove(path);
    }
  } catch (error) {
    throwIfBug(error);
  }
}

/**
 * Takes the lock that all processes with the same `.env` share, and removes the temporary file that
 * a killed process left behind.
 *
 * Without the lock, a save is still atomic and keeps earlier changes by an editor or another
 * process. However, each process then refreshes separately, and the later of two simultaneous saves
 * can undo the earlier save, even if the earlier save was a logout.
 *
 * @param waitMs Maximum time to wait for another holder, in milliseconds.
 * @param signal Ends the wait. The reason of the signal is thrown.
 * @param mayCreate Whether a missing lock file may be created. If not, there may be no lock.
 * @returns The file and the lock. A file that cannot be written has no lock.
 */
export async function lockEnvFile(
  path: string,
  waitMs: number,
  world: LockWorld,
  signal?: AbortSignal,
  mayCreate = true,
): Promise<{ readonly file: EnvFile; readonly lock: FileLock }> {
  let target: string;
  try {
    target = targetOf(path);
  } catch (error) {
    throwIfBug(error);
    return { file: { path }, lock: { state: "none", release() {} } };
  }
  const lock = await lockBeside(target, waitMs, world, signal, mayCreate);
  if (lock.state === "held") remove(`${target}.tmp`);
  return { file: { path, target }, lock };
}

interface UpdateOptions {
  readonly before?: EnvSnapshot;
  readonly accept?: (values: ReadonlyMap<string, string>) => boolean;
}

/**
 * Sets or removes (`undefined`) keys in a `.env` atomically: every reader, even after a crash, sees
 * either the old or the new file. Afterwards, the file has the mode 0600, if its disk has modes.
 *
 * @param file The result of `lockEnvFile()`.
 * @param locked Whether the caller holds the lock. Without the lock, the temporary file has a
 * random name.
 * @param options.before The content that the caller read last. Default: the file is read first.
 * @param options.accept Receives the values that an editor or another process has saved since;
 * returns `false` to leave the file unchanged.
 * @returns The previous permission bits of the file; `undefined` if the file did not exist.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if the file cannot be written. The file is then
 * unchanged.
 */
export async function updateEnvFile(
  { path, target }: EnvFile,
  changes: ReadonlyMap<string, string | undefined>,
  locked: boolean,
  { before, accept }: UpdateOptions = {},
): Promise<number | undefined> {
  try {
    const real = target ?? targetOf(path);
    let known = before === undefined || before.problem ? readCurrent(real) : before;
    let mustSave = false;
    while (true) {
      const { text = "", mode } = known;
      const edited = editEnvText(text, changes);
      if (typeof edited !== "string") {
        throw new ConfigError("ENV_FILE", `Cannot write ${path}: ${edited.problem}`, edited.fix);
      }
      if (edited === text) {
        if (grantsOthers(mode)) makePrivate(real);
        return mode;
      }
      // A line break is saved instead of nothing, because an empty file looks to readers as if an
      // editor were writing it.
      const next = edited === "" ? "\n" : edited;
      // An editor does not take the lock. If an editor saved the file in the meantime, the new text
      // is edited instead of overwritten.
      const isWanted = () => mustSave || readCurrent(real).text === text;
      if (await replaceFile(real, next, locked, isWanted)) return mode;
      const now = await readSettledEnvFile(real);
      if (now.problem) throw now.problem;
      mustSave = isBeingWritten(now);
      // If the file stays empty, the earlier text is saved.
      if (isBeingWritten(now)) continue;
      if (now.exists && accept?.(now.values) === false) return now.mode;
      known = now;
    }
  } catch (error) {
    throw asConfigError("write", path, error);
  }
}

/** The notice about a file that other users can read because its disk cannot make it private. */
export function openFile(path: string): { readonly problem: string; readonly fix: string } {
  return {
    problem:
      `other users of this computer can read ${path}, because its disk cannot make files private`,
    fix: "set AUTH_ENV_FILE (envFile) to a file on another disk",
  };
}

/** Makes a file private (mode 0600). Does nothing on a disk without modes. */
function makePrivate(path: string): void {
  try {
    Deno.chmodSync(path, 0o600);
  } catch (error) {
    throwIfBug(error);
  }
}

/**
 * Whether permission bits let other users read or write the file. On Windows the bits have no
 * meaning.
 */
export function grantsOthers(mode: number | null | undefined): boolean {
  return Deno.build.os !== "windows" && ((mode ?? 0) & 0o077) !== 0;
}

/**
 * Returns the error for a missing permission to write a file; `undefined` if Deno grants it. Deno
 * may prompt at this point, so that no password is sent for a session that cannot be saved.
 */
export function missingFilePermission(path: string): ConfigError | undefined {
  const folder = foldersOf(path).at(-1) ?? path;
  const { state } = Deno.permissions.requestSync({ name: "write", path: folder });
  if (state === "granted") return undefined;
  return missingFolderPermission(`keep the session in ${path}`, path, ["write"]);
}

/**
 * Checks the type of a `.env` before it is opened or replaced: a save would replace a device with a
 * file.
 *
 * @returns The file that the path finally links to; `undefined` if it does not exist.
 * @throws {ConfigError} `ENV_FILE` if the file is not a regular file or is too large.
 */
function regularFile(path: string): Deno.FileInfo | undefined {
  const info = unlessMissing(() => Deno.statSync(path));
  const why = info && whyUnreadable(info);
  if (why !== undefined) throw unusable(path, why);
  return info;
}

function unusable(path: string, why: string): ConfigError {
  const fix = "set AUTH_ENV_FILE (envFile) to another file";
  return new ConfigError("ENV_FILE", `Cannot use ${path}: ${why}`, fix);
}

function readCurrent(path: string): EnvSnapshot {
  const info = regularFile(path);
  // The file may be removed after the check.
  const bytes = info && unlessMissing(() => Deno.readFileSync(path));
  if (bytes === undefined) return { exists: false, values: NOTHING, text: "" };
  const text = utf8Text(bytes);
  if (text === undefined) {
    throw new ConfigError(
      "ENV_FILE",
      `Cannot use ${path}: it is not UTF-8 text`,
      "save it as UTF-8 in an editor",
    );
  }
  return { exists: true, values: parseEnvText(text), text, mode: info?.mode ?? undefined };
}

function asConfigError(verb: "read" | "write", path: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error;
  throwIfBug(error);
  if (error instanceof Deno.errors.NotCapable) {
    const names = verb === "read" ? ["read"] as const : undefined;
    return missingFolderPermission(`${verb} ${path}`, path, names);
  }
  const { reason, fix } = systemFault(error);
  return new ConfigError("ENV_FILE", `Cannot ${verb} ${path}: ${reason}`, fix, error);
}

/** Why a file that a container mounts as a single file cannot be saved, and what to do. */
export const MOUNTED = {
  reason: "it is mounted as a single file, which cannot be replaced",
  fix: "mount its folder instead of the file",
} as const;

function systemFault(error: unknown): { readonly reason: string; readonly fix: string } {
  if (systemWords(error)?.endsWith("(os error 16)")) return MOUNTED;
  if (isInUse(error)) {
    return {
      reason:
        "the system denies access: another program has the file open, or the file is read-only",
      fix: "close the file in that program, or make it writable",
    };
  }
  return {
    reason: systemWords(error) ?? "the system refused it",
    fix: "check the path, its folder and its owner, or set AUTH_ENV_FILE to another file",
  };
}
