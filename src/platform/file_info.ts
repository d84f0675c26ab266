import { filePath, fileUrl, folderOf } from "./paths.ts";

/** What is known of a file; `undefined` if there is none, or it cannot be looked at. */
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
 * The path of the file behind any symbolic links, even if the last one leads to no file yet, so that a
 * write keeps the links.
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
    const isAbsolute = /^([\\/]|[A-Za-z]:)/.test(target);
    const folder = isAbsolute ? "" : `${Deno.realPathSync(folderOf(path))}/`;
    return filePath(fileUrl(folder + target));
  } catch {
    return undefined;
  }
}

/** The result of a system call; `undefined` if the file does not exist. */
export function unlessMissing<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
