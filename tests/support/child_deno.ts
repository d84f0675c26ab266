/** Runs scripts in separate Deno processes, which do not inherit the environment of this one. */

/** Address of the module's entry point. */
export const MOD_URL: string = import.meta.resolve("../../mod.ts");

/** The entry point's path as a script imports it: on Windows, a slash precedes the drive. */
export const MOD_PATH: string = decodeURIComponent(new URL(MOD_URL).pathname);

export interface ChildResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ChildOptions {
  /** Working folder. */
  cwd: string;
  /** Flags before the script, such as `--allow-net`. */
  flags?: string[];
  /** Arguments after the script. */
  args?: string[];
  /** Further environment variables. */
  env?: Record<string, string>;
  /** Ends the process when it aborts. */
  signal?: AbortSignal;
}

// Variables that say where Deno keeps its packages, and how it reaches a registry for a missing one.
const NEEDED = ["HOME", "PATH", "DENO_DIR", "NPM_CONFIG_REGISTRY", "SSL_CERT_FILE", "DENO_CERT"];
// Windows programs need these to find the network, the temporary folder and other programs.
NEEDED.push("LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE");
// Without this, each process under Wine would leave a copy of Deno: see windows_command.ts.
NEEDED.push("DENO_DISABLE_NODE_SHIM");

/** The part of this process's environment that a child inherits. */
export function neededVariables(): Record<string, string> {
  const variables = NEEDED.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(variables),
    // Otherwise Deno asks for its latest version once a day, through any proxy that a test sets.
    DENO_NO_UPDATE_CHECK: "1",
    // Otherwise a test would use the settings of the person who runs it. No folder can be made here.
    XDG_CONFIG_HOME: "/dev/null/config",
  };
}

/** Runs a program without input, and waits for its end. */
export async function outputOf(
  program: string,
  options: Deno.CommandOptions,
): Promise<ChildResult> {
  return decoded(await new Deno.Command(program, { stdin: "null", ...options }).output());
}

/** Runs a program without input. @returns Its output. @throws {Error} If it fails. */
export async function mustRun(program: string, options: Deno.CommandOptions): Promise<string> {
  const { code, stdout, stderr } = await outputOf(program, options);
  if (code !== 0) throw new Error(`${program} failed (${code}): ${stderr}`);
  return stdout;
}

/** The result of a process with its output as text. */
export function decoded({ code, stdout, stderr }: Deno.CommandOutput): ChildResult {
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Writes the script into the working folder and runs it, without a prompt and without colors. */
export async function runScript(script: string, options: ChildOptions): Promise<ChildResult> {
  const { cwd, flags = [], args = [], env = {}, signal } = options;
  const name = `script-${crypto.randomUUID()}.ts`;
  await Deno.writeTextFile(`${cwd}/${name}`, script);
  const result = await outputOf(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-lock", ...flags, name, ...args],
    cwd,
    clearEnv: true,
    env: { ...neededVariables(), NO_COLOR: "1", ...env },
    ...(signal && { signal }),
  });
  await Deno.remove(`${cwd}/${name}`);
  return result;
}

/** Works in a temporary folder outside any project, which is then removed. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "platform-auth-" }));
  try {
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The names of the files in a folder, sorted. */
export function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}
