/**
 * The `.env` of the user: which one is used (here), which ones near it are not (`nearby.ts`), its
 * syntax (`parser.ts`), an edit that leaves all other lines as they are (`text.ts`), reading, saving
 * and the lock (`file.ts`).
 * May import files, http, runtime, errors and values.
 */
import { filePath, fileUrl, isUrl, pathOfUrl, workingFolder } from "../platform/paths.ts";
import { ConfigError } from "../errors/errors.ts";
import {
  FOREIGN_LINK,
  hasForeignLink,
  isForeign,
  lookAt,
  mayRead,
  unlessMissing,
} from "../platform/look.ts";

/** How large a `.env` may be, in bytes. Each start reads it whole; no person writes one this long. */
const MAX_BYTES = 1_048_576;

/** Which `.env` is used: the one that is named, else the nearest. Where it is, or will be created. */
export interface EnvLocation {
  /** Absolute path; `undefined`: memory only. */
  readonly path: string | undefined;
  /** What the user should know about the choice. */
  readonly notes: readonly Advice[];
  /** Whether the user named it. */
  readonly isNamed: boolean;
}

/** Something that the user should know, and what to do about it. */
export interface Advice {
  readonly problem: string;
  readonly fix: string;
}

/**
 * The file that an `envFile` option or `AUTH_ENV_FILE` names. A relative path is resolved against the
 * working folder.
 *
 * @throws {ConfigError} `INVALID_SETTING` if it names no file on this computer.
 */
export function namedEnvFile(name: string | URL | false): EnvLocation {
  const named = (path: string | undefined) => ({ path, notes: [], isNamed: true });
  if (name === false || name === "false") return named(undefined);
  if (name === "") throw notAFile("an empty text");
  if (typeof name !== "string" || isUrl(name)) {
    const path = pathOfUrl(name);
    if (path !== undefined) return named(path);
    // Not quoted: an address can hold a password, also where it cannot be parsed.
    throw notAFile(`an address that begins with ${/^[^:]*:/.exec(String(name))?.[0]}`);
  }
  try {
    return named(filePath(fileUrl(name)));
  } catch {
    // Only a relative path needs the working folder.
    throw workingFolder() === undefined ? folderGone() : notAFile(name);
  }
}

/**
 * Checks a name without looking at the working folder.
 *
 * @throws {ConfigError} `INVALID_SETTING` if it names no file.
 */
export function checkEnvFileName(name: string | URL | false): void {
  if (name === "" || (name !== false && (typeof name !== "string" || isUrl(name)))) {
    namedEnvFile(name);
  }
}

function notAFile(name: string): ConfigError {
  return new ConfigError(
    "INVALID_SETTING",
    `Cannot use envFile: ${name} names no file on this computer`,
    "give a path, a file URL like file:///home/me/.env, or false for memory only",
  );
}

function folderGone(): ConfigError {
  return new ConfigError(
    "ENV_FILE",
    "Cannot look for the .env: the working folder was removed",
    "change to another one, or name the file with its whole path in AUTH_ENV_FILE (envFile)",
  );
}

/**
 * The nearest `.env` from the working folder up to the project root (the folder with `.git` or
 * `deno.json`). Without such a root, only the working folder counts. A file of another user is
 * ignored, and so are folders that may not be read without a permission prompt.
 */
export function nearestEnvFile(): EnvLocation {
  const here = workingFolderUrl();
  const ignored: string[] = [];
  for (const folder of foldersUpToRoot(here)) {
    const path = filePath(new URL(".env", folder));
    const info = lookAt(path);
    if (info?.isDirectory && folder.href !== here.href) continue;
    if (isForeign(path, info)) {
      ignored.push(path);
      continue;
    }
    if (info !== undefined) return { path, notes: notesOn(ignored), isNamed: false };
  }
  const path = filePath(new URL(".env", here));
  // The file of another user must not be replaced, so the session stays in memory.
  return {
    path: ignored.includes(path) ? undefined : path,
    notes: notesOn(ignored),
    isNamed: false,
  };
}

function notesOn(ignored: readonly string[]): Advice[] {
  return ignored.map((path) => ({
    problem: `${path} belongs to another user and is ignored`,
    fix: "name the file to use in AUTH_ENV_FILE",
  }));
}

function workingFolderUrl(): URL {
  try {
    return fileUrl("./");
  } catch {
    throw folderGone();
  }
}

/**
 * The working folder first, where most have their `.env`; the folders above only if one is a project
 * root.
 */
function* foldersUpToRoot(here: URL): Generator<URL> {
  yield here;
  const above: URL[] = [];
  for (let folder = here;; folder = new URL("..", folder)) {
    if (!mayRead(filePath(folder))) return;
    if (folder !== here) above.push(folder);
    if ([".git", "deno.json", "deno.jsonc"].some((name) => exists(new URL(name, folder)))) {
      return yield* above;
    }
    if (new URL("..", folder).href === folder.href) return;
  }
}

function exists(url: URL): boolean {
  return lookAt(filePath(url)) !== undefined;
}

/**
 * Judges what is at the path of a `.env`, before it is opened: opening a pipe can block forever, a
 * save would replace a device by a file, and a link of another user can lead to any file.
 *
 * @returns The file behind any links; `undefined` if there is none yet.
 * @throws {ConfigError} `ENV_FILE` if it is not a regular file, too large, or behind a link of
 *   another user.
 */
export function regularFile(path: string): Deno.FileInfo | undefined {
  const entry = unlessMissing(() => Deno.lstatSync(path));
  const info = entry?.isSymlink ? unlessMissing(() => Deno.statSync(path)) : entry;
  if (entry?.isSymlink && hasForeignLink(path, info)) {
    throw refused(path, FOREIGN_LINK);
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
  return new ConfigError(
    "ENV_FILE",
    `Cannot use ${path}: ${why}`,
    "name another file in envFile (AUTH_ENV_FILE), or keep the session in memory only with " +
      "envFile: false (AUTH_ENV_FILE=false)",
  );
}
