import { createSession, type Session, type SessionOptions } from "../mod.ts";
import { newStoreKey } from "../tests/support/store_key.ts";
import { NO_REDIS, startRedis } from "../tests/support/redis_server.ts";
import { Herd, type Meeting } from "./herd.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { type LoadWorld, startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { countTarget, figure, rangeText } from "./report.ts";
import type { Summary } from "./stats.ts";

/** The numbers of workers, each with its number of rounds. */
const ROUNDS: ReadonlyMap<number, number> = new Map([[1, 20], [8, 12], [40, 8]]);

/** A way for workers on many machines to share a session. */
interface Way {
  readonly name: string;
  /** The options of each worker. */
  readonly worker: SessionOptions;
  /** A session in the same store that does not belong to a worker. */
  readonly outsider: Session;
}

interface Point {
  readonly way: string;
  readonly workers: number;
  /** The maximum over all rounds. */
  readonly requests: number;
  readonly valid: Summary;
  readonly renewed: Summary;
  readonly expired: Summary;
}

/** Worker processes that find an expired session at the same moment, for each way to share it. */
export const clusters: Part = async (effort) => {
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  await using resources = new AsyncDisposableStack();
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  const world = resources.use(await startLoadWorld("rotate"));
  const ways = [await byEnvFile(world, folder)];
  if (NO_REDIS === undefined) {
    const server = resources.use(await startRedis(folder, false));
    ways.push(byStore(world, server.url));
  }
  const points: Point[] = [];
  for (const way of ways) {
    for (const [size, full] of ROUNDS) {
      if (size > 8 && effort === "smoke") continue;
      points.push(await measure(world, way, size, rounds(full, effort)));
    }
  }
  return {
    part: "clusters",
    tables: [{
      title: "One call of each worker, all at once",
      columns: [
        "way",
        "workers",
        "requests to the provider",
        "last response, valid token",
        "refreshed by another",
        "expired session",
        "expired over valid",
        "95 % interval",
      ],
      rows: points.map(({ way, workers, requests, valid, renewed, expired }) => [
        way,
        workers,
        requests,
        ...[valid, renewed, expired].map(({ median }) => `${figure(median)} ms`),
        figure(expired.ratio),
        rangeText(expired.interval),
      ]),
      notes: NO_REDIS ? [`Left out: the store (${NO_REDIS.reason}).`] : [],
    }],
    targets: ways.map(({ name }) => {
      const most = Math.max(...points.filter(({ way }) => way === name).map((it) => it.requests));
      return countTarget(`requests to the provider, ${name}, any number of workers`, most, 1);
    }),
  };
};

/** One machine, or a disk that all machines share. */
async function byEnvFile(world: LoadWorld, folder: string): Promise<Way> {
  const envFile = `${folder}/.env`;
  await Deno.writeTextFile(envFile, world.lines, { mode: 0o600 });
  return { name: "`.env`", worker: { envFile }, outsider: createSession({ envFile }) };
}

function byStore(world: LoadWorld, url: string): Way {
  const { username, password: _, ...settings } = world.options;
  const store = { store: `${url}#${username}`, storeKey: newStoreKey() };
  const outsider = createSession({ ...world.options, ...store });
  return { name: "a Redis store", worker: { ...settings, ...store }, outsider };
}

async function measure(
  world: LoadWorld,
  way: Way,
  workers: number,
  times: number,
): Promise<Point> {
  await way.outsider.login({ force: true });
  await using herd = await Herd.start(workers, way.worker, `${world.url}/bytes/1`);
  let requests = 0;
  const rush = async (meeting: Meeting) => {
    const before = await world.tokenRequests();
    const milliseconds = await timed(() => herd.rush(meeting));
    return { milliseconds, sent: await world.tokenRequests() - before };
  };
  const subjects = {
    valid: async () => (await rush("valid")).milliseconds,
    async renewed() {
      await way.outsider.refresh();
      const { milliseconds, sent } = await rush("expired");
      if (sent > 0) throw new Error(`${sent} requests to the provider although it was refreshed`);
      return milliseconds;
    },
    async expired() {
      const { milliseconds, sent } = await rush("expired");
      requests = Math.max(requests, sent);
      return milliseconds;
    },
  };
  const samples = await interleave(
    Object.entries(subjects).map(([name, measure]) => ({ name, measure })),
    times,
  );
  const { valid, renewed, expired } = Object.fromEntries(compare(samples, "valid"));
  if (!valid || !renewed || !expired) throw new Error("a measurement is missing");
  return { way: way.name, workers, requests, valid, renewed, expired };
}
