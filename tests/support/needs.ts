/** Tests that need a program or a feature. Without it, they are ignored, and their names say why. */

/** Why a test cannot run here. */
export interface Lack {
  readonly reason: string;
  /** Whether a program or root would help. A machine that sets CI=true must have it. */
  readonly installable: boolean;
}

const WINDOWS = Deno.build.os === "windows";

/** A requirement that Windows never meets. */
export function missingOnWindows(reason: string): Lack | undefined {
  return WINDOWS ? { reason, installable: false } : undefined;
}

/** POSIX files, with modes and owners. */
export const NOT_ON_WINDOWS: Lack | undefined = missingOnWindows(
  "Windows has no POSIX modes, owners, named pipes and links",
);

/** Signals between processes. On Windows, a process can only be terminated. */
export const NO_SIGNALS: Lack | undefined = missingOnWindows("Windows sends no signals");

/** A Unix shell and the programs that every Unix has. */
export const NO_SHELL: Lack | undefined = missingOnWindows("Windows has no Unix shell") ??
  lackOfPrograms("bash", "sh", "mkfifo");

/** Only root can make files of other users. */
export const ROOT_ONLY: Lack | undefined = NOT_ON_WINDOWS ??
  (Deno.uid() === 0 ? undefined : notInstalled("only root can do this"));

/**
 * The name and options of a test that needs something. With CI=true, a test is not ignored if a
 * program is not installed: it runs and fails.
 */
export function needing(lack: Lack | undefined, name: string): { name: string; ignore: boolean } {
  if (lack === undefined || (lack.installable && Deno.env.get("CI") === "true")) {
    return { name, ignore: false };
  }
  return { name: `${name} (ignored: ${lack.reason})`, ignore: true };
}

/** Registers a test that is ignored if something is missing, as {@linkcode needing} decides. */
export function testNeeding(
  lack: Lack | undefined,
  name: string,
  fn: (t: Deno.TestContext) => void | Promise<void>,
): void {
  Deno.test({ ...needing(lack, name), fn });
}

/** Registers tests that cannot run on some systems, where one ignored test replaces them. */
export function subject(
  lack: Lack | undefined,
  name: string,
  register: (test: typeof Deno.test) => void,
): void {
  const { ignore } = needing(lack, name);
  if (ignore) testNeeding(lack, name, () => {});
  else register(Deno.test);
}

/** The lack of a program that could be installed. */
export function notInstalled(reason: string): Lack {
  return { reason, installable: true };
}

/** The lack of programs of which one is not on `PATH`. */
export function lackOfPrograms(...names: string[]): Lack | undefined {
  const missing = names.find((name) => commandPath(name) === undefined);
  return missing === undefined ? undefined : notInstalled(`${missing} is not installed`);
}

/** Path of the first of these commands that is on `PATH`. */
export function commandPath(...names: string[]): string | undefined {
  return commandPaths(...names)[0];
}

function commandPaths(...names: string[]): string[] {
  const folders = (Deno.env.get("PATH") ?? "").split(WINDOWS ? ";" : ":");
  return names.flatMap((name) => folders.map((folder) => `${folder}/${name}`)).filter(isFile);
}

/** The first Python on `PATH` that has these modules: another Python may come before Debian's. */
export async function pythonWith(...modules: string[]): Promise<string | undefined> {
  for (const python of commandPaths("python3")) {
    if (await runQuietly(python, "-c", `import ${modules.join()}`) === "done") return python;
  }
  return undefined;
}

export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** The missing requirement of a command; `undefined` if it runs and succeeds. */
export async function lackOf(command: string, ...args: string[]): Promise<Lack | undefined> {
  const outcome = await runQuietly(command, ...args);
  if (outcome === "done") return undefined;
  return outcome === "absent"
    ? { reason: `${command} is not installed`, installable: true }
    : { reason: `${command} is not permitted here`, installable: false };
}

/** Runs a command without input and output. */
export async function runQuietly(
  command: string,
  ...args: string[]
): Promise<"done" | "failed" | "absent"> {
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  try {
    const { success } = await new Deno.Command(command, { args, ...quiet }).output();
    return success ? "done" : "failed";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "absent";
    throw error;
  }
}
