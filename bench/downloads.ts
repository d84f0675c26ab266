import { createSession, type DownloadItem } from "../mod.ts";
import { compare, interleave, type Subject, timed } from "./interleave.ts";
import { type Effort, type Part, rounds } from "./part.ts";
import { pathOf, run, startServer } from "./processes.ts";
import { figure, rangeText, ratioTarget, type Table, type Target } from "./report.ts";

const AT = 4;
const OURS = "downloadAll()";
const LOOP = "a loop of fetch";
const CURL = "curl --parallel";
const MOST_KEPT = 100_000;

/**
 * Many small files, from a near and from a distant server, and a few large ones, saved four at a
 * time.
 */
export const downloads: Part = async (effort) => {
  await using server = await startServer<{ origin: string }>("file_server.ts");
  const { origin } = server.hello;
  const sets = [
    // Without a target: bench/README.md says why one thread cannot be as fast as curl here.
    { name: "files of 20 kB", count: scaled(2_000, effort), path: "20000", full: 12 },
    {
      name: "files of 20 kB, each sent after 10 ms",
      count: scaled(500, effort),
      path: "20000/10",
      full: 6,
      limit: 1.15,
    },
    { name: "files of 50 MB", count: scaled(20, effort), path: "50000000", full: 6, limit: 1.15 },
  ];
  const tables: Table[] = [];
  const targets: Target[] = [];
  const data: Record<string, unknown> = {};
  for (const { name, count, path, full, limit } of sets) {
    const title = `Downloads: ${count.toLocaleString("en-US")} ${name}`;
    const samples = await measure(`${origin}/${path}`, count, rounds(full, effort), effort.peers);
    const reference = effort.peers ? CURL : LOOP;
    const compared = compare(samples, reference);
    tables.push({
      title,
      columns: ["four at once", "median", "ratio", "95 % interval"],
      rows: [...compared].map(([subject, { median, ratio, interval }]) => [
        subject,
        `${median.toFixed(0)} ms`,
        figure(ratio),
        rangeText(interval),
      ]),
      notes: [
        `Ratios are to ${reference}. Only downloadAll() waits until each file is on the disk before ` +
        "it renames the file; the others write under the final name at once.",
      ],
    });
    data[title] = [...compared];
    if (!effort.peers || limit === undefined) continue;
    targets.push(...ratioTarget(`${title}, over ${CURL}`, compared.get(OURS), limit));
  }
  const memory = await memoryTable(scaled(MOST_KEPT, effort));
  return { part: "downloads", tables: [...tables, memory], targets, data };
};

function scaled(full: number, { largest }: Effort): number {
  return Math.max(2, Math.round(full * largest));
}

async function measure(
  address: string,
  count: number,
  times: number,
  peers: boolean,
): Promise<Map<string, number[]>> {
  const session = createSession({ envFile: false, apiBaseUrl: address });
  await session.login({ portalToken: "bearer a-portal-token-of-the-benchmark" });
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  const inFolder = async (work: (items: DownloadItem[]) => Promise<unknown>) => {
    const inner = await Deno.makeTempDir({ dir: folder });
    const items = Array.from(
      { length: count },
      (_, at) => [`${address}/${at}`, `${inner}/${at}`] as const,
    );
    const time = await timed(() => work(items));
    // Emptied, not removed: after ext4 has removed thousands of files, it takes ten times as long
    // to create one.
    for (const [, file] of items) await Deno.truncate(file);
    return time;
  };
  const subjects: Subject[] = [
    {
      name: OURS,
      measure: () => inFolder((items) => session.downloadAll(items, { concurrency: AT })),
    },
    { name: LOOP, measure: () => inFolder(loop) },
  ];
  if (peers) {
    const config = await Deno.makeTempFile();
    const measured = (items: DownloadItem[]) => {
      const text = items.map(([url, file]) => `url = "${url}"\noutput = "${file}"`).join("\n");
      Deno.writeTextFileSync(config, text);
      const args = ["--silent", "--parallel", "--parallel-max", String(AT), "--config", config];
      return run({ command: "curl", args, cwd: pathOf(".") });
    };
    subjects.push({ name: CURL, measure: () => inFolder(measured) });
  }
  try {
    return await interleave(subjects, times);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * The code that people write without this module: no token, no checksum, no resuming, and the final
 * name from the start.
 */
async function loop(items: readonly DownloadItem[]): Promise<void> {
  const left = [...items].reverse();
  await Promise.all(Array.from({ length: AT }, async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) {
      const [url, path] = item;
      const { body } = await fetch(url);
      const file = await Deno.open(path, { write: true, createNew: true });
      await body?.pipeTo(file.writable);
    }
  }));
}

async function memoryTable(most: number): Promise<Table> {
  const rows: (string | number)[][] = [];
  for (const count of [100, most]) {
    const flags = ["run", "--quiet", "--no-lock", "-A", "--v8-flags=--expose-gc"];
    const args = [...flags, pathOf("kept_files.ts"), String(count)];
    const { stdout } = await run({ command: Deno.execPath(), args, cwd: pathOf(".") });
    const { kept, grown, held } = JSON.parse(stdout);
    rows.push([kept.toLocaleString("en-US"), `${held.toFixed(1)} MiB`, `${grown.toFixed(1)} MiB`]);
  }
  return {
    title: "Downloads: memory",
    columns: ["files of a generator, all there", "held by the result", "process grown by"],
    rows,
    notes: ["The process also grows by what its garbage collector leaves for later."],
  };
}
