import { environment } from "../platform/environment.ts";

const WINDOWS = Deno.build.os === "windows";

/**
 * Converts a path to a URL. A relative path is resolved against the working folder. `node:url`
 * could do this, but loading it takes 7 ms.
 *
 * @param windows Whether to read the path as a Windows path.
 */
export function fileUrl(path: string, windows: boolean = WINDOWS): URL {
  const slashed = (windows ? path.replaceAll("\\", "/") : path).replace(/(?<=.)\/{2,}/g, "/");
  // Encodes characters that have a meaning in a URL. Also encodes blanks and control characters,
  // because the URL parser drops some of them.
  // deno-lint-ignore no-control-regex -- encodes control characters
  const encoded = slashed.replace(/[%?#|\\\u0000-\u0020]/g, encodeURIComponent);
  if (windows && /^[A-Za-z]:/.test(encoded)) return new URL(`file:///${encoded}`);
  // The URL parser drops the host `localhost` from a file URL, so that the URL no longer names a
  // share. The address 127.0.0.1 names the same host and is kept.
  const share = encoded.replace(/^\/\/localhost(?=\/)/i, "//127.0.0.1");
  if (windows && encoded.startsWith("//")) return new URL(`file:${share}`);
  if (encoded.startsWith("/") && !windows) return new URL(`file://${encoded.replace("//", "/")}`);
  return new URL(encoded.startsWith("/") ? encoded : `./${encoded}`, fileUrl(`${Deno.cwd()}/`));
}

/**
 * Returns the absolute path of a file URL.
 *
 * @throws {URIError} If a `%` in the URL does not begin an encoded character.
 */
export function filePath(url: URL, windows: boolean = WINDOWS): string {
  const path = decodeURIComponent(url.pathname);
  if (!windows) return path;
  const text = path.replaceAll("/", "\\");
  return url.hostname === "" ? text.replace(/^\\(?=[A-Za-z]:)/, "") : `\\\\${url.hostname}${text}`;
}

/** Whether a path does not depend on the working folder. */
export function isAbsolute(path: string): boolean {
  return /^([\\/]|[A-Za-z]:)/.test(path);
}

/** Whether a name is a URL instead of a path. */
export function isUrl(name: string): boolean {
  return /^((file|https?):|[a-z][a-z\d+.-]+:\/\/)/i.test(name);
}

/**
 * Returns the path of a URL; `undefined` if the URL is not the address of a file on this computer.
 */
export function pathOfUrl(name: string | URL): string | undefined {
  const url = URL.parse(String(name));
  if (url?.protocol !== "file:" || (url.hostname !== "" && !WINDOWS)) return undefined;
  try {
    return filePath(url);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    // The URL contains a % that does not begin an encoded character.
    return undefined;
  }
}

/** Returns the folder of a file, with a separator at the end. */
export function folderOf(path: string): string {
  return filePath(new URL(".", fileUrl(path)));
}

/** Lists a folder and the folders above it, each with a separator at the end. */
export function* foldersUp(folder: string): Generator<string> {
  for (let here = folder, above = "";; here = above) {
    yield here;
    above = filePath(new URL("..", fileUrl(here)));
    if (above === here) return;
  }
}

/** Returns the working folder, with a separator at the end; `undefined` if it was removed. */
export function workingFolder(): string | undefined {
  try {
    return filePath(fileUrl("./"));
  } catch {
    return undefined;
  }
}

/** Returns a path for a permission flag: `.` if the path is in the working folder. */
export function shortPath(path: string): string {
  const here = workingFolder();
  return here !== undefined && path.startsWith(here) ? "." : withoutSlash(path);
}

/** Returns the path of a `.env` for display, without the names of the folders above the project. */
export function displayPath(envFile: string | undefined): string {
  if (envFile === undefined) return "memory only";
  const folders: [string | undefined, string][] = [
    [workingFolder(), ""],
    [environment("TMPDIR") ?? environment("TEMP") ?? "/tmp", "a temporary folder: "],
    [environment("HOME") ?? environment("USERPROFILE"), "~/"],
  ];
  for (const [folder, name] of folders) {
    if (!folder) continue;
    const whole = filePath(fileUrl(`${folder}/`));
    if (!envFile.startsWith(whole)) continue;
    const rest = envFile.slice(whole.length).replaceAll("\\", "/");
    return `${name}${name.includes(" ") ? rest.split("/").at(-1) : rest}`;
  }
  return envFile;
}

/** Removes the separator at the end of a folder, unless the folder is a root. */
export function withoutSlash(folder: string): string {
  return folder.replace(/(?<=[^:])[\\/]$/, "");
}
