import { createSession, type DownloadItem } from "../mod.ts";
import { compare, interleave, type Subject, timed } from "./interleave.ts";
import { type Effort, type Part, rounds } from "./part.ts";
import { pathOf, run, startServer } from "./processes.ts";
import { figure, rangeText, ratioTarget, type Table, type Target } from "./report.ts";

const AT = 4;
const OURS = "downloadAll()";
const LOOP = "a loop of fetch";
const CURL = "curl --parallel";

const SETS = [
  // Without a limit: bench/README.md says why one thread cannot be as fast as curl here.
  { name: "files of 20 kB", count: 2_000, path: "20000", full: 12 },
  {
    name: "files of 20 kB, each sent after 10 ms",
    count: 500,
    path: "20000/10",
    full: 6,
    limit: 1.15,
  },
  { name: "files of 50 MB", count: 20, path: "50000000", full: 6, limit: 1.15 },
];

/**
 * Many small files, from a near and from a distant server, and a few large ones, saved four at a
 * time.
 */
export const downloads: Part = async (effort) => {
  await using server = await startServer<{ origin: string }>("file_server.ts");
  const reference = effort === "full" ? CURL : LOOP;
  const tables: Table[] = [];
  const targets: Target[] = [];
  for (const { name, count, path, full, limit } of SETS) {
    const files = effort === "full" ? count : 2;
    const title = `Downloads: ${files.toLocaleString("en-US")} ${name}`;
    const samples = await measure(`${server.hello.origin}/${path}`, files, full, effort);
    const compared = compare(samples, reference);
    tables.push({
      title,
      columns: ["four at once", "median", `ratio to ${reference}`, "95 % interval"],
      rows: [...compared].map(([subject, { median, ratio, interval }]) => [
        subject,
        `${median.toFixed(0)} ms`,
        figure(ratio),
        rangeText(interval),
      ]),
    });
    if (reference === LOOP || limit === undefined) continue;
    targets.push(...ratioTarget(`${title}, over ${CURL}`, compared.get(OURS), limit));
  }
  return { part: "downloads", tables, targets };
};

async function measure(
  address: string,
  count: number,
  full: number,
  effort: Effort,
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
  const curl = (items: DownloadItem[]) => {
    const config = `${folder}/curl.txt`;
    const text = items.map(([url, file]) => `url = "${url}"\noutput = "${file}"`).join("\n");
    Deno.writeTextFileSync(config, text);
    const args = ["--silent", "--parallel", "--parallel-max", String(AT), "--config", config];
    return run({ command: "curl", args, cwd: pathOf(".") });
  };
  const ours = (items: DownloadItem[]) => session.downloadAll(items, { concurrency: AT });
  const subjects: Subject[] = [
    { name: OURS, measure: () => inFolder(ours) },
    { name: LOOP, measure: () => inFolder(loop) },
  ];
  if (effort === "full") subjects.push({ name: CURL, measure: () => inFolder(curl) });
  try {
    return await interleave(subjects, rounds(full, effort));
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
