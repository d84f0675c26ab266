import { type ConfigError, missingPermission, throwIfBug } from "../errors/errors.ts";
import { remove } from "./replace_file.ts";
import { filePath, fileUrl, folderOf, isAbsolute, shortPath } from "./paths.ts";

/**
 * Returns information about a file; `undefined` if the file does not exist or is not accessible.
 */
export function infoAt(
  path: string,
  stat: (path: string) => Deno.FileInfo = Deno.statSync,
): Deno.FileInfo | undefined {
  try {
    return stat(path);
  } catch {
    return undefined;
  }
}

/** Whether a path can be read without a permission prompt. */
export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
}

/**
 * Resolves symbolic links, so that a caller that replaces the file keeps the links. The last link
 * may point to a file that does not exist yet.
 */
export function realPath(path: string): string {
  const real = unlessMissing(() => Deno.realPathSync(path));
  if (real !== undefined) return real;
  const target = linkTarget(path);
  return target === undefined ? path : realPath(target);
}

function linkTarget(path: string): string | undefined {
  try {
    const target = Deno.readLinkSync(path);
    const folder = isAbsolute(target) ? "" : `${Deno.realPathSync(folderOf(path))}/`;
    return filePath(fileUrl(folder + target));
  } catch (error) {
    throwIfBug(error);
    return undefined;
  }
}

/**
 * Whether a file from another disk is mounted over a file of this folder. No file can replace such
 * a file, and the system refuses to link it into the folder. The disks are compared first, because a
 * link changes the file's ctime.
 *
 * @param link An unused path in the folder, where a link may be created for a moment.
 * @param disk Information about a file that was created in the folder.
 */
export function isMounted(path: string, link: string, disk: Deno.FileInfo): boolean {
  if (infoAt(path)?.dev === disk.dev) return false;
  try {
    Deno.linkSync(path, link);
  } catch (error) {
    throwIfBug(error);
    return error instanceof Error && /\(os error 18\)/.test(error.message);
  }
  remove(link);
  return false;
}

/** Makes a system call. Returns `undefined` if the file does not exist. */
export function unlessMissing<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Resolves symbolic links as `realPath()` does. Returns the path itself if that is not possible. */
export function resolvedPath(path: string): string {
  try {
    return realPath(path);
  } catch {
    return path;
  }
}

/**
 * Lists the folders that Deno must be allowed to read and write to use a file: the file's own, then
 * those behind links.
 */
export function foldersOf(path: string): string[] {
  const folder = folderOf(path);
  const real = [`${resolvedPath(folder)}/`, resolvedPath(path)].map(folderOf);
  return [...new Set([folder, ...real])];
}

/** Makes the error for a file that cannot be used because a Deno permission is missing. */
export function missingFolderPermission(
  action: string,
  path: string,
  names: readonly ("read" | "write")[] = ["read", "write"],
): ConfigError {
  const folders = foldersOf(path).map(shortPath);
  const flags = names.flatMap((name) => {
    const missing = folders.filter((path) =>
      Deno.permissions.querySync({ name, path }).state !== "granted"
    );
    return missing.length === 0 ? [] : [`--allow-${name}=${missing.join()}`];
  });
  // Deno opens some folders of the system only if everything is allowed.
  const flag = flags.join(" ") || "--allow-all";
  return missingPermission(action, flag);
}
