import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

/** A command line that does its work and ends. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The output of a program, and the duration of the whole process. */
export interface Finished {
  readonly stdout: string;
  readonly milliseconds: number;
}

/** @throws {Error} If the program fails, with the end of its error output. */
export async function run(program: Program): Promise<Finished> {
  const { command, args, cwd, env = {} } = program;
  const started = performance.now();
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  }).output();
  const milliseconds = performance.now() - started;
  if (code !== 0) {
    const text = new TextDecoder().decode(stderr).trim().split("\n").slice(-4).join("\n");
    throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${text}`);
  }
  return { stdout: new TextDecoder().decode(stdout), milliseconds };
}

/** Peak resident memory of a program in MiB; `NaN` if `/usr/bin/time` is missing. */
export async function peakMemory(program: Program): Promise<number> {
  try {
    const report = await Deno.makeTempFile();
    const args = ["-f", "%M", "-o", report, program.command, ...program.args];
    await run({ ...program, command: "/usr/bin/time", args });
    const kibibytes = Number(await Deno.readTextFile(report));
    await Deno.remove(report);
    return kibibytes / 1024;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NaN;
    throw error;
  }
}

/** A server in a separate process, and the first line that it printed, read as JSON. */
export interface Server<Hello> extends AsyncDisposable {
  readonly hello: Hello;
}

/** Starts a script of this folder that prints one line of JSON when it is ready. */
export async function startServer<Hello>(
  script: string,
  args: readonly string[] = [],
): Promise<Server<Hello>> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", pathOf(script), ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${script} ended before it was ready`);
    text += value;
  }
  return {
    hello: JSON.parse(text.slice(0, text.indexOf("\n"))),
    async [Symbol.asyncDispose]() {
      child.kill();
      await reader.cancel();
      await child.status;
    },
  };
}

/** Absolute path of a file. A relative path starts at this folder. */
export function pathOf(name: string): string {
  return isAbsolute(name) ? name : fileURLToPath(new URL(name, import.meta.url));
}
