import { UsageError } from "./output.ts";
import { readInputText } from "./input.ts";
import type { DownloadItem } from "../api/download/items.ts";

/**
 * Reads a list of downloads: one path or URL per line, optionally followed by the name under which
 * to save the file in the folder. The default name is the last part of the path. Lines that start
 * with `#` are ignored.
 *
 * @param list Path of the list, or `-` for standard input.
 * @throws {UsageError} If a line has no name, or if its name leads out of the folder or to a hidden
 * file.
 */
export async function readList(list: string, folder: string): Promise<DownloadItem[]> {
  const where = list === "-" ? "standard input" : list;
  const text = await readInputText("--list", list);
  const lines = new Map<string, number>();
  return text.split(/\r\n?|\n/).flatMap((line, at): DownloadItem[] => {
    const [, input, name = ""] = /^([^\s#]\S*)\s*(.*)$/s.exec(line.trim()) ?? [];
    if (input === undefined) return [];
    const file = name === "" ? nameIn(input) : inside(name);
    if (file === undefined) {
      throw new UsageError(
        `Line ${at + 1} of ${where} has no file name, or one that is hidden or outside ${folder}`,
        "add the file after the address, such as /v1/stations stations.json",
      );
    }
    const earlier = lines.get(file);
    if (earlier !== undefined) {
      throw new UsageError(
        `Lines ${earlier} and ${at + 1} of ${where} are both saved as ${file}`,
        "write a different file name after one of the addresses, for example: /v1/stations stations.json",
      );
    }
    lines.set(file, at + 1);
    return [[input, `${folder}/${file}`]];
  });
}

/** Characters that at least one system does not allow in file names. */
// deno-lint-ignore no-control-regex -- control characters are among them
const UNUSABLE = /[\\/:*?"<>|\u0000-\u001f]/g;

/** Returns the last part of a path as the name of a file; `undefined` if the path has no name. */
function nameIn(input: string): string | undefined {
  const part = URL.parse(input, "http://nowhere.invalid")?.pathname.split("/").at(-1) ?? "";
  let name = part;
  try {
    name = decodeURIComponent(part);
  } catch {
    // The text after a % is not an encoded character, so the name is used without decoding.
  }
  return inside(name.replace(UNUSABLE, "_"));
}

/**
 * Returns a path in the folder, with `/` between its parts. Returns `undefined` if the path leads
 * out of the folder or has a hidden part, because a list from someone else must not be able to
 * write to `.env` or `.git`.
 */
function inside(file: string): string | undefined {
  const parts = file.split(Deno.build.os === "windows" ? /[\\/]/ : "/");
  const isNamed = (part: string) => part.trim() !== "" && !part.startsWith(".");
  const isInside = parts.every((part) => isNamed(part) || part === ".");
  return isInside && parts.at(-1) !== "." && !/^[A-Za-z]:/.test(file)
    ? parts.filter((part) => part !== ".").join("/")
    : undefined;
}
