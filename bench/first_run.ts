import { compare, interleave } from "./interleave.ts";
import { type Part, rounds } from "./part.ts";
import { type Program, run, type Server, startServer } from "./processes.ts";
import { releasedFolder, ROOT } from "./released.ts";
import { figure, rangeText, ratioTarget, type Table, type Target } from "./report.ts";
import type { Fetched } from "./slow_server.ts";
import { median } from "./stats.ts";

const IMPORT_ROUNDS = 25;
const CLONE_ROUNDS = 3;

/** The last commit whose lock file lists what tests and benchmarks need, too. */
const OLD_LOCK = "1abf8be";

/** What people run first. */
const COMMANDS = [
  { name: "`deno task demo`", args: ["task", "demo"] },
  { name: "`deno task demo` at 1 MB/s", args: ["task", "demo"], bytesPerSecond: 1_000_000 },
  { name: "`deno task sandbox --help`", args: ["task", "sandbox", "--help"] },
  { name: "first cells of notebook 01", args: ["run", "-A", "notebooks/first_cells.ts"] },
];

type SlowServer = Server<{ url: string }>;

/** What the very first run fetches and takes: the cache is empty, the network slow. */
export const firstRun: Part = async (effort) => {
  await using server: SlowServer = await startServer("slow_server.ts", [
    ROOT,
    await releasedFolder(),
  ]);
  const byUrl = await importByUrl(server, rounds(IMPORT_ROUNDS, effort));
  // Without peers no other machine is asked.
  const inClone = effort.peers ? await runInClone(server, rounds(CLONE_ROUNDS, effort)) : undefined;
  return {
    part: "first-run",
    tables: [...inClone === undefined ? [] : [inClone.table], byUrl.table],
    targets: [...inClone?.targets ?? [], ...byUrl.targets],
    data: { inClone: inClone?.data, byUrl: byUrl.data },
  };
};

interface Found {
  readonly table: Table;
  readonly targets: readonly Target[];
  readonly data: unknown;
}

/** `import` by URL, beside that of a module of one line. */
async function importByUrl(server: SlowServer, count: number): Promise<Found> {
  const paths = {
    "module of one line": "~one-line.js",
    "released file": "~released/mod.js",
    "source": "~source/mod.ts",
  };
  const seen = new Map<string, Fetched>();
  const subjects = Object.entries(paths).map(([name, path]) => ({
    name,
    measure: async () => {
      const args = ["run", "--quiet", "--no-config", "--no-lock", "-A"];
      const url = `${server.hello.url}/${path}`;
      const first = await runEmpty(server, ROOT, [...args, url]);
      seen.set(name, first);
      return first.milliseconds;
    },
  }));
  const summaries = compare(await interleave(subjects, count), "module of one line");
  const requests = seen.get("released file")?.requests ?? NaN;
  return {
    table: {
      title: "First import by URL, 50 ms a request",
      columns: ["module", "requests", "fetched", "median", "ratio", "95 % interval"],
      rows: [...summaries].map(([name, { median, ratio, interval }]) => [
        name,
        seen.get(name)?.requests ?? NaN,
        `${figure((seen.get(name)?.bytes ?? NaN) / 1024)} KiB`,
        `${figure(median)} ms`,
        ratio,
        rangeText(interval),
      ]),
    },
    targets: [
      { claim: "requests, released file", measured: requests, ...atMost(1, "") },
      ...ratioTarget(
        "import of the released file by URL over a module of one line",
        summaries.get("released file"),
        1.3,
      ),
    ],
    data: Object.fromEntries(summaries),
  };
}

