/** The items of `downloadAll()`: an address and a file each, checked before anything is sent. */
import { pathOfFile } from "./download.ts";
import { filePath, fileUrl } from "../../files/paths.ts";
import { ConfigError, typeError } from "../../errors/errors.ts";

/**
 * An address, and the file in which to save the response. The type also accepts an array of
 * strings, because TypeScript infers that type for `rows.map((row) => [row.url, row.name])`.
 */
export type DownloadItem =
  | readonly [input: string | URL | Request, file: string | URL]
  | readonly string[];

/** Whether two file names that differ only in case are the same file. */
const FOLDS_CASE = Deno.build.os === "windows" || Deno.build.os === "darwin";

/** A checked item. */
export interface Task {
  readonly input: string | URL | Request;
  readonly path: string;
}

/**
 * Checks all items.
 *
 * @throws {TypeError} If an item is not a pair of an address and a file.
 * @throws {ConfigError} `INVALID_SETTING` if two items have the same file.
 */
export function checkedItems(items: Iterable<DownloadItem>): Task[] {
  if (!(Symbol.iterator in Object(items))) {
    throw typeError(
      "downloadAll() takes an array or another iterable of pairs [input, file]; collect an async " +
        "iterable with Array.fromAsync()",
    );
  }
  const targets = new Set<string>();
  return Array.from(items, (item, index) => {
    const task = taskOf(item, index);
    const file = filePath(fileUrl(task.path));
    const target = FOLDS_CASE ? file.toLowerCase() : file;
    if (targets.has(target)) {
      throw new ConfigError(
        "INVALID_SETTING",
        `Cannot save ${task.path}: item ${index + 1} and an earlier item have the same file`,
        "use a different file for each item",
      );
    }
    targets.add(target);
    return task;
  });
}

function taskOf(item: unknown, index: number): Task {
  if (!Array.isArray(item) || item.length !== 2) {
    throw typeError(`downloadAll() takes pairs [input, file]; item ${index + 1} is not a pair`);
  }
  const [input, file] = item as unknown[];
  if (typeof input === "string" || input instanceof URL || input instanceof Request) {
    return { input, path: pathOfFile(file, `The file of item ${index + 1}`) };
  }
  throw typeError(`The input of item ${index + 1} must be a string, a URL or a Request`);
}

/** A base address that makes it possible to parse a path without a host. */
const NOWHERE = "http://nowhere.invalid";

/**
 * Returns an address without its secrets: the query may contain keys and signatures, and a user
 * name and a password may precede the host.
 */
export function withoutQuery(input: string | URL | Request): string {
  const text = input instanceof Request ? input.url : String(input);
  const url = URL.parse(text, NOWHERE);
  if (url === null) return "an address that cannot be parsed";
  return url.origin === NOWHERE ? text.replace(/[?#].*$/s, "") : url.origin + url.pathname;
}
