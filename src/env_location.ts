import { ConfigError } from "./errors.ts";
import { filePath, fileUrl } from "./file_paths.ts";

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
  if (name instanceof URL && name.protocol !== "file:") {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot use envFile: a ${name.protocol} URL is not a file; give a path, a file URL, or false for memory only`,
    );
  }
  const isUrl = name instanceof URL || name.startsWith("file:");
  return { path: isUrl ? pathOfUrl(name) : filePath(fileUrl(name)), notes: [] };
}

function pathOfUrl(name: string | URL): string {
  try {
    const url = new URL(name);
    if (url.hostname === "" || Deno.build.os === "windows") return filePath(url);
  } catch {
    // no URL, or a % that begins no character
  }
  throw new ConfigError(
    "INVALID_SETTING",
    `Cannot use envFile: ${name} names no file on this computer; give a path or a file URL like file:///home/me/.env`,
  );
}

/**
 * The nearest `.env` from the working folder up to the project root (the folder with `.git` or
 * `deno.json`); without such a root only the working folder is looked at. Folders that may not be
 * read without asking are not looked at, and a file of another owner is passed over.
 */
export function nearestEnvFile(): EnvLocation {
  const here = fileUrl("./");
  const notes: string[] = [];
  for (const folder of foldersUpToRoot(here)) {
    const path = filePath(new URL(".env", folder));
    const info = lookAt(path);
    if (info === undefined || (info.isDirectory && folder.href !== here.href)) continue;
    if (isForeign(info)) {
      notes.push(
        `${path} belongs to another user and is ignored; name it in AUTH_ENV_FILE to use it all the same`,
      );
      continue;
    }
    return { path, notes };
  }
  const path = filePath(new URL(".env", here));
  // A session must not replace somebody else's file, so there is none to keep it in.
  return { path: notes.some((note) => note.startsWith(`${path} `)) ? undefined : path, notes };
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

/** What is at a path; `undefined` if nothing, or if looking is not allowed without asking. */
function lookAt(path: string): Deno.FileInfo | undefined {
  if (!mayRead(path)) return undefined;
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

/** Whether a path may be read without a permission prompt. */
export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
}

function isForeign(info: Deno.FileInfo): boolean {
  if (info.uid === null) return false;
  const mine = Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted"
    ? Deno.uid()
    : Deno.statSync(".").uid;
  return mine !== null && info.uid !== mine;
}