/** The first commands in a clone, with the lock file as it is and as it was. */
async function runInClone(server: SlowServer, count: number): Promise<Found> {
  const folder = await Deno.makeTempDir({ prefix: "bench-clones-" });
  try {
    const [now, before] = [`${folder}/now`, `${folder}/before`];
    for (const clone of [now, before]) {
      await run(git("clone", "--quiet", ROOT, clone));
      await Deno.writeTextFile(`${clone}/notebooks/first_cells.ts`, await firstCells(clone));
    }
    const { stdout: lock } = await run(git("show", `${OLD_LOCK}:deno.lock`));
    await Deno.writeTextFile(`${before}/deno.lock`, lock);
    // As it was then, what has no lock file of its own takes the one at the root.
    const config = await Deno.readTextFile(`${before}/deno.json`);
    await Deno.writeTextFile(`${before}/deno.json`, config.replace('"lock": false,', ""));
    const rows: (string | number)[][] = [];
    const targets: Target[] = [];
    const data: Record<string, unknown> = {};
    for (const { name, args, bytesPerSecond = 10_000_000 } of COMMANDS) {
      // What the registry answers is kept from here on.
      await setLink(server, 0);
      for (const clone of [before, now]) await runEmpty(server, clone, args);
      await setLink(server, bytesPerSecond);
      const old = await runEmpty(server, before, args);
      const runs: Run[] = [];
      for (let i = 0; i < count; i++) runs.push(await runEmpty(server, now, args));
      const { requests = NaN, packages = NaN, bytes = NaN } = runs[0] ?? {};
      const milliseconds = median(runs.map((one) => one.milliseconds));
      const share = milliseconds / old.milliseconds;
      const ofOld = [old.requests, old.packages, megabytes(old.bytes), seconds(old.milliseconds)];
      rows.push(
        [name, requests, packages, megabytes(bytes), seconds(milliseconds), share],
        [`${name}, old lock file`, ...ofOld, 1],
        [`${name}, second time`, 0, 0, "-", seconds(median(runs.map(({ again }) => again))), "-"],
      );
      targets.push(
        { claim: `packages: ${name}`, measured: packages, ...atMost(10, "") },
        { claim: `time over the old lock file's: ${name}`, measured: share, ...atMost(0.2, " ×") },
      );
      data[name] = { old, runs };
    }
    const table = {
      title: "First run in a clone, empty cache, registry at 50 ms a request and 10 MB/s",
      columns: ["command", "requests", "packages", "fetched", "time", "ratio"],
      rows,
    };
    return { table, targets, data };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What the first cells of the first notebook do, up to the one that imports. */
async function firstCells(clone: string): Promise<string> {
  const { cells }: { cells: { cell_type: string; source: string | string[] }[] } = JSON.parse(
    await Deno.readTextFile(`${clone}/notebooks/01_portal_token.ipynb`),
  );
  const code = cells.filter(({ cell_type }) => cell_type === "code")
    .map(({ source }) => [source].flat().join(""));
  const first = code.findIndex((text) => text.includes("import"));
  return [...code.slice(0, first + 1), "Deno.exit(0);\n"].join("\n");
}

async function setLink(server: SlowServer, bytesPerSecond: number): Promise<void> {
  const answer = await fetch(`${server.hello.url}/~link/${bytesPerSecond}`);
  await answer.body?.cancel();
}

/** What a run with an empty cache took, and the next one. */
interface Run extends Fetched {
  readonly milliseconds: number;
  readonly again: number;
}

/** Runs Deno with an empty cache, and once more with what is then there. */
async function runEmpty(
  server: SlowServer,
  cwd: string,
  args: readonly string[],
): Promise<Run> {
  const { url } = server.hello;
  const cache = await Deno.makeTempDir({ prefix: "bench-cache-" });
  try {
    const env = { DENO_DIR: cache, NPM_CONFIG_REGISTRY: url };
    const program = { command: Deno.execPath(), args, cwd, env };
    await (await fetch(`${url}/~log`)).json();
    const { milliseconds } = await run(program);
    const fetched: Fetched = await (await fetch(`${url}/~log`)).json();
    return { ...fetched, milliseconds, again: (await run(program)).milliseconds };
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

function git(...args: string[]): Program {
  return { command: "git", args, cwd: ROOT };
}

function atMost(limit: number, unit: string): Pick<Target, "limit" | "wanted" | "unit"> {
  return { limit, wanted: "at most", unit };
}

const megabytes = (bytes: number) => `${figure(bytes / 1e6)} MB`;
const seconds = (ms: number) => `${figure(ms / 1_000)} s`;
