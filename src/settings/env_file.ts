import { ConfigError, missingPermission } from "../errors/errors.ts";
import { type FileLock, lockBeside, type LockWorld } from "../platform/lock.ts";
import { realPath, unlessMissing } from "../platform/file_info.ts";
import { folderOf, shortPath } from "../platform/paths.ts";
import { isInUse, remove, replaceFile } from "../platform/replace_file.ts";
import { parseEnvText } from "./env_parser.ts";
import { editEnvText } from "./env_text.ts";

/** The content of a `.env` when it was read. */
export interface EnvSnapshot {
  readonly exists: boolean;
  readonly values: ReadonlyMap<string, string>;
  /** The whole text; `undefined`: it could not be read. */
  readonly text?: string;
  readonly mode?: number | undefined;
  readonly problem?: ConfigError;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** Repetitions of an edit, each because an editor saved the file in the meantime. */
const MAX_ROUNDS = 5;

/** Reads a `.env`. A missing file is empty. A file that cannot be read is a `problem`, not an exception. */
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
  /** As it was named. */
  readonly path: string;
  /** The file behind any links; `undefined`: not known yet. */
  readonly target?: string;
}

/** @throws If it cannot be written, as far as a look at it tells. */
function targetOf(path: string): string {
  regularFile(path);
  return realPath(path);
}

/**
 * Takes the lock that processes on the same `.env` share, and removes what a killed holder left.
 *
 * Without the lock a save is still atomic, and keeps what an editor or another process saved before it.
 * But each process refreshes on its own, and of two saves at the same moment the later one can undo the
 * earlier one, even a logout.
 *
 * @param waitMs How long to wait for another holder, in milliseconds.
 * @param signal Ends the wait; its reason is thrown.
 * @returns The file and the lock. There is none for a file that cannot be written.
 */
export async function lockEnvFile(
  path: string,
  waitMs: number,
  world: LockWorld,
  signal?: AbortSignal,
): Promise<{ readonly file: EnvFile; readonly lock: FileLock }> {
  let target: string;
  try {
    target = targetOf(path);
  } catch {
    return { file: { path }, lock: { state: "none", release() {} } };
  }
  const lock = await lockBeside(target, waitMs, world, signal);
  if (lock.state === "held") remove(`${target}.tmp`);
  return { file: { path, target }, lock };
}

interface UpdateOptions {
  readonly before?: EnvSnapshot;
  readonly accept?: (values: ReadonlyMap<string, string>) => boolean;
  readonly template?: string;
}

/**
 * Sets or removes (`undefined`) keys in a `.env` atomically: every reader, even after a crash, sees the
 * old or the new file as a whole. The file is 0600 afterwards.
 *
 * @param file The result of `lockEnvFile()`.
 * @param locked Whether the caller holds the lock. Without it the temporary file has a random name.
 * @param options.before What the caller read last. Default: the file is read first.
 * @param options.accept Receives the values that an editor or another process saved since then; `false`
 *   leaves the file as it is.
 * @param options.template The text of a new or empty file before the edit.
 * @returns The permission bits that the file had before; `undefined` if there was none.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written. It is then unchanged.
 */
export async function updateEnvFile(
  { path, target }: EnvFile,
  changes: ReadonlyMap<string, string | undefined>,
  locked: boolean,
  { before, accept, template = "" }: UpdateOptions = {},
): Promise<number | undefined> {
  try {
    const real = target ?? targetOf(path);
    let now = before === undefined || before.problem ? readCurrent(real) : before;
    for (let round = 1;; round++) {
      const { text = "", mode } = now;
      const edited = editEnvText(text === "" ? template : text, changes);
      if (typeof edited !== "string") {
        throw new ConfigError("ENV_FILE", `Cannot write ${path}: ${edited.problem}`, edited.fix);
      }
      if (edited === text) {
        if (grantsOthers(mode)) Deno.chmodSync(real, 0o600);
        return mode;
      }
      // An editor does not take the lock: what it saved meanwhile is edited again, not overwritten.
      const isWanted = () => round === MAX_ROUNDS || (now = readCurrent(real)).text === text;
      if (await replaceFile(real, edited, locked, isWanted)) return mode;
      if (now.exists && accept?.(now.values) === false) return now.mode;
    }
  } catch (error) {
    throw asConfigError("write", path, error);
  }
}

