import { createSession } from "../mod.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { type Caller, peerCallers } from "./peer_callers.ts";
import { summaryColumns, summaryRows, type Table, type Target } from "./report.ts";

/** Many short rounds: what else the machine does comes in bursts, which then meet few of them. */
const LOADS = [
  { size: 1_024, concurrent: 1, calls: 100, times: 90 },
  { size: 1_024, concurrent: 64, calls: 640, times: 60 },
  { size: 1_048_576, concurrent: 1, calls: 10, times: 60 },
  { size: 1_048_576, concurrent: 64, calls: 64, times: 30 },
];

/** What a call costs over a bare `fetch` with the same header, beside other wrappers, over real connections. */
export const perCall: Part = async (effort) => {
  await using world = await startLoadWorld();
  const session = createSession(world.options);
  await session.login();
  const token = await session.accessToken();
  const headers = { authorization: `bearer ${token}` };
  const { callers, skipped } = effort.peers
    ? await peerCallers(token)
    : { callers: [], skipped: [] };
  const all: Caller[] = [
    { name: "bare fetch", get: async (url) => await whole(await fetch(url, { headers })) },
    { name: "authFetch", get: async (url) => await whole(await session.authFetch(url)) },
    ...callers,
  ];
  const tables: Table[] = [];
  const targets: Target[] = [];
  const data: Record<string, unknown> = {};
  for (const { size, concurrent, calls, times } of LOADS) {
    const url = `${world.url}/bytes/${size}`;
    const samples = await interleave(
      all.map(({ name, get }) => ({
        name,
        measure: async () => {
          const milliseconds = await timed(() => drain(get, url, calls, concurrent));
          return milliseconds * 1_000 / calls;
        },
      })),
      rounds(times, effort),
      2,
    );
    const summaries = compare(samples, "bare fetch");
    const way = concurrent === 1 ? "one after the other" : `${concurrent} at a time`;
    const title = `Per call: ${size / 1_024} KiB, ${way}`;
    tables.push({
      title,
      columns: summaryColumns("client", "bare fetch"),
      rows: summaryRows(summaries, "µs"),
      notes: skipped,
    });
    data[title] = Object.fromEntries(summaries);
    targets.push({
      claim: `authFetch over bare fetch, ${size / 1_024} KiB, ${way}`,
      measured: summaries.get("authFetch")?.ratio ?? NaN,
      limit: 1.03,
      wanted: "at most",
      unit: " ×",
    });
  }
  return { part: "per-call", tables, targets, data };
};

async function whole(response: Response): Promise<ArrayBuffer> {
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return await response.arrayBuffer();
}

/** Makes that many calls, so many at a time. */
async function drain(
  get: Caller["get"],
  url: string,
  calls: number,
  concurrent: number,
): Promise<void> {
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await get(url);
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
}
