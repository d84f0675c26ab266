import { throwIfBug } from "../errors/errors.ts";
import { environment } from "./environment.ts";
import { folderOf, foldersUp } from "./paths.ts";
import { infoAt, mayRead, resolvedPath } from "./file_info.ts";
import { runProgram } from "./run_program.ts";

/**
 * How git treats a file. `outside` means that the file is not in a work tree; `unknown` means that
 * git could not be run or failed.
 */
export type GitTracking = "tracked" | "untracked" | "outside" | "unknown";

const LIMIT_MS = 5_000;

/**
 * Options and variables for git. Without them, the configuration of a repository could make git run
 * a program when git reads the index or fetches a missing object.
 */
const NO_PROGRAMS = {
  args: ["--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false"],
  env: { GIT_ALLOW_PROTOCOL: "none", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0" },
};

/**
 * The only variables that are passed to git. With them, git finds its programs and the user's
 * configuration. Other variables, such as `GIT_DIR` in a hook, could lead git to another
 * repository.
 */
const PASSED_ON = [
  "PATH",
  "HOME",
  "XDG_CONFIG_HOME",
  "USERPROFILE",
  "HOMEDRIVE",
  "HOMEPATH",
  "ProgramData",
  "SystemRoot",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_SYSTEM",
  "GIT_CONFIG_NOSYSTEM",
];

/**
 * Whether git tracks a `.env` or the temporary file that a killed process left next to the `.env`.
 */
export async function gitTracking(path: string): Promise<GitTracking> {
  const files = secretFiles(path);
  if (isInWorkTree(path) === false) return "outside";
  const tracked = await runGit(["--literal-pathspecs", "ls-files", "-z"], files);
  if (tracked === undefined) return "unknown";
  return tracked === "" ? "untracked" : "tracked";
}

/**
 * Whether git ignores a `.env` and the temporary file next to it. `undefined` if git fails, or if
 * the permission to run git is missing.
 */
export async function gitIgnores(path: string): Promise<boolean | undefined> {
  const files = secretFiles(path);
  if (isInWorkTree(path) === false) return undefined;
  // The command prints one line for each ignored file. With `--no-index`, it also prints a tracked
  // file that `.gitignore` names.
  const ignored = await runGit(["check-ignore", "--no-index"], files);
  return ignored === undefined ? undefined : ignored.split("\n").length - 1 === files.length;
}

/**
 * Whether git may be run without a permission prompt. A check that uses git is skipped rather than
 * prompting the user.
 */
export function mayRunGit(): boolean {
  return Deno.permissions.querySync({ name: "run", command: "git" }).state === "granted";
}

async function runGit(
  command: readonly string[],
  files: readonly [string, string],
): Promise<string | undefined> {
  if (!mayRunGit()) return undefined;
  const passedOn = PASSED_ON.map((name) => [name, environment(name)])
    .filter(([, value]) => value !== undefined);
  const ended = await runProgram(["git", ...NO_PROGRAMS.args, ...command, "--", ...files], {
    cwd: folderOf(files[0]),
    clearEnv: true,
    env: { ...Object.fromEntries(passedOn), ...NO_PROGRAMS.env },
    limitMs: LIMIT_MS,
  });
  // `check-ignore` ends with 1 if git ignores none of the files.
  return ended.kind === "done" && ended.status <= 1 ? ended.output : undefined;
}

/**
 * Whether a folder above the file contains a `.git`; `undefined` if a folder cannot be read without
 * a permission prompt. This check is faster than starting git.
 */
function isInWorkTree(path: string): boolean | undefined {
  const places = [...foldersUp(folderOf(secretFiles(path)[0]))].map((folder) => `${folder}.git`);
  const readable = places.filter(mayRead);
  if (readable.some((place) => infoAt(place))) return true;
  return readable.length < places.length ? undefined : false;
}

/** Returns the advice that makes git ignore a `.env` and the temporary file next to it. */
export function ignoreAdvice(path: string): string {
  const lines = ignoreLines(path);
  return `add the line${lines.length > 1 ? "s" : ""} ${lines.join(" and ")} to .gitignore`;
}

/**
 * Adds the lines that make git ignore a `.env` to the `.gitignore` next to it, unless the `.env` is
 * outside a work tree or git already ignores it.
 *
 * @returns The lines that were added; none if the file cannot be written.
 */
export async function ignoreInGit(path: string): Promise<string[]> {
  if (!isInWorkTree(path) || await gitIgnores(path)) return [];
  const ignoreFile = `${folderOf(secretFiles(path)[0])}.gitignore`;
  try {
    const isLink = infoAt(ignoreFile, Deno.lstatSync)?.isSymlink;
    // A link in a cloned project can lead out of the project.
    if (isLink) return [];
    const text = infoAt(ignoreFile) ? Deno.readTextFileSync(ignoreFile) : "";
    const present = text.split(/\r?\n/);
    const added = ignoreLines(path).filter((line) => !present.includes(line));
    if (added.length === 0) return [];
    const joint = text === "" || text.endsWith("\n") ? "" : "\n";
    Deno.writeTextFileSync(ignoreFile, `${joint}${added.join("\n")}\n`, { append: true });
    return added;
  } catch (error) {
    throwIfBug(error);
    return [];
  }
}

function ignoreLines(path: string): string[] {
  const [file] = secretFiles(path);
  const name = file.slice(folderOf(file).length);
  return name.startsWith(".env") ? [".env*", "!.env.example"] : [`${name}*`];
}

/** Returns the command that makes git stop tracking a `.env` and the temporary file next to it. */
export function untrackCommand(path: string): string {
  return `git rm --cached --ignore-unmatch ${secretFiles(path).join(" ")}`;
}

/**
 * Returns the file that the path finally links to, and the temporary file that a killed process can
 * leave next to it. Both contain tokens.
 */
function secretFiles(path: string): [file: string, temporary: string] {
  const file = resolvedPath(path);
  return [file, `${file}.tmp`];
}
