import { filePath, fileUrl, workingFolder } from "../runtime/file_paths.ts";
import { ConfigError } from "../values/errors.ts";
import { isForeign, lookAt, mayRead } from "./regular_file.ts";

/** Where the session's `.env` is, or will be created. */
export interface EnvLocation {
  /** Absolute path; `undefined`: memory only. */
  readonly path: string | undefined;
  /** What the user should know about the choice. */
  readonly notes: readonly string[];
}

/** The path that an `envFile` option or `AUTH_ENV_FILE` names, against the working folder. */
export function namedEnvFile(name: string | URL | false): EnvLocation {
  if (name === false || name === "false") return { path: undefined, notes: [] };
  if (name === "") throw notAFile("an empty text");
  if (isUrl(name)) {
    return { path: pathOfUrl(String(name)), notes: [] };
  }
  try {
    return { path: filePath(fileUrl(name)), notes: [] };
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
  if (name === "" || (name !== false && isUrl(name))) namedEnvFile(name);
}

function isUrl(name: string | URL): name is URL {
  return name instanceof URL || /^(file:|[a-z][a-z\d+.-]+:\/\/)/i.test(name);
}

function pathOfUrl(text: string): string {
  try {
    const url = new URL(text);
    const local = url.hostname === "" || Deno.build.os === "windows";
    if (url.protocol === "file:" && local) return filePath(url);
  } catch {
    // no URL, or a % that begins no character
  }
  throw notAFile(text);
}

function notAFile(name: string): ConfigError {
  return new ConfigError(
    "INVALID_SETTING",
    `Cannot use envFile: ${name} names no file on this computer; give a path, a file URL like ` +
      "file:///home/me/.env, or false for memory only",
  );
}

function folderGone(): ConfigError {
  return new ConfigError(
    "ENV_FILE",
    "Cannot look for the .env: the working folder was removed; change to another one, or name the " +
      "file with its whole path in AUTH_ENV_FILE (envFile)",
  );
}

/**
 * The nearest `.env` from the working folder up to the project root (the folder with `.git` or
 * `deno.json`); without such a root only the working folder is looked at. Folders that may not be
 * read without asking are not looked at, and a file of another owner is passed over.
 */
export function nearestEnvFile(): EnvLocation {
  const here = workingFolderUrl();
  const notes: string[] = [];
  for (const folder of foldersUpToRoot(here)) {
    const path = filePath(new URL(".env", folder));
    const info = lookAt(path);
    if (info?.isDirectory && folder.href !== here.href) continue;
    if (isForeign(path, info)) {
      notes.push(
        `${path} belongs to another user and is ignored; name the file to use in AUTH_ENV_FILE`,
      );
      continue;
    }
    if (info !== undefined) return { path, notes };
  }
  const path = filePath(new URL(".env", here));
  // The file of another user must not be replaced, so the session stays in memory.
  return { path: notes.some((note) => note.startsWith(`${path} `)) ? undefined : path, notes };
}

function workingFolderUrl(): URL {
  try {
    return fileUrl("./");
  } catch {
    throw folderGone();
  }
}

/** The working folder at once, as most have their `.env` there; those above only if there is a root. */
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
