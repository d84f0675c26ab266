import { createSession } from "../mod.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { countTarget, figure, rangeText, ratioTarget, type Target } from "./report.ts";

/** The numbers of calls, each with its number of rounds. The largest one decides. */
const ROUNDS: ReadonlyMap<number, number> = new Map([[1, 10], [100, 10], [10_000, 24]]);

/** Many simultaneous calls with an expired token, compared with the same on a valid token. */
export const stampede: Part = async (effort) => {
  await using world = await startLoadWorld();
  let jump = 0;
  const monotonic = () => performance.now() + jump;
  const session = createSession({ ...world.options, monotonic });
  await session.login();
  const call = async () => {
    const response = await session.authFetch(`${world.url}/bytes/1`);
    if (!response.ok) throw new Error(`the server responded with ${response.status}`);
    await response.arrayBuffer();
  };
  const rows: string[][] = [];
  const targets: Target[] = [];
  let most = 0;
  for (const [calls, full] of ROUNDS) {
    if (calls > 100 && effort === "smoke") continue;
    let requests = 0;
    const rush = () => timed(() => Promise.all(Array.from({ length: calls }, call)));
    const subjects = [
      { name: "valid", measure: rush },
      {
        name: "expired",
        async measure() {
          const before = await world.tokenRequests();
          jump += 7_200_000;
          const milliseconds = await rush();
          requests = Math.max(requests, await world.tokenRequests() - before);
          return milliseconds;
        },
      },
    ];
    const compared = compare(await interleave(subjects, rounds(full, effort)), "valid");
    const [valid, expired] = [compared.get("valid"), compared.get("expired")];
    if (valid === undefined || expired === undefined) continue;
    const count = calls.toLocaleString("en-US");
    rows.push([
      count,
      String(requests),
      ...[valid, expired].map(({ median }) => `${median.toFixed(1)} ms`),
      figure(expired.ratio),
      rangeText(expired.interval),
    ]);
    most = Math.max(most, requests);
    if (calls < 10_000) continue;
    const claim = `last of ${count} calls over the same on a valid token`;
    targets.push(...ratioTarget(claim, expired, 1.15));
  }
  const columns = [
    "calls at once",
    "requests to the provider",
    "last response, valid token",
    "last response, expired token",
    "ratio",
    "95 % interval",
  ];
  targets.push(countTarget("requests to the provider, any number of calls", most, 1));
  return { part: "stampede", tables: [{ title: "Stampede", columns, rows }], targets };
};
