import { compare, interleave } from "./interleave.ts";
import { type Part, rounds } from "./part.ts";
import { type Program, run, type Server, startServer } from "./processes.ts";
import { releasedFolder, ROOT } from "./released.ts";
import { figure, rangeText, ratioTarget, type Table, type Target } from "./report.ts";
import type { Fetched } from "./slow_server.ts";
import { median } from "./stats.ts";

const IMPORT_ROUNDS = 25;
const CLONE_ROUNDS = 3;

/** The commands that people run first, in a clone with an empty cache. */
const COMMANDS = [
  { name: "`deno task demo`", args: ["task", "demo"] },
  { name: "`deno task demo` at 1 MB/s", args: ["task", "demo"], bytesPerSecond: 1_000_000 },
  { name: "`deno task sandbox --help`", args: ["task", "sandbox", "--help"] },
  { name: "first cells of notebook 01", args: ["run", "-A", "notebooks/first_cells.ts"] },
];

/** The package that users of the AWS SDK install first, over the same link and without a cache. */
const SDK = "@aws-sdk/client-cognito-identity-provider";

type SlowServer = Server<{ url: string }>;

/** Downloads and duration of the very first run, with an empty cache and a slow network. */
export const firstRun: Part = async (effort) => {
  await using server: SlowServer = await startServer("slow_server.ts", [
    ROOT,
    await releasedFolder(),
  ]);
  const byUrl = await importByUrl(server, rounds(IMPORT_ROUNDS, effort));
  // Without peers, no request leaves this machine.
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

/** `import` by URL, compared with the import of a module of one line. */
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
        1.65,
      ),
    ],
    data: Object.fromEntries(summaries),
  };
}

/** The first commands in a clone, compared with the installation of the AWS SDK. */
async function runInClone(server: SlowServer, count: number): Promise<Found> {
  const folder = await Deno.makeTempDir({ prefix: "bench-clones-" });
  try {
    const clone = `${folder}/clone`;
    await run({ command: "git", args: ["clone", "--quiet", ROOT, clone], cwd: ROOT });
    await Deno.writeTextFile(`${clone}/notebooks/first_cells.ts`, await firstCells(clone));
    const rows: (string | number)[][] = [];
    const targets: Target[] = [];
    const data: Record<string, unknown> = {};
    for (const { name, args, bytesPerSecond = 10_000_000 } of COMMANDS) {
      // From here on, the server has the registry's responses in memory.
      await setLink(server, 0);
      await runEmpty(server, clone, args);
      await setLink(server, bytesPerSecond);
      const runs: Run[] = [];
      for (let i = 0; i < count; i++) runs.push(await runEmpty(server, clone, args));
      const { requests = NaN, packages = NaN, bytes = NaN } = runs[0] ?? {};
      const milliseconds = median(runs.map((one) => one.milliseconds));
      rows.push(
        [name, requests, packages, megabytes(bytes), seconds(milliseconds)],
        [`${name}, second time`, 0, 0, "-", seconds(median(runs.map(({ again }) => again)))],
      );
      targets.push({ claim: `packages: ${name}`, measured: packages, ...atMost(10, "") });
      data[name] = runs;
    }
    const install = async () => {
      const cwd = await Deno.makeTempDir({ dir: folder });
      const flags = ["--no-audit", "--no-fund", `--registry=${server.hello.url}`, "--cache=cache"];
      return await measured(server, { command: "npm", args: ["install", ...flags, SDK], cwd });
    };
    await setLink(server, 0);
    await install();
    await setLink(server, 10_000_000);
    const { requests, packages, bytes, milliseconds } = data[SDK] = await install();
    rows.push([
      `\`npm install ${SDK}\``,
      requests,
      packages,
      megabytes(bytes),
      seconds(milliseconds),
    ]);
    const table = {
      title: "First run, empty cache, registry at 50 ms a request and 10 MB/s",
      columns: ["command", "requests", "packages", "fetched", "time"],
      rows,
    };
    return { table, targets, data };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The code of the first cells of the first notebook, up to the one that imports. */
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

/** The requests and bytes of a run, and its duration. */
interface Measured extends Fetched {
  readonly milliseconds: number;
}

/** A run with an empty cache, and the duration of the next run. */
interface Run extends Measured {
  readonly again: number;
}

/** Runs Deno with an empty cache, and again with the cache that results. */
async function runEmpty(
  server: SlowServer,
  cwd: string,
  args: readonly string[],
): Promise<Run> {
  const cache = await Deno.makeTempDir({ prefix: "bench-cache-" });
  try {
    const env = { DENO_DIR: cache, NPM_CONFIG_REGISTRY: server.hello.url };
    const program = { command: Deno.execPath(), args, cwd, env };
    const first = await measured(server, program);
    return { ...first, again: (await run(program)).milliseconds };
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

async function measured({ hello: { url } }: SlowServer, program: Program): Promise<Measured> {
  await (await fetch(`${url}/~log`)).json();
  const { milliseconds } = await run(program);
  const fetched: Fetched = await (await fetch(`${url}/~log`)).json();
  return { ...fetched, milliseconds };
}

function atMost(limit: number, unit: string): Pick<Target, "limit" | "wanted" | "unit"> {
  return { limit, wanted: "at most", unit };
}

const megabytes = (bytes: number) => `${figure(bytes / 1e6)} MB`;
const seconds = (ms: number) => `${figure(ms / 1_000)} s`;
