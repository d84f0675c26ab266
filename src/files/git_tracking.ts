/**
 * Files in general: judged before they are opened, replaced atomically, locked, and what git does with
 * them. May import http, runtime, errors and values.
 */
import { filePath, fileUrl, folderOf } from "./paths.ts";
import { lookAt, mayRead, realPath } from "./regular_file.ts";

/** What git does with a file. `outside`: it is in no work tree, or that cannot be seen. */
export type GitTracking = "tracked" | "untracked" | "outside";

/**
 * Tells whether git tracks a `.env`, or the temporary file that a killed process left beside it. It
 * reads the index itself: that needs no permission to run git, and takes no time at a save.
 */
export function gitTracking(path: string): GitTracking {
  const files = secretFiles(path);
  for (let folder = fileUrl(folderOf(files[0]));; folder = new URL("..", folder)) {
    if (!mayRead(filePath(folder))) return "outside";
    const store = storeOf(folder);
    const index = read(new URL("index", store));
    if (index !== undefined || read(new URL("HEAD", store)) !== undefined) {
      const names = files.map((file) =>
        decodeURIComponent(fileUrl(file).href.slice(folder.href.length))
      );
      return index !== undefined && lists(index, names) ? "tracked" : "untracked";
    }
    if (new URL("..", folder).href === folder.href) return "outside";
  }
}

/**
 * Asks git whether it ignores a `.env` and the temporary file beside it. Only git knows: patterns are
 * in many files, some of them outside the project.
 *
 * @returns `undefined` if git may not be run without a permission prompt, or does not answer.
 */
export function gitIgnores(path: string): boolean | undefined {
  const { state } = Deno.permissions.querySync({ name: "run", command: "git" });
  if (state !== "granted") return undefined;
  const files = secretFiles(path);
  try {
    // Without the index, git runs no program that the project's own configuration may name.
    const { code, stdout } = new Deno.Command("git", {
      args: ["check-ignore", "--no-index", "--", ...files],
      ...{ cwd: folderOf(files[0]), stdin: "null", stdout: "piped", stderr: "null" },
    }).outputSync();
    // 0: it ignores some, 1: none, above: it cannot tell. It prints a line for each that it ignores.
    if (code > 1) return undefined;
    return new TextDecoder().decode(stdout).split("\n").length - 1 === files.length;
  } catch {
    return undefined;
  }
}

/** What to do so that git ignores a `.env`, and all that this module puts beside it. */
export function ignoreAdvice(path: string): string {
  const lines = ignoreLines(path);
  return `add the line${lines.length > 1 ? "s" : ""} ${lines.join(" and ")} to .gitignore`;
}

/**
 * Adds these lines to the `.gitignore` beside a `.env` in a work tree, unless git ignores it already.
 *
 * @returns The lines that were added. None also where the file cannot be written: nothing is thrown.
 */
export function ignoreInGit(path: string): string[] {
  if (gitTracking(path) === "outside" || gitIgnores(path)) return [];
  const ignoreFile = `${folderOf(secretFiles(path)[0])}.gitignore`;
  try {
    const found = lookAt(ignoreFile, Deno.lstatSync);
    // A link of the project may lead out of it.
    if (found && !found.isFile) return [];
    const text = found ? Deno.readTextFileSync(ignoreFile) : "";
    const there = text.split(/\r?\n/);
    const added = ignoreLines(path).filter((line) => !there.includes(line));
    if (added.length === 0) return [];
    const joint = text === "" || text.endsWith("\n") ? "" : "\n";
    Deno.writeTextFileSync(ignoreFile, `${joint}${added.join("\n")}\n`, { append: true });
    return added;
  } catch {
    return [];
  }
}

function ignoreLines(path: string): string[] {
  const [file] = secretFiles(path);
  const name = file.slice(folderOf(file).length);
  return name.startsWith(".env") ? [".env*", "!.env.example"] : [`${name}*`];
}

/** The command after which git tracks neither a `.env` nor the temporary file beside it. */
export function untrackCommand(path: string): string {
  return `git rm --cached --ignore-unmatch ${secretFiles(path).join(" ")}`;
}

/** The file itself, behind links, and what a killed process can leave beside it: both hold tokens. */
function secretFiles(path: string): [file: string, temporary: string] {
  let file = path;
  try {
    file = realPath(path);
  } catch {
    // Links that lead nowhere: the name has to do.
  }
  return [file, `${file}.tmp`];
}

/** Where git keeps its index: in a submodule and a second work tree `.git` is a file that names it. */
function storeOf(folder: URL): URL {
  const text = new TextDecoder().decode(read(new URL(".git", folder)));
  const named = /^gitdir: (.+)$/m.exec(text)?.[1]?.trim();
  if (named === undefined) return new URL(".git/", folder);
  const whole = /^([\\/]|[A-Za-z]:)/.test(named);
  return fileUrl(`${whole ? "" : filePath(folder)}${named}/`);
}

function read(url: URL): Uint8Array | undefined {
  const path = filePath(url);
  try {
    return lookAt(path)?.isFile ? Deno.readFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an index of version 2, 3 or 4 lists one of the paths. An index that is damaged lists nothing. */
function lists(index: Uint8Array, names: readonly string[]): boolean {
  const view = new DataView(index.buffer, index.byteOffset, index.byteLength);
  try {
    // An entry is ten numbers, a hash (20 bytes, or 32 with SHA-256), the flags, and the path.
    return [20, 32].some((hash) =>
      pathsOf(index, view, 40 + hash).some((path) => names.includes(path))
    );
  } catch {
    return false;
  }
}

function pathsOf(index: Uint8Array, view: DataView, flagsAt: number): string[] {
  const version = view.getUint32(4);
  const paths: string[] = [];
  const decoder = new TextDecoder();
  let bytes: Uint8Array = new Uint8Array();
  let at = 12;
  for (let count = view.getUint32(8); count > 0; count--) {
    const start = at;
    const flags = view.getUint16(at + flagsAt);
    at += flagsAt + ((flags & 0x4000) !== 0 ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      // Version 4 says how many bytes to cut off the path before; what follows is added to the rest.
      const cut = varint(view, at);
      kept = bytes.length - cut.value;
      at = cut.next;
    }
    const end = index.indexOf(0, at);
    const rest = index.subarray(at, end);
    bytes = kept === 0 ? rest : new Uint8Array([...bytes.subarray(0, kept), ...rest]);
    // The flags hold the length of the path, up to 4095; else the entries are of the other size.
    if (end < 0 || (flags & 0xfff) !== Math.min(bytes.length, 0xfff)) return [];
    paths.push(decoder.decode(bytes));
    at = version === 4 ? end + 1 : start + (Math.floor((end - start) / 8) + 1) * 8;
  }
  return paths;
}

/** A number in git's format for offsets: seven bits a byte, and one is added for each further byte. */
function varint(view: DataView, start: number): { value: number; next: number } {
  let next = start;
  let byte = view.getUint8(next++);
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    byte = view.getUint8(next++);
    value = ((value + 1) * 128) + (byte & 0x7f);
  }
  return { value, next };
}
