import { filePath, fileUrl, folderOf } from "./paths.ts";
import { ConfigError } from "../errors/errors.ts";

/** How large a `.env` may be, in bytes. Each start reads it whole; no person writes one this long. */
const MAX_BYTES = 1_048_576;

/** The kernel, too, gives up after so many links. */
const MAX_LINKS = 40;

const NEXT_STEP = "name another file in envFile (AUTH_ENV_FILE), or keep the session in memory " +
  "only with envFile: false (AUTH_ENV_FILE=false)";

/**
 * Judges what is at the path of a `.env`, before it is opened: opening a pipe can block forever, a
 * save would replace a device by a file, and a link of another user can lead to any file.
 *
 * @returns The file behind any links; `undefined` if there is none yet.
 * @throws {ConfigError} `ENV_FILE` if it is not a regular file, too large, or behind a link of another user.
 */
export function regularFile(path: string): Deno.FileInfo | undefined {
  const entry = unlessMissing(() => Deno.lstatSync(path));
  const info = entry?.isSymlink ? unlessMissing(() => Deno.statSync(path)) : entry;
  if (entry?.isSymlink && hasForeignLink(path, info)) {
    throw refused(path, "it is a link that belongs to another user, who can make it lead anywhere");
  }
  if (info === undefined) return undefined;
  if (info.isDirectory) throw refused(path, "it is a folder");
  if (!info.isFile) throw refused(path, "it is a device, pipe or socket, not a regular file");
  if (info.size > MAX_BYTES) {
    throw refused(path, `it is too large: ${info.size} bytes, where ${MAX_BYTES} are the limit`);
  }
  return info;
}

function refused(path: string, why: string): ConfigError {
  return new ConfigError("ENV_FILE", `Cannot use ${path}: ${why}`, NEXT_STEP);
}

/** Whether a file, or a link on the way to it, belongs to another user. */
export function isForeign(path: string, info: Deno.FileInfo | undefined): boolean {
  const owner = info?.uid ?? undefined;
  return (owner !== undefined && owner !== ownUid()) || hasForeignLink(path, info);
}

/**
 * Whether a link on the way to a file belongs to somebody who has no business there: neither this
 * user, nor root, nor the owner of the file.
 */
function hasForeignLink(path: string, info: Deno.FileInfo | undefined): boolean {
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
function ownUid(): number | undefined {
  if (Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted") {
    return Deno.uid() ?? undefined;
  }
  return lookAt(".")?.uid ?? undefined;
}

/** What is at a path; `undefined` if nothing, or if looking there needs a permission prompt. */
export function lookAt(
  path: string,
  look: (path: string) => Deno.FileInfo = Deno.statSync,
): Deno.FileInfo | undefined {
  try {
    return mayRead(path) ? look(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a path may be read without a permission prompt. */
export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
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

function unlessMissing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
