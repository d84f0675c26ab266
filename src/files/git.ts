import { throwIfBug } from "../errors/errors.ts";
import { infoAt, mayRead, resolvedPath } from "./file_info.ts";
import { folderOf, foldersUp } from "./paths.ts";

/**
 * Whether the `.gitignore` files from a `.env` up to the folder with `.git` cover the `.env` and the
 * temporary file next to it; `undefined` if no folder has a `.git`.
 *
 * This check is simple: it reads the patterns for files in `.gitignore`, but neither patterns for
 * folders nor those in git's own configuration. So a file that git ignores may be reported as not
 * covered.
 */
export function isGitIgnored(path: string): boolean | undefined {
  // Of a link, git stores only the link. The secrets are in its target, so the target is checked.
  const file = resolvedPath(path);
  const folders = [...foldersUp(folderOf(file))];
  const root = folders.findIndex((folder) => mayRead(`${folder}.git`) && infoAt(`${folder}.git`));
  if (root === -1) return undefined;
  // The last pattern that matches decides, and a nearer `.gitignore` comes after those above it.
  const lines = folders.slice(0, root + 1).reverse().flatMap((folder) =>
    (ignoreText(folder) ?? "").split("\n").map((line) => ({ folder, line: line.trimEnd() }))
  );
  return [file, `${file}.tmp`].every((secret) => {
    const last = lines.findLast(({ folder, line }) => matches(line, secret.slice(folder.length)));
    return last?.line.startsWith("!") === false;
  });
}

/** Whether a line of a `.gitignore` matches a path relative to its folder. */
function matches(line: string, path: string): boolean {
  const pattern = line.replace(/^!?(?:\*\*\/)?/, "");
  // A pattern without a slash matches names in any folder.
  const subject = pattern.includes("/") ? path.replaceAll("\\", "/") : path.replace(/.*[\\/]/, "");
  const glob = RegExp.escape(pattern.replace(/^\//, "")).replaceAll("\\*", "[^/]*");
  return new RegExp(`^${glob}$`).test(subject);
}

/**
 * Returns the text of the `.gitignore` in a folder, which is empty if there is no such file;
 * `undefined` if the file cannot be read without a prompt, or if it is a link. Git does not follow
 * such a link, which in a cloned project may lead out of the project.
 */
function ignoreText(folder: string): string | undefined {
  const file = `${folder}.gitignore`;
  if (!mayRead(file)) return undefined;
  const info = infoAt(file, Deno.lstatSync);
  if (info === undefined) return "";
  if (!info.isFile) return undefined;
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    throwIfBug(error);
    return undefined;
  }
}

/** Returns the advice that makes git ignore a `.env` and the temporary file next to it. */
export function ignoreAdvice(path: string): string {
  return `add ${ignoreLines(path).join(" and ")} to .gitignore`;
}

/**
 * Appends the lines that make git ignore a `.env` to the `.gitignore` next to it, unless a
 * `.gitignore` already covers it or no folder above has a `.git`.
 *
 * @returns The lines that were added; none if the file cannot be written.
 */
export function ignoreInGit(path: string): string[] {
  if (isGitIgnored(path) !== false) return [];
  const folder = folderOf(resolvedPath(path));
  const text = ignoreText(folder);
  if (text === undefined) return [];
  const joint = text === "" || text.endsWith("\n") ? "" : "\n";
  const lines = ignoreLines(path);
  try {
    const added = lines.map((line) => `${line}\n`).join("");
    Deno.writeTextFileSync(`${folder}.gitignore`, joint + added, { append: true });
    return lines;
  } catch (error) {
    throwIfBug(error);
    return [];
  }
}

function ignoreLines(path: string): string[] {
  const file = resolvedPath(path);
  const name = file.slice(folderOf(file).length);
  return name.startsWith(".env") ? [".env*", "!.env.example"] : [`${name}*`];
}
