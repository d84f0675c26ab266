import type { Advice } from "../errors/advice.ts";
import { ConfigError } from "../errors/errors.ts";
import { environment } from "../platform/environment.ts";
import { infoAt, mayRead } from "../files/file_info.ts";
import {
  filePath,
  fileUrl,
  foldersUp,
  isAbsolute,
  isUrl,
  pathOfUrl,
  workingFolder,
} from "../files/paths.ts";
import { ENV_FILE_VARIABLE } from "./options.ts";

/** The `.env` to use: the file that the user specified, the nearest one, or the global one. */
export interface EnvLocation {
  /** Absolute path, even if the file does not exist yet; `undefined` for memory only. */
  readonly path: string | undefined;
  /** Files that would come first, but are not used because they belong to another user. */
  readonly foreign: readonly string[];
  /**
   * How the file was chosen.
   *
   * - `named`: the user specified it.
   * - `found`: it is in the working folder, or above it up to the project root.
   * - `own`: it is the global `.env`, for all folders.
   * - `new`: there is no such file, so the first save creates one in the working folder.
   */
  readonly kind: "named" | "found" | "own" | "new";
  /** The folders in which a `.env` was looked for, each with a separator at the end. */
  readonly searched: readonly string[];
}

/**
 * Locates the file in the option `envFile` or in `AUTH_ENV_FILE`. A relative path is resolved
 * against the working folder.
 *
 * @throws {ConfigError} `INVALID_SETTING` if the name does not refer to a file on this computer.
 */
export function namedEnvFile(name: string | URL | false): EnvLocation {
  checkEnvFileName(name);
  const named = (path: string | undefined): EnvLocation => ({
    path,
    foreign: [],
    kind: "named",
    searched: [],
  });
  if (name === false || name === "false") return named(undefined);
  return named(pathOfUrl(name) ?? filePath(fileUrl(String(name))));
}

/**
 * Checks a name, independently of the working folder.
 *
 * @throws {ConfigError} `INVALID_SETTING` if the name cannot refer to a file.
 */
export function checkEnvFileName(name: string | URL | false): void {
  if (name === false || pathOfUrl(name) !== undefined) return;
  if (typeof name === "string" && name !== "" && !isUrl(name)) return;
  // The name is not quoted, because even an address that cannot be parsed can contain a password.
  throw new ConfigError(
    "INVALID_SETTING",
    "Cannot use envFile: it is not the address of a file on this computer",
    "use a path, a file URL like file:///home/me/.env, or false for memory only",
  );
}

/**
 * Locates the nearest `.env` from the working folder up to the project root (the folder with `.git`
 * or `deno.json`). If there is no such root, only the working folder is searched. A file of another
 * user may contain the address of a host that collects passwords, so it is ignored.
 *
 * @throws {ConfigError} `ENV_FILE` if the working folder was removed.
 */
export function nearestEnvFile(): EnvLocation {
  const here = workingFolder();
  if (here === undefined) {
    throw new ConfigError(
      "ENV_FILE",
      "Cannot look for the .env: the working folder was removed",
      "change to another folder, or set AUTH_ENV_FILE (envFile) to the absolute path of the file",
    );
  }
  const foreign: string[] = [];
  const searched: string[] = [];
  for (const folder of foldersUpToRoot(here)) {
    searched.push(folder);
    const path = `${folder}.env`;
    const info = infoAt(path);
    if (info === undefined || info.isDirectory) continue;
    if (!isOfAnotherUser(info)) {
      return { path, foreign, kind: path === ownEnvFile() ? "own" : "found", searched };
    }
    foreign.push(path);
  }
  const path = `${here}.env`;
  // A save must not replace the file of another user.
  const isForeign = foreign.includes(path);
  return { path: isForeign ? undefined : path, foreign, kind: "new", searched };
}

/** Looks again for a `.env` that did not exist, because `init` may have written the file since. */
export function locatedAgain(location: EnvLocation): EnvLocation {
  const { kind, path } = location;
  if (kind !== "new") return location;
  return path !== undefined && infoAt(path) ? { ...location, kind: "found" } : orOwnFile(location);
}

/** Replaces the location of a new file by the global `.env`, if that exists. */
export function orOwnFile(location: EnvLocation): EnvLocation {
  if (location.kind !== "new") return location;
  const path = ownEnvFile();
  // A script that may not read the global `.env` works as if there were none.
  const info = path !== undefined && mayRead(path) ? infoAt(path) : undefined;
  if (path === undefined || !info?.isFile) return location;
  return isOfAnotherUser(info)
    ? { ...location, foreign: [...location.foreign, path] }
    : { ...location, path, kind: "own" };
}

/**
 * Returns the path of the global `.env`; `undefined` if the environment does not contain the
 * user's configuration folder. A relative folder would be in the project, so it is ignored.
 */
export function ownEnvFile(): string | undefined {
  const home = environment("HOME");
  const byDefault = Deno.build.os === "windows"
    ? environment("APPDATA")
    : home && `${home}/.config`;
  const folder = [environment("XDG_CONFIG_HOME"), byDefault].find((path) =>
    path && isAbsolute(path)
  );
  return folder && filePath(fileUrl(`${folder}/platform-auth/.env`));
}

/**
 * Lists the working folder and, if one of the folders above it is a project root, the folders up to
 * that root.
 */
function* foldersUpToRoot(here: string): Generator<string> {
  yield here;
  yield* searchAbove(here).folders;
}

/** The result of a search for the project root. */
interface FoundAbove {
  /** The folders above the given one, up to the root. Empty if there is no root. */
  readonly folders: readonly string[];
  /** The folder at which the search ended because the permission to read it is missing. */
  readonly unreadable?: string;
}

/** Looks for the project root from a folder up. */
export function searchAbove(here: string): FoundAbove {
  const folders: string[] = [];
  for (const folder of foldersUp(here)) {
    if (folder !== here) folders.push(folder);
    // Without the permission, Deno would prompt for each name in each folder.
    if (!mayRead(folder)) return { folders: [], unreadable: folder };
    if (isProjectRoot(folder)) return { folders };
  }
  return { folders: [] };
}

/** Whether a folder, given with a separator at the end, is the root of a project. */
function isProjectRoot(folder: string): boolean {
  return [".git", "deno.json", "deno.jsonc"].some((name) => infoAt(folder + name));
}

/** Whether a file belongs to another user. Windows does not provide this information. */
export function isOfAnotherUser({ uid }: Deno.FileInfo): boolean {
  return uid !== null && uid !== ownUid();
}

/**
 * Says why a `.env` is ignored: it belongs to another user, or the permission to find out is
 * missing.
 */
export function whyIgnored(path: string): Advice & { readonly fix: string } {
  const fix = `set ${ENV_FILE_VARIABLE} to the file that you want to use`;
  if (ownUid() !== undefined) {
    return { problem: `${path} belongs to another user and is ignored`, fix };
  }
  const flag = "--allow-read=.";
  return {
    problem: `${path} is ignored, because its owner cannot be checked without ${flag}`,
    fix: `add ${flag} to the command, or ${fix}`,
  };
}

/**
 * Returns the user of this process or, if the permission is missing, the owner of the working
 * folder.
 */
function ownUid(): number | undefined {
  if (Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted") {
    return Deno.uid() ?? undefined;
  }
  return infoAt(".")?.uid ?? undefined;
}
