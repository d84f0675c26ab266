import { mayRead } from "./regular_file.ts";
import { filePath, fileUrl } from "../runtime/file_paths.ts";

/** What git does with a file: `outside`: not in a work tree, or that cannot be seen. */
export type GitTracking = "tracked" | "ignored" | "untracked" | "outside";

/**
 * Tells what git does with a file, without running git: from the index, and from the `.gitignore`
 * files between the file and the root of the work tree.
 */
export function gitTracking(path: string): GitTracking {
  const file = fileUrl(path);
  const folders: URL[] = [];
  for (let folder = new URL(".", file);; folder = new URL("..", folder)) {
    if (!mayRead(filePath(folder))) return "outside";
    folders.push(folder);
    const store = storeOf(folder);
    const index = read(new URL("index", store));
    if (index !== undefined || read(new URL("HEAD", store)) !== undefined) {
      const name = decodeURIComponent(file.href.slice(folder.href.length));
      if (index !== undefined && lists(index, name)) return "tracked";
      return folders.some((each) => ignores(each, file)) ? "ignored" : "untracked";
    }
    if (new URL("..", folder).href === folder.href) return "outside";
  }
}

/** Where git keeps its index: in a work tree of its own and in a submodule `.git` is a file that tells. */
function storeOf(folder: URL): URL {
  const text = new TextDecoder().decode(read(new URL(".git", folder)));
  const named = /^gitdir: (.+)$/m.exec(text)?.[1]?.trim();
  if (named === undefined) return new URL(".git/", folder);
  const whole = /^([\\/]|[A-Za-z]:)/.test(named);
  return fileUrl(`${whole ? "" : filePath(folder)}${named}/`);
}

function read(url: URL): Uint8Array | undefined {
  try {
    return Deno.readFileSync(filePath(url));
  } catch {
    return undefined;
  }
}

/** Whether an index, of the versions 2 to 4, lists a path. One that cannot be read lists nothing. */
function lists(index: Uint8Array, name: string): boolean {
  const view = new DataView(index.buffer, index.byteOffset, index.byteLength);
  try {
    // An entry has ten numbers, the object's name (of 20 bytes, or 32 with SHA-256), flags and path.
    return [20, 32].some((hash) => pathsOf(index, view, 40 + hash).includes(name));
  } catch {
    return false;
  }
}

function pathsOf(index: Uint8Array, view: DataView, flagsAt: number): string[] {
  const version = view.getUint32(4);
  const paths: string[] = [];
  let bytes = new Uint8Array();
  let at = 12;
  for (let count = view.getUint32(8); count > 0; count--) {
    const start = at;
    const flags = view.getUint16(at + flagsAt);
    at += flagsAt + ((flags & 0x4000) !== 0 ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      // Version 4 tells how much to cut off the path before, and what to put in its place.
      const cut = varint(view, at);
      kept = bytes.length - cut.value;
      at = cut.next;
    }
    const end = index.indexOf(0, at);
    bytes = new Uint8Array([...bytes.subarray(0, kept), ...index.subarray(at, end)]);
    // The flags hold the length of the path, up to 4095; else the entries are of the other size.
    if (end < 0 || (flags & 0xfff) !== Math.min(bytes.length, 0xfff)) return [];
    paths.push(new TextDecoder().decode(bytes));
    at = version === 4 ? end + 1 : start + (Math.floor((end - start) / 8) + 1) * 8;
  }
  return paths;
}

/** A number of seven bits a byte, each further byte one up, as git packs offsets. */
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

/** Whether the last fitting line of a folder's `.gitignore` covers the file. */
function ignores(folder: URL, file: URL): boolean {
  const bytes = read(new URL(".gitignore", folder));
  if (bytes === undefined) return false;
  const name = decodeURIComponent(file.href.slice(folder.href.length));
  let ignored = false;
  for (const line of new TextDecoder().decode(bytes).split(/\r?\n/)) {
    const pattern = line.trim();
    if (pattern === "" || pattern.startsWith("#")) continue;
    const negated = pattern.startsWith("!");
    if (fits(negated ? pattern.slice(1) : pattern, name)) ignored = !negated;
  }
  return ignored;
}

function fits(pattern: string, name: string): boolean {
  if (pattern.endsWith("/")) {
    return `/${name}`.includes(`/${pattern.replace(/^\//, "")}`);
  }
  const anchored = pattern.replace(/\/$/, "").includes("/");
  const body = pattern.replace(/^\//, "").replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\//g, "\u0000").replace(/\*/g, "[^/]*").replace(/\?/g, "[^/]")
    .replaceAll("\u0000", "(?:.*/)?");
  return new RegExp(`^${anchored ? "" : "(?:.*/)?"}${body}$`).test(name);
}
