import { createSession } from "../mod.ts";
import { Herd, type Meeting } from "./herd.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { type LoadWorld, startLoadWorld } from "./load_world.ts";
import { type Effort, type Part, rounds, sizesUpTo } from "./part.ts";
import { figure, rangeText, ratioTarget, type Table, type Target } from "./report.ts";
import { fittedExponent, type Summary } from "./stats.ts";

const SIZES = [1, 10, 100, 1_000, 10_000];
const ROUNDS = 10;
/** The largest size decides, and eight processes on two cores vary more between rounds. */
const ROUNDS_OF_LARGEST = { 1: 24, 8: 50 };

interface Point {
  readonly calls: number;
  readonly requests: number;
  readonly valid: Summary;
  readonly expired: Summary;
}

/**
 * Many simultaneous calls with an expired token, in one process and in eight on the same `.env`.
 */
export const stampede: Part = async (effort) => {
  await using world = await startLoadWorld();
  const tables: Table[] = [];
  const targets: Target[] = [];
  const data: Record<string, unknown> = {};
  for (const processes of [1, 8] as const) {
    const points = await curve(world, processes, effort);
    const title = `Stampede: ${processes === 1 ? "one process" : `${processes} processes`}`;
    const exponent = fittedExponent(
      points.map(({ calls }) => calls),
      points.map(({ expired }) => expired.median),
    );
    tables.push({
      title,
      columns: [
        "calls at once, in all",
        "requests to the provider",
        "last response, valid token",
        "last response, expired token",
        "ratio",
        "95 % interval",
      ],
      rows: points.map(({ calls, requests, valid, expired }) => [
        calls.toLocaleString("en-US"),
        requests,
        `${valid.median.toFixed(1)} ms`,
        `${expired.median.toFixed(1)} ms`,
        figure(expired.ratio),
        rangeText(expired.interval),
      ]),
      notes: [`Growth of the time on an expired token: calls^${exponent.toFixed(2)}.`],
    });
    data[title] = points;
    const most = Math.max(...points.map(({ requests }) => requests));
    const last = points.at(-1);
    targets.push({
      claim: `requests to the provider, ${processes} process(es), any size`,
      measured: most,
      limit: 1,
      wanted: "at most",
      unit: "",
    });
    const many = last?.calls.toLocaleString("en-US");
    const claim = `last of ${many} calls over the same on a valid token, ${processes} process(es)`;
    targets.push(...ratioTarget(claim, last?.expired, 1.15));
  }
  return { part: "stampede", tables, targets, data };
};

async function curve(world: LoadWorld, processes: 1 | 8, effort: Effort): Promise<Point[]> {
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  const envFile = `${folder}/.env`;
  await Deno.writeTextFile(envFile, world.lines, { mode: 0o600 });
  // The server has replaced every earlier token.
  await createSession({ envFile }).login({ force: true });
  try {
    await using herd = await Herd.start(processes, { envFile }, `${world.url}/bytes/1`);
    const points: Point[] = [];
    for (const calls of sizesUpTo(SIZES, effort)) {
      let requests = 0;
      const order = async (meeting: Meeting) => {
        const before = await world.tokenRequests();
        const milliseconds = await timed(() => herd.rush(meeting, calls));
        const sent = await world.tokenRequests() - before;
        if (meeting === "expired") requests = Math.max(requests, sent);
        return milliseconds;
      };
      const subjects = (["valid", "expired"] as const)
        .map((name) => ({ name, measure: () => order(name) }));
      const full = calls === SIZES.at(-1) ? ROUNDS_OF_LARGEST[processes] : ROUNDS;
      const compared = compare(await interleave(subjects, rounds(full, effort)), "valid");
      const valid = compared.get("valid");
      const expired = compared.get("expired");
      if (valid && expired) points.push({ calls, requests, valid, expired });
    }
    return points;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
