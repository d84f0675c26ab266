import { createSession } from "../mod.ts";
import { type Part, rounds } from "./part.ts";
import { startLoadWorld } from "./load_world.ts";
import { compare, interleave } from "./interleave.ts";
import { summaryColumns, summaryRows, valueTarget } from "./report.ts";

const ROUNDS = 60;
const CALLS = 10_000;

/** The work of `authFetch` itself for a call with a valid token. A stub replaces the network. */
export const ownWork: Part = async (effort) => {
  await using world = await startLoadWorld();
  const answer = new Response(null);
  let stubbed = false;
  const stub: typeof fetch = (input, init) =>
    stubbed ? Promise.resolve(answer) : fetch(input, init);
  const session = createSession({ ...world.options, fetch: stub });
  await session.login();
  const headers = { authorization: `bearer ${await session.accessToken()}` };
  const url = `${world.url}/bytes/1`;
  const own = new Headers({ accept: "*/*", a: "b" });
  stubbed = true;
  const subjects = {
    "stub alone": () => stub(url, { headers }),
    "authFetch": () => session.authFetch(url),
    "authFetch, a path": () => session.authFetch("/bytes/1"),
    "authFetch, two headers": () => session.authFetch(url, { headers: { accept: "*/*", a: "b" } }),
    "authFetch, a Headers of two": () => session.authFetch(url, { headers: own }),
    "accessToken": () => session.accessToken(),
  };
  const samples = await interleave(
    Object.entries(subjects).map(([name, call]) => ({
      name,
      measure: async () => {
        const started = performance.now();
        for (let i = 0; i < CALLS; i++) await call();
        return (performance.now() - started) * 1e6 / CALLS;
      },
    })),
    rounds(ROUNDS, effort),
    3,
  );
  const summaries = compare(samples, "stub alone");
  const heap = new Map<string, number>();
  for (const [name, call] of Object.entries(subjects)) heap.set(name, await bytesPerCall(call));
  const rows = summaryRows(summaries, "ns").map((row) => [
    ...row,
    `${Math.round(heap.get(String(row[0])) ?? NaN)} B`,
  ]);
  /** The additional time compared with the stub, in µs. */
  const ownTarget = (name: string, limit: number) => {
    const beside = samples.get("stub alone") ?? [];
    const own = (samples.get(name) ?? []).map((ns, at) => (ns - (beside[at] ?? NaN)) / 1_000);
    return valueTarget(`own work: ${name}`, own, limit, " µs");
  };
  return {
    part: "own-work",
    tables: [{
      title: "Own work for a call with a valid token, stub in place of the network",
      columns: [...summaryColumns("call", "stub alone"), "allocated"],
      rows,
      notes: ["Allocated: growth of the heap over 500 calls, the smallest of 20 tries."],
    }],
    targets: [
      ...ownTarget("authFetch", 1),
      ...ownTarget("authFetch, two headers", 1.5),
      ...ownTarget("authFetch, a Headers of two", 2),
    ],
  };
};

/**
 * A garbage collection in between makes the heap smaller, so the smallest growth above zero is
 * used.
 */
async function bytesPerCall(call: () => Promise<unknown>): Promise<number> {
  const tries: number[] = [];
  for (let round = 0; round < 20; round++) {
    const before = Deno.memoryUsage().heapUsed;
    for (let i = 0; i < 500; i++) await call();
    const grown = Deno.memoryUsage().heapUsed - before;
    if (grown > 0) tries.push(grown / 500);
  }
  return Math.min(...tries);
}
