/**
 * General file work, for the `.env` and for downloads: paths (`paths.ts`), what is there before a file
 * is opened (here), atomic replacement (`replace_file.ts`), the lock beside a file (`lock.ts`), and what
 * git does with a file (`git.ts`).
 * May import http, runtime, errors and values.
 */
import { filePath, fileUrl, folderOf } from "./paths.ts";

/** The kernel, too, gives up after so many links. */
const MAX_LINKS = 40;

/** Whether a file, or a link on the way to it, belongs to another user. */
export function isForeign(path: string, info: Deno.FileInfo | undefined): boolean {
  const owner = info?.uid ?? undefined;
  return (owner !== undefined && owner !== ownUid()) || hasForeignLink(path, info);
}

/** Why a file behind such a link is neither read nor written. */
export const FOREIGN_LINK =
  "it is a link that belongs to another user, who can make it lead anywhere";

/**
 * Whether a link on the way to a file belongs to another user than this one, root, and the owner of the
 * file.
 */
export function hasForeignLink(path: string, info: Deno.FileInfo | undefined): boolean {
  let at: string | undefined = path;
  for (let count = 0; count < MAX_LINKS && at !== undefined && mayRead(at); count++) {
    const link = lookAt(at, Deno.lstatSync);
    if (!link?.isSymlink || link.uid === null) return false;
    if (![0, info?.uid, ownUid()].includes(link.uid)) return true;
    at = linkTarget(at);
  }
  return false;
}

/** The user of this process; without permission to ask for it, the owner of the working folder. */
export function ownUid(): number | undefined {
  if (Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted") {
    return Deno.uid() ?? undefined;
  }
  return lookAt(".")?.uid ?? undefined;
}

/** What is at a path; `undefined` if there is nothing, or it cannot be read. */
export function lookAt(
  path: string,
  look: (path: string) => Deno.FileInfo = Deno.statSync,
): Deno.FileInfo | undefined {
  try {
    return look(path);
  } catch {
    return undefined;
  }
}

/** Whether a path may be read without a permission prompt. */
export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
}

/** Whether a path may be written to without a permission prompt. */
export function mayWrite(path: string): boolean {
  return Deno.permissions.querySync({ name: "write", path }).state === "granted";
}

/** The path of the file behind any symbolic links, so that a write keeps the links. */
export function realPath(path: string): string {
  const real = unlessMissing(() => Deno.realPathSync(path));
  if (real !== undefined) return real;
  const target = linkTarget(path);
  return target === undefined ? path : realPath(target);
}

/** Where a link leads, whether or not something is there; `undefined` if the path is no link. */
function linkTarget(path: string): string | undefined {
  try {
    const target = Deno.readLinkSync(path);
    const isWhole = /^([\\/]|[A-Za-z]:)/.test(target);
    const folder = isWhole ? "" : `${Deno.realPathSync(folderOf(path))}/`;
    return filePath(fileUrl(folder + target));
  } catch {
    return undefined;
  }
}

/** What a look gives; `undefined` if nothing is there. */
export function unlessMissing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
