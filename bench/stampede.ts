import { createSession } from "../mod.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { type LoadWorld, startLoadWorld } from "./load_world.ts";
import { type Effort, type Part, rounds, sizesUpTo } from "./part.ts";
import { pathOf } from "./processes.ts";
import { figure, rangeText, ratioTarget, type Table, type Target } from "./report.ts";
import { fittedExponent, type Summary } from "./stats.ts";

const SIZES = [1, 10, 100, 1_000, 10_000];
const ROUNDS = 10;
/** The largest size decides, and eight processes on two cores differ more from time to time. */
const ROUNDS_OF_LARGEST = { 1: 24, 8: 50 };

interface Point {
  readonly calls: number;
  readonly requests: number;
  readonly valid: Summary;
  readonly expired: Summary;
}

/** Many calls at once meet an expired token, in one process and in eight on the same `.env`. */
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
        "last answer, valid token",
        "last answer, expired token",
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
  // Every token before this one has been replaced at the server.
  await createSession({ envFile }).login({ force: true });
  const herd = Array.from({ length: processes }, () => new Worker(envFile, `${world.url}/bytes/1`));
  try {
    await Promise.all(herd.map((each) => each.read()));
    const points: Point[] = [];
    for (const calls of sizesUpTo(SIZES, effort)) {
      let requests = 0;
      const order = async (kind: string) => {
        const before = await world.tokenRequests();
        const milliseconds = await timed(() => rush(herd, kind, calls));
        const sent = await world.tokenRequests() - before;
        if (kind === "expired") requests = Math.max(requests, sent);
        return milliseconds;
      };
      const subjects = ["valid", "expired"].map((name) => ({ name, measure: () => order(name) }));
      const full = calls === SIZES.at(-1) ? ROUNDS_OF_LARGEST[processes] : ROUNDS;
      const compared = compare(await interleave(subjects, rounds(full, effort)), "valid");
      const valid = compared.get("valid");
      const expired = compared.get("expired");
      if (valid && expired) points.push({ calls, requests, valid, expired });
    }
    return points;
  } finally {
    await Promise.all(herd.map((each) => each.close()));
    await Deno.remove(folder, { recursive: true });
  }
}

/** Spreads the calls over the processes, as evenly as they go, and waits for the last answer. */
async function rush(herd: readonly Worker[], kind: string, calls: number): Promise<void> {
  await Promise.all(herd.map(async (worker, at) => {
    const share = Math.floor((calls + at) / herd.length);
    if (share > 0) await worker.order(`${kind} ${share}`);
  }));
}

class Worker {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;

  constructor(envFile: string, url: string) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "-A", pathOf("stampede_worker.ts"), envFile, url],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  async order(line: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
    await this.read();
  }

  /** Waits for a line. */
  async read(): Promise<void> {
    for (let text = ""; !text.includes("\n");) {
      const { value, done } = await this.#output.read();
      if (done) throw new Error("a process of the stampede ended early");
      text += value;
    }
  }

  async close(): Promise<void> {
    await this.#input.close();
    await this.#output.cancel();
    await this.#child.status;
  }
}
