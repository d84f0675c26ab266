import { environment } from "./environment.ts";
import { filePath, fileUrl, folderOf } from "./paths.ts";
import { lookAt, realPath } from "./look.ts";
import { printable } from "../errors/escape.ts";

/** What git does with a file. `outside`: it is in no work tree. `unknown`: git could not be asked. */
export type GitTracking = "tracked" | "untracked" | "outside" | "unknown";

/** After this time git is killed, and its answer is not known. */
const LIMIT_MS = 1_000;

/**
 * What a repository's own configuration may not do: run a program when git reads the index, or when
 * git misses an object and fetches it.
 */
const NO_PROGRAMS = {
  args: ["--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false"],
  env: { GIT_ALLOW_PROTOCOL: "none", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0" },
};

/**
 * All that git gets of the environment: where its programs and the user's own configuration are.
 * Others, such as `GIT_DIR` in a hook, would make it answer about another repository.
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

/** The answers of this process by path: a refresh does not run git again. */
const answers = new Map<string, Promise<GitTracking>>();

/**
 * Asks git whether it tracks a `.env`, or the temporary file that a killed process left beside it.
 *
 * @param again Whether git is asked although this process knows an answer. Default: no.
 */
export function gitTracking(path: string, again = false): Promise<GitTracking> {
  const known = answers.get(path);
  if (known !== undefined && !again) return known;
  const answer = askForTracking(secretFiles(path));
  answers.set(path, answer);
  return answer;
}

async function askForTracking(files: readonly string[]): Promise<GitTracking> {
  if (!isInWorkTree(files)) return "outside";
  const tracked = await askGit(["--literal-pathspecs", "ls-files", "-z"], files);
  if (tracked === undefined) return "unknown";
  return tracked === "" ? "untracked" : "tracked";
}

/**
 * Asks git whether it ignores a `.env` and the temporary file beside it.
 *
 * @returns `undefined` if git may not be run without a permission prompt, or does not answer.
 */
export async function gitIgnores(path: string): Promise<boolean | undefined> {
  const files = secretFiles(path);
  if (!isInWorkTree(files)) return undefined;
  // It prints a line for each file that it ignores. Without the index: what is tracked counts, too.
  const ignored = await askGit(["check-ignore", "--no-index"], files);
  return ignored === undefined ? undefined : ignored.split("\n").length - 1 === files.length;
}

/** Whether git may be run without a permission prompt. */
export function mayRunGit(): boolean {
  return Deno.permissions.querySync({ name: "run", command: "git" }).state === "granted";
}

/** Runs git on these files, and returns what it prints; `undefined` if it cannot run or cannot tell. */
async function askGit(
  command: readonly string[],
  files: readonly string[],
): Promise<string | undefined> {
  if (!mayRunGit()) return undefined;
  try {
    const child = new Deno.Command("git", {
      args: [...NO_PROGRAMS.args, ...command, "--", ...files],
      cwd: folderOf(files[0] ?? ""),
      clearEnv: true,
      env: { ...passedOn(), ...NO_PROGRAMS.env },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const output = child.stdout.getReader();
    const limit = AbortSignal.timeout(LIMIT_MS);
    const stop = () => {
      kill(child);
      // A program that git started can hold the pipe open for longer.
      output.cancel().catch(() => {});
    };
    limit.addEventListener("abort", stop);
    let text = "";
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await output.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    const { code } = await child.status;
    limit.removeEventListener("abort", stop);
    // `check-ignore` ends with 1 if git ignores none of the files.
    return limit.aborted || code > 1 ? undefined : text;
  } catch {
    return undefined;
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended.
  }
}

function passedOn(): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = environment(name);
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

/** Whether a folder on the way up has a `.git`. Outside a work tree git need not run at all. */
function isInWorkTree([file = ""]: readonly string[]): boolean {
  for (let folder = fileUrl(folderOf(file));; folder = new URL("..", folder)) {
    if (lookAt(filePath(new URL(".git", folder)))) return true;
    if (new URL("..", folder).href === folder.href) return false;
  }
}

/** What to do so that git ignores a `.env`, and all that this module puts beside it. */
export function ignoreAdvice(path: string): string {
  const lines = ignoreLines(path);
  const advice = `add the line${lines.length > 1 ? "s" : ""} ${lines.join(" and ")} to .gitignore`;
  const there = readIgnoreFile(ignoreFileBeside(path))?.split(/\r?\n/) ?? [];
  const isThere = lines.every((line) => there.includes(line));
  const takesBack = there.findLast((line) => line.startsWith("!"));
  return isThere && takesBack !== undefined && !lines.includes(takesBack)
    ? `${advice}, behind its line ${printable(takesBack)}`
    : advice;
}

/**
 * Adds these lines to the `.gitignore` beside a `.env` in a work tree, unless git ignores it already.
 * At the end they count, whatever the lines above say.
 *
 * @returns The lines that were added. None also where the file cannot be written: nothing is thrown.
 */
export async function ignoreInGit(path: string): Promise<string[]> {
  if (!isInWorkTree(secretFiles(path))) return [];
  const ignored = await gitIgnores(path);
  if (ignored) return [];
  const ignoreFile = ignoreFileBeside(path);
  const text = readIgnoreFile(ignoreFile);
  if (text === undefined) return [];
  try {
    const there = text.split(/\r?\n/);
    // Where git says that the lines there are not enough, they stand above one that takes them back.
    const added = ignoreLines(path).filter((line) => ignored === false || !there.includes(line));
    if (added.length === 0) return [];
    const joint = text === "" || text.endsWith("\n") ? "" : "\n";
    Deno.writeTextFileSync(ignoreFile, `${joint}${added.join("\n")}\n`, { append: true });
    return added;
  } catch {
    return [];
  }
}

/**
 * What a `.gitignore` says; `undefined` if it must not be edited: a link of the project may lead out of
 * it.
 */
function readIgnoreFile(path: string): string | undefined {
  const found = lookAt(path, Deno.lstatSync);
  if (found === undefined) return "";
  try {
    return found.isFile ? Deno.readTextFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function ignoreFileBeside(path: string): string {
  return `${folderOf(secretFiles(path)[0])}.gitignore`;
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
