import { ConfigError } from "../errors/errors.ts";
import { infoAt, mayRead } from "../platform/file_info.ts";
import {
  filePath,
  fileUrl,
  foldersUp,
  isUrl,
  pathOfUrl,
  workingFolder,
} from "../platform/paths.ts";

/** Which `.env` is used: the one that is named, or else the nearest. */
export interface EnvLocation {
  /** Absolute path, also if the file does not exist yet; `undefined`: memory only. */
  readonly path: string | undefined;
  /** Nearer files that are not used because they belong to another user. */
  readonly foreign: readonly string[];
  /** Whether the user named it. */
  readonly isNamed: boolean;
}

/**
 * The file that an `envFile` option or `AUTH_ENV_FILE` names. A relative path is resolved against the
 * working folder.
 *
 * @throws {ConfigError} `INVALID_SETTING` if it names no file on this computer.
 */
export function namedEnvFile(name: string | URL | false): EnvLocation {
  const named = (path: string | undefined) => ({ path, foreign: [], isNamed: true });
  if (name === false || name === "false") return named(undefined);
  if (name === "") throw notAFile("an empty text");
  if (typeof name !== "string" || isUrl(name)) {
    const path = pathOfUrl(name);
    if (path !== undefined) return named(path);
    // Not quoted, because an address can contain a password, even if it cannot be parsed.
    throw notAFile(`an address that begins with ${/^[^:]*:/.exec(String(name))?.[0]}`);
  }
  try {
    return named(filePath(fileUrl(name)));
  } catch {
    // Only a relative path needs the working folder.
    throw workingFolder() === undefined ? folderRemoved() : notAFile(name);
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

function folderRemoved(): ConfigError {
  return new ConfigError(
    "ENV_FILE",
    "Cannot look for the .env: the working folder was removed",
    "change to another one, or name the file with its whole path in AUTH_ENV_FILE (envFile)",
  );
}

/**
 * The nearest `.env` from the working folder up to the project root (the folder with `.git` or
 * `deno.json`), or only the one in the working folder if there is no such root. A file of another user
 * is ignored: it may lead to a host that collects passwords.
 *
 * @throws {ConfigError} `ENV_FILE` if the working folder was removed.
 */
export function nearestEnvFile(): EnvLocation {
  const here = workingFolder();
  if (here === undefined) throw folderRemoved();
  const foreign: string[] = [];
  for (const folder of foldersUpToRoot(here)) {
    const path = `${folder}.env`;
    const info = infoAt(path);
    if (info === undefined || (info.isDirectory && folder !== here)) continue;
    if (!isOfAnotherUser(info)) return { path, foreign, isNamed: false };
    foreign.push(path);
  }
  const path = `${here}.env`;
  // A save must not replace the file of another user.
  return { path: foreign.includes(path) ? undefined : path, foreign, isNamed: false };
}

/** The working folder; after it the folders above, but only if one of them is a project root. */
function* foldersUpToRoot(here: string): Generator<string> {
  yield here;
  const above: string[] = [];
  for (const folder of foldersUp(here)) {
    if (folder !== here) above.push(folder);
    // Here Deno would prompt for each name in each folder.
    if (!mayRead(folder)) return;
    if ([".git", "deno.json", "deno.jsonc"].some((name) => infoAt(folder + name))) {
      return yield* above;
    }
  }
}

/** Whether a file belongs to another user. On Windows this is not known. */
export function isOfAnotherUser({ uid }: Deno.FileInfo): boolean {
  return uid !== null && uid !== ownUid();
}

/** The user of this process; without the permission for that, the owner of the working folder. */
export function ownUid(): number | undefined {
  if (Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted") {
    return Deno.uid() ?? undefined;
  }
  return infoAt(".")?.uid ?? undefined;
}
