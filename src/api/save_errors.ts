/** Explains why a file cannot be saved, and what to do about it. */
import { AuthError, ConfigError, throwIfBug } from "../errors/errors.ts";
import { causeOf, systemWords } from "../errors/cause.ts";
import type { Fix } from "../errors/advice.ts";
import { missingFolderPermission } from "../files/file_info.ts";
import { MOUNTED } from "../settings/env_file.ts";

/** Makes the error for a file that cannot be saved. */
function cannotSave(path: string, why: string, fix: Fix, cause?: unknown): ConfigError {
  return new ConfigError("FILE", `Cannot save ${path}: ${why}`, fix, cause);
}

export function fileExists(path: string): ConfigError {
  return new ConfigError("FILE_EXISTS", `Cannot save ${path}: it already exists`, [
    { inProgram: 'pass ifExists: "replace"', inTerminal: "use --if-exists replace" },
    ", or choose another file",
  ]);
}

export function isFolder(path: string): ConfigError {
  return cannotSave(path, "it is a folder", "choose a file");
}

export function notAFile(path: string): ConfigError {
  return cannotSave(path, "it is not a regular file", [
    {
      inProgram: "read the response with authFetch()",
      inTerminal: "use --output - and redirect the output to it",
    },
    ", or choose another file",
  ]);
}

const DISK_FULL = /^(ENOSPC|EDQUOT|os error (28|112|122))\b/;

/** Disk errors that need a fix of their own. The patterns match codes, not translated texts. */
const DISK_ERRORS: readonly [sign: RegExp, problem: string, fix: string][] = [
  [DISK_FULL, "the disk is full", "free some space and run the download again"],
  [/^(ENOENT|ENOTDIR|EEXIST) /, "its folder does not exist", "choose another folder"],
  // On Windows, EBUSY means that another program has the file open, and the number is not 16.
  [/^EBUSY .*\(os error 16\)/, MOUNTED.reason, `${MOUNTED.fix}, or choose another file`],
];

/**
 * Explains a disk error. Returns any other error unchanged.
 * @throws The error itself, if a bug caused it.
 */
function saveError(path: string, error: unknown): unknown {
  throwIfBug(error);
  if (error instanceof AuthError || error instanceof DOMException) return error;
  if (error instanceof Deno.errors.NotCapable) {
    return missingFolderPermission(`save ${path}`, path);
  }
  const text = `${causeOf(error)?.code} ${error instanceof Error ? error.message : ""}`;
  const [, problem, fix] = DISK_ERRORS.find(([sign]) => sign.test(text)) ??
    ["", systemWords(error) ?? "the file system refused to write it", "choose another file"];
  return cannotSave(path, problem, fix, error);
}

/** Runs work that uses the disk, and explains its errors. */
export async function onDisk<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw saveError(path, error);
  }
}

export function isDiskFull(error: Error): boolean {
  return error instanceof ConfigError && DISK_FULL.test(error.cause?.code ?? "");
}
