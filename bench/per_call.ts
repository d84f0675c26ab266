import { createSession } from "../mod.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { figure, rangeText, ratioTarget, type Target } from "./report.ts";

/** Many short rounds: other load on the machine comes in bursts, which then affect only a few. */
const LOADS = [
  { name: "1 KiB, one after the other", size: 1_024, concurrent: 1, calls: 20, full: 2_000 },
  { name: "1 KiB, 64 at a time", size: 1_024, concurrent: 64, calls: 256, full: 1_500 },
  { name: "1 MiB, one after the other", size: 1_048_576, concurrent: 1, calls: 2, full: 5_000 },
  { name: "1 MiB, 64 at a time", size: 1_048_576, concurrent: 64, calls: 64, full: 1_000 },
];

/** The cost of a call compared with a bare `fetch` with the same header, over real connections. */
export const perCall: Part = async (effort) => {
  await using world = await startLoadWorld();
  const session = createSession(world.options);
  await session.login();
  const headers = { authorization: `bearer ${await session.accessToken()}` };
  const callers: Record<string, (url: string) => Promise<Response>> = {
    "bare fetch": (url) => fetch(url, { headers }),
    "authFetch": (url) => session.authFetch(url),
  };
  const rows: (string | number)[][] = [];
  const targets: Target[] = [];
  for (const { name, size, concurrent, calls, full } of LOADS) {
    const subjects = Object.entries(callers).map(([caller, call]) => ({
      name: caller,
      async measure() {
        const url = `${world.url}/bytes/${size}`;
        const milliseconds = await timed(() => callMany(() => call(url), calls, concurrent));
        return milliseconds * 1_000 / calls;
      },
    }));
    const count = rounds(full, effort);
    const compared = compare(await interleave(subjects, count, 5), "bare fetch");
    const [bare, ours] = [compared.get("bare fetch"), compared.get("authFetch")];
    if (bare === undefined || ours === undefined) continue;
    const times = [bare, ours].map(({ median }) => `${figure(median)} µs`);
    rows.push([name, ...times, ours.ratio.toFixed(3), rangeText(ours.interval), count]);
    targets.push(...ratioTarget(`authFetch over bare fetch, ${name}`, ours, 1.03));
  }
  const columns = ["load", "bare fetch", "authFetch", "ratio", "95 % interval", "rounds"];
  const title = "Per call: authFetch and bare fetch in turn";
  return { part: "per-call", tables: [{ title, columns, rows }], targets };
};

/** Makes the given number of calls, a given number at a time, and reads each response. */
async function callMany(
  call: () => Promise<Response>,
  calls: number,
  concurrent: number,
): Promise<void> {
  let left = calls;
  const worker = async () => {
    while (left-- > 0) {
      const response = await call();
      if (!response.ok) throw new Error(`the server responded with ${response.status}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
}
