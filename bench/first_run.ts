import { serveLocal } from "../tests/support/local_server.ts";
import { compare, interleave } from "./interleave.ts";
import { type Part, rounds } from "./part.ts";
import { pathOf, run } from "./processes.ts";
import { releasedFolder } from "./released.ts";
import { countTarget, figure, rangeText, ratioTarget } from "./report.ts";

const ROUNDS = 25;
const LATENCY_MS = 50;
const ONE_LINE = "module of one line";
const RELEASED = "released file";

/** The first `import` by URL, with an empty cache and a server that seems far away. */
export const firstRun: Part = async (effort) => {
  const bodies: Readonly<Record<string, string>> = {
    [ONE_LINE]: "export {};\n",
    [RELEASED]: await Deno.readTextFile(`${await releasedFolder()}/mod.js`),
  };
  let requests = 0;
  await using server = serveLocal(async (request) => {
    requests++;
    await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    return new Response(bodies[name], { headers: { "content-type": "text/javascript" } });
  });
  const sent = new Map<string, number>();
  const subjects = Object.keys(bodies).map((name) => ({
    name,
    async measure() {
      requests = 0;
      const milliseconds = await runEmpty(`${server.origin}/${encodeURIComponent(name)}`);
      sent.set(name, requests);
      return milliseconds;
    },
  }));
  const summaries = compare(await interleave(subjects, rounds(ROUNDS, effort)), ONE_LINE);
  return {
    part: "first-run",
    tables: [{
      title: `First import by URL, ${LATENCY_MS} ms a request`,
      columns: ["module", "requests", "size", "median", "ratio", "95 % interval"],
      rows: [...summaries].map(([name, { median, ratio, interval }]) => [
        name,
        sent.get(name) ?? NaN,
        `${figure((bodies[name]?.length ?? NaN) / 1024)} KiB`,
        `${figure(median)} ms`,
        ratio,
        rangeText(interval),
      ]),
    }],
    targets: [
      countTarget("requests, released file", sent.get(RELEASED) ?? NaN, 1),
      ...ratioTarget(
        "import of the released file by URL over a module of one line",
        summaries.get(RELEASED),
        1.65,
      ),
    ],
  };
};

/** Runs a module by its URL with an empty cache: milliseconds of the process. */
async function runEmpty(url: string): Promise<number> {
  const cache = await Deno.makeTempDir({ prefix: "bench-cache-" });
  try {
    const args = ["run", "--quiet", "--no-config", "--no-lock", "-A", url];
    const program = { command: Deno.execPath(), args, cwd: pathOf("."), env: { DENO_DIR: cache } };
    return (await run(program)).milliseconds;
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}
