import { UsageError } from "./output.ts";
import type { DownloadItem } from "../api/download_all.ts";
import { ConfigError } from "../errors/errors.ts";

/**
 * Reads what to save: one path or URL a line, and behind it, if it is wanted, the file in the folder.
 * Without it the file is named as the last part of the path. Quotes around either are taken off. Lines
 * that begin with `#` are left out.
 *
 * @param list Path of the list; `-`: standard input.
 * @throws {UsageError} For a line without a name, one that leads out of the folder or to a hidden
 *   file, and two for one file.
 */
export async function readList(list: string, folder: string): Promise<DownloadItem[]> {
  const where = list === "-" ? "standard input" : list;
  const text = textOf(await read(list));
  const lineOf = new Map<string, number>();
  const items: DownloadItem[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const [, address, rest = ""] = LINE.exec(line) ?? [];
    if (address === undefined) continue;
    const [input, given] = [unquoted(address), unquoted(rest)];
    const number = index + 1;
    const file = given === "" ? nameIn(input) : inside(given);
    if (file === undefined) {
      throw new UsageError(
        given === ""
          ? `Line ${number} of ${where} names no file, or a hidden one`
          : `Line ${number} of ${where} is saved outside of ${folder}, or as a hidden file`,
        "write the file behind the address, such as /v1/stations stations.json",
      );
    }
    const first = lineOf.get(file);
    if (first !== undefined) {
      throw new UsageError(
        `Lines ${first} and ${number} of ${where} are both saved as ${folder}/${file}`,
        "write another file behind one of the addresses",
      );
    }
    lineOf.set(file, number);
    items.push([input, `${folder}/${file}`]);
  }
  return items;
}

const LINE = /^\s*((?:"[^"]+"|'[^']+')(?=\s|$)|[^\s#]\S*)\s*(.*?)\s*$/;

/** Names with blanks stand in quotes elsewhere, here they need none. */
function unquoted(text: string): string {
  return /^(["'])(.+)\1$/.exec(text)?.[2] ?? text;
}

/** Windows PowerShell writes UTF-16 to a file, with a BOM; anything else is taken as UTF-8. */
function textOf(bytes: Uint8Array<ArrayBuffer>): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

async function read(list: string): Promise<Uint8Array<ArrayBuffer>> {
  if (list === "-") return new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
  try {
    return await Deno.readFile(list);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? ": there is no such file" : "";
    throw new ConfigError("INVALID_SETTING", `Cannot read ${list}${why}`, "check the path", error);
  }
}

/** What no file can be called on one of the systems. */
// deno-lint-ignore no-control-regex -- control characters are among them
const UNUSABLE = /[\\/:*?"<>|\u0000-\u001f]/g;

/** The last part of a path as the name of a file; `undefined` if there is none. */
function nameIn(input: string): string | undefined {
  const part = URL.parse(input, "http://nowhere.invalid")?.pathname.split("/").at(-1) ?? "";
  let name = part;
  try {
    name = decodeURIComponent(part);
  } catch {
    // A % that encodes nothing is a part of the name.
  }
  return inside(name.replace(UNUSABLE, "_"));
}

/**
 * A file in the folder, with `/` between its parts; `undefined` if it leads out of it, or if a part of it
 * is hidden: a list may come from somebody else, who is to write no `.env` and nothing of `.git`.
 */
function inside(file: string): string | undefined {
  const parts = file.split(Deno.build.os === "windows" ? /[\\/]/ : "/");
  const isNamed = (part: string) => part.trim() !== "" && !part.startsWith(".");
  const isInside = parts.every((part, at) => isNamed(part) || (part === "." && at === 0));
  return isInside && parts.at(-1) !== "." && !/^[A-Za-z]:/.test(file)
    ? parts.filter((part) => part !== ".").join("/")
    : undefined;
}
