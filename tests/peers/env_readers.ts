/** Reads `.env` files with the programs that people read theirs with. */
import { parse } from "dotenv";
import { parseEnv } from "node:util";
import { type Lack, NO_SHELL } from "../support/needs.ts";
import { assertInert } from "./env_inert.ts";

export type EnvReader = "deno" | "node" | "bash" | "python-dotenv" | "npm-dotenv" | "parse-env";

/** The values that a reader found; `null` if it refused the file. */
export type EnvReading = Record<string, string> | null;

export const ENV_READERS: readonly EnvReader[] = [
  ...["deno", "node", "bash", "python-dotenv", "npm-dotenv", "parse-env"] as const,
];

type ReadFiles = (paths: string[]) => Promise<EnvReading[]>;

// `null` for readers which this machine does not have.
const found = new Map<EnvReader, Promise<ReadFiles | null>>();

/** The program that a reader needs and this machine lacks. */
export async function lackOfReader(reader: EnvReader): Promise<Lack | undefined> {
  if (await find(reader) !== null) return undefined;
  return { reason: `${reader} is not installed`, installable: true };
}

/** The readers that Windows lacks, and why: one reason for all of them. */
export async function lackOnWindows(): Promise<[Set<EnvReader>, Lack | undefined]> {
  const lacking = new Set<EnvReader>();
  for (const reader of NO_SHELL ? ENV_READERS : []) {
    if (await find(reader) === null) lacking.add(reader);
  }
  const reason = `${[...lacking].join(" and ")} not installed`;
  return [lacking, lacking.size > 0 ? { reason, installable: false } : undefined];
}

/**
 * Reads many files, in as few processes as the reader allows. Throws a `RangeError` if bash would run
 * something of a file.
 */
export async function readAllWith(reader: EnvReader, paths: string[]): Promise<EnvReading[]> {
  const read = await find(reader);
  if (read === null) throw new Error(`Cannot read with ${reader}: it is not on this machine`);
  return await read(paths);
}

function find(reader: EnvReader): Promise<ReadFiles | null> {
  const known = found.get(reader);
  if (known) return known;
  const looking = finders[reader]();
  found.set(reader, looking);
  return looking;
}

const finders: Record<EnvReader, () => Promise<ReadFiles | null>> = {
  deno: async () => {
    const given = await denoEnvironment([]);
    return (paths) =>
      twoAtATime(paths, async (path) => {
        const all = await denoEnvironment([`--env-file=${path}`]);
        return all && without(all, (name, value) => given?.[name] === value);
      });
  },
  // `process.loadEnvFile` does the same as `node --env-file`, and reads one file after the other.
  // Without node, Deno puts its own `node` on the path of its children.
  node: () =>
    batchReader([["node", "-e"]], {
      probe: "process.exit(process.loadEnvFile && !process.versions.deno ? 0 : 1)",
      script: `
        const clear = () => { for (const name of Object.keys(process.env)) delete process.env[name]; };
        const read = (path) => {
          clear();
          try { process.loadEnvFile(path); } catch { return null; }
          return { ...process.env };
        };
        const paths = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
        console.log(JSON.stringify(paths.map(read)));`,
    }),
  "python-dotenv": () =>
    batchReader([["python3", "-c"], ["/usr/bin/python3", "-c"], ["python", "-c"]], {
      probe: "import dotenv",
      script: `
import dotenv, json, os, sys
paths = json.load(sys.stdin)
os.environ.clear()
def read(path):
    return {k: v for k, v in dotenv.dotenv_values(path).items() if v is not None}
print(json.dumps([read(path) for path in paths]))`,
    }),
  bash: async () => {
    if (await run(["bash", "--version"]) === null) return null;
    return (paths) => twoAtATime(paths, readWithBash);
  },
  "npm-dotenv": () => Promise.resolve((paths) => Promise.all(paths.map(readWithDotenv))),
  "parse-env": () => Promise.resolve((paths) => Promise.all(paths.map(readWithParseEnv))),
};

/** See tests/support/windows_command.ts. */
const QUIET = { DENO_DISABLE_NODE_SHIM: "1" };

async function denoEnvironment(flags: string[]): Promise<EnvReading> {
  const print = "console.log(JSON.stringify(Deno.env.toObject()))";
  const result = await run([
    ...[Deno.execPath(), "run", "--quiet", "--no-config", "--no-lock", "--no-prompt"],
    ...["--allow-env", ...flags, `data:application/javascript,${print}`],
  ], { clearEnv: true, env: QUIET });
  return result && JSON.parse(result.stdout);
}

async function batchReader(
  interpreters: string[][],
  { probe, script }: { probe: string; script: string },
): Promise<ReadFiles | null> {
  for (const interpreter of interpreters) {
    const [program = ""] = interpreter;
    if (program.startsWith("/") && NO_SHELL) continue;
    if (await run([...interpreter, probe]) === null) continue;
    return async (paths) => {
      const result = await run([...interpreter, script], { input: JSON.stringify(paths) });
      if (result === null) throw new Error(`Cannot read with ${interpreter[0]}: it failed`);
      return JSON.parse(result.stdout);
    };
  }
  return null;
}

async function readWithBash(path: string): Promise<EnvReading> {
  assertInert(await Deno.readTextFile(path));
  const script = 'set -a; . "$1"; exec /usr/bin/env -0';
  const result = await run(["bash", "--norc", "--noprofile", "-c", script, "bash", path], {
    clearEnv: true,
  });
  if (result === null || result.stderr !== "") return null;
  const entries = result.stdout.split("\0").filter((entry) => entry !== "").map(
    (entry): [string, string] => {
      const equals = entry.indexOf("=");
      return [entry.slice(0, equals), entry.slice(equals + 1)];
    },
  );
  return without(Object.fromEntries(entries), (name) => /^(_|PWD|OLDPWD|SHLVL)$/.test(name));
}

async function readWithDotenv(path: string): Promise<EnvReading> {
  return parse(await Deno.readTextFile(path));
}

async function readWithParseEnv(path: string): Promise<EnvReading> {
  const entries = Object.entries(parseEnv(await Deno.readTextFile(path)));
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? ""]));
}

/** `null` when the program is not there or fails. */
async function run(
  [program = "", ...args]: string[],
  { clearEnv = false, input = "", env = {} } = {},
): Promise<{ stdout: string; stderr: string } | null> {
  try {
    const child = new Deno.Command(program, {
      args,
      clearEnv,
      env,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const output = child.output();
    await new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
    const { success, stdout, stderr } = await output;
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return success ? { stdout: text(stdout), stderr: text(stderr) } : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function twoAtATime<Item, Result>(
  items: Item[],
  use: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const remaining = items.entries();
  const work = async () => {
    for (const [at, item] of remaining) results[at] = await use(item);
  };
  await Promise.all([work(), work()]);
  return results;
}

function without(
  record: Record<string, string>,
  drop: (name: string, value: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter((entry) => !drop(...entry)));
}