/**
 * Whether permission bits let other users read or write the file. On Windows the bits have no meaning.
 */
export function grantsOthers(mode: number | null | undefined): boolean {
  return Deno.build.os !== "windows" && ((mode ?? 0) & 0o077) !== 0;
}

/** The folders that must be readable and writable for a file: two if it is a link to another one. */
export function foldersOf(path: string): string[] {
  const folder = folderOf(path);
  try {
    return [...new Set([folder, folderOf(realPath(path))])];
  } catch {
    return [folder];
  }
}

/**
 * The error for a missing permission to read or write a file; `undefined` if Deno grants both. Deno may
 * prompt, so that a password is not sent for a session that cannot be saved.
 *
 * @param command The command that grants all permissions. Default: the flag for writing is named.
 * @param isReadable Whether the permission to read the file was granted.
 */
export function missingFilePermission(
  path: string,
  command?: () => string,
  isReadable = true,
): ConfigError | undefined {
  const folder = foldersOf(path).at(-1) ?? path;
  const { state } = Deno.permissions.requestSync({ name: "write", path: folder });
  if (isReadable && state === "granted") return undefined;
  const run = command ? `run: ${command()}` : `run with --allow-write=${shortPath(folder)}`;
  const otherwise = "or set envFile: false (AUTH_ENV_FILE=false) to keep it in memory only";
  return missingPermission(`keep the session in ${path}`, `${run}; ${otherwise}`);
}

/** Size limit of a `.env` in bytes. Each start reads the whole file; no person writes such a long one. */
const MAX_BYTES = 1_048_576;

/**
 * Looks at a `.env` before it is opened: opening a pipe can block forever, and a save would replace a
 * device by a file.
 *
 * @returns The file behind any links; `undefined` if it does not exist.
 * @throws {ConfigError} `ENV_FILE` if it is not a regular file, or too large.
 */
function regularFile(path: string): Deno.FileInfo | undefined {
  const info = unlessMissing(() => Deno.statSync(path));
  if (info === undefined) return undefined;
  if (info.isDirectory) throw unusable(path, "it is a folder");
  if (!info.isFile) throw unusable(path, "it is a device, pipe or socket, not a regular file");
  if (info.size > MAX_BYTES) {
    throw unusable(path, `it is too large: ${info.size} bytes, with a limit of ${MAX_BYTES}`);
  }
  return info;
}

function unusable(path: string, why: string): ConfigError {
  return new ConfigError(
    "ENV_FILE",
    `Cannot use ${path}: ${why}`,
    "name another file in envFile (AUTH_ENV_FILE), or keep the session in memory only with " +
      "envFile: false (AUTH_ENV_FILE=false)",
  );
}

function readCurrent(path: string): EnvSnapshot {
  const info = regularFile(path);
  // It may be removed after the look.
  const bytes = info && unlessMissing(() => Deno.readFileSync(path));
  if (bytes === undefined) return { exists: false, values: NOTHING, text: "" };
  const text = decode(path, bytes);
  return { exists: true, values: parseEnvText(text), text, mode: info?.mode ?? undefined };
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

function asConfigError(verb: "read" | "write", path: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const folder = shortPath(folderOf(path));
    // A write reads the file first.
    const flags = verb === "read"
      ? `--allow-read=${shortPath(path)}`
      : `--allow-read=${folder} --allow-write=${folder}`;
    return missingPermission(`${verb} ${path}`, `run with ${flags}`);
  }
  const { reason, fix } = systemFault(error);
  return new ConfigError("ENV_FILE", `Cannot ${verb} ${path}: ${reason}`, fix, error);
}

function systemFault(error: unknown): { reason: string; fix: string } {
  if (isInUse(error)) {
    return {
      reason: "the system denies access: another program has it open, or it is read-only",
      fix: "close it there, or make it writable",
    };
  }
  if (error instanceof Deno.errors.NotFound) {
    return {
      reason: "its folder does not exist",
      fix: "create that folder, or name another file",
    };
  }
  // The system's own message, such as "No space left on device (os error 28)".
  const words = error instanceof Error ? error.message : String(error);
  const reason = error instanceof Deno.errors.PermissionDenied
    ? "the system denies access"
    : /^[^:]+\(os error \d+\)/.exec(words)?.[0] ?? "the system refused it";
  return { reason, fix: "check the path and its owner, or name another file in AUTH_ENV_FILE" };
}
