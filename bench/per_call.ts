import { createSession } from "../mod.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { type Caller, peerCallers } from "./peer_callers.ts";
import { figure, rangeText, ratioTarget, type Target } from "./report.ts";
import type { Summary } from "./stats.ts";

/**
 * Many short rounds: other load on the machine comes in bursts, which then affect only a few
 * rounds. `peers` is the number of rounds with the other clients, which differ too much to need as
 * many.
 */
const LOADS = [
  { size: 1_024, concurrent: 1, calls: 20, duels: 2_000, peers: 100 },
  { size: 1_024, concurrent: 64, calls: 256, duels: 1_500, peers: 60 },
  { size: 1_048_576, concurrent: 1, calls: 2, duels: 5_000, peers: 200 },
  { size: 1_048_576, concurrent: 64, calls: 64, duels: 1_000, peers: 30 },
] as const;

/**
 * The cost of a call compared with a bare `fetch` with the same header, and with other wrappers,
 * over real connections.
 */
export const perCall: Part = async (effort) => {
  await using world = await startLoadWorld();
  const session = createSession(world.options);
  await session.login();
  const token = await session.accessToken();
  const headers = { authorization: `bearer ${token}` };
  const bare: Caller = {
    name: "bare fetch",
    get: async (url) => await whole(await fetch(url, { headers })),
  };
  const ours: Caller = {
    name: "authFetch",
    get: async (url) => await whole(await session.authFetch(url)),
  };
  const { callers, skipped } = effort.peers
    ? await peerCallers(token)
    : { callers: [], skipped: [] };
  const duelRows: (string | number)[][] = [];
  const peerRows = callers.map(({ name }): (string | number)[] => [name]);
  const targets: Target[] = [];
  const data: Record<string, unknown> = {};
  for (const load of LOADS) {
    const url = `${world.url}/bytes/${load.size}`;
    const count = rounds(load.duels, effort);
    const duel = await compete([bare, ours], url, load, count);
    const [one, two] = ["bare fetch", "authFetch"].map((name) => duel.get(name));
    if (one === undefined || two === undefined) continue;
    const name = `${load.size === 1_024 ? "1 KiB" : "1 MiB"}, ` +
      (load.concurrent === 1 ? "one after the other" : `${load.concurrent} at a time`);
    const times = [one, two].map((it) => `${figure(it.median)} µs`);
    duelRows.push([name, ...times, two.ratio.toFixed(3), rangeText(two.interval), count]);
    targets.push(...ratioTarget(`authFetch over bare fetch, ${name}`, two, 1.03));
    const beside = callers.length === 0
      ? new Map<string, Summary>()
      : await compete([bare, ...callers], url, load, rounds(load.peers, effort));
    for (const row of peerRows) {
      const peer = beside.get(String(row[0]));
      row.push(peer ? `${figure(peer.ratio)} (${rangeText(peer.interval)})` : "-");
    }
    data[name] = { duel: Object.fromEntries(duel), peers: Object.fromEntries(beside) };
  }
  const tables = [{
    title: "Per call: authFetch and bare fetch in turn",
    columns: ["load", "bare fetch", "authFetch", "ratio", "95 % interval", "rounds"],
    rows: duelRows,
  }];
  const others = {
    title: "Per call: other clients over bare fetch, ratio and its 95 % interval",
    columns: ["client", ...duelRows.map((row) => String(row[0]))],
    rows: peerRows,
    notes: skipped,
  };
  return {
    part: "per-call",
    tables: effort.peers ? [...tables, others] : tables,
    targets,
    data,
  };
};

/** Microseconds per call. Each round includes all callers. */
async function compete(
  callers: readonly Caller[],
  url: string,
  { calls, concurrent }: { calls: number; concurrent: number },
  count: number,
): Promise<Map<string, Summary>> {
  const subjects = callers.map(({ name, get }) => ({
    name,
    measure: async () => {
      const milliseconds = await timed(() => drain(get, url, calls, concurrent));
      return milliseconds * 1_000 / calls;
    },
  }));
  return compare(await interleave(subjects, count, 5), "bare fetch");
}

async function whole(response: Response): Promise<ArrayBuffer> {
  if (!response.ok) throw new Error(`the server responded with ${response.status}`);
  return await response.arrayBuffer();
}

/** Makes the given number of calls, a given number at a time. */
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
