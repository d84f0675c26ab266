/**
 * The requests of many workers to one store and one provider in a day, in virtual time: the
 * sessions are real ones, with the client's own store of Redis; the server, the provider and the
 * clock are not.
 *
 *     deno run --lock=bench/deno.lock -A bench/fleet.ts [workers] [hours]
 *
 * By default 10,000 workers and a day of 24 hours.
 */
import { setImmediate } from "node:timers";
import { Connection, Unreachable } from "../src/session/redis/connection.ts";
import "../src/session/redis/redis_store.ts";
import { type ConfigurableSession, makeSession } from "../src/session.ts";
import type { SessionOptions } from "../src/settings/options.ts";
import { jsonAnswer, jwt } from "../tests/support/answers.ts";
import { randomFrom } from "../tests/support/random.ts";

/** The events of the day. Times are in hours since its beginning. */
export interface FleetPlan {
  readonly workers: number;
  readonly hours: number;
  /** When all workers are replaced, and within how many seconds. */
  readonly deploys?: readonly { readonly at: number; readonly seconds: number }[];
  /**
   * From the first refresh after this time, the store does not respond for the given number of
   * seconds.
   */
  readonly storeAway?: { readonly at: number; readonly seconds: number };
  /** From the first refresh after this time on the provider refuses all, for so many seconds. */
  readonly throttled?: { readonly at: number; readonly seconds: number };
}

/** The results. */
export interface FleetFigures {
  /** Requests for which the provider issued tokens. */
  logins: number;
  refreshes: number;
  /** Questions to the store in all, and in its busiest second. */
  questions: number;
  busiestSecond: number;
  longestWaitMs: number;
  /** Calls that got no token, and by which code. */
  failed: Record<string, number>;
}

const ACCOUNT: SessionOptions = {
  authUrl: "https://idp.example",
  provider: "aws",
  clientId: "c",
  clientSecret: "",
  userPoolId: "p",
  username: "student",
  password: "joined",
  refreshSecretHash: "omit",
  apiBaseUrl: "https://api.example",
  envFile: false,
  exportEnv: "none",
  timeoutMs: 30_000,
  prompt: () => null,
};

const HOUR_MS = 3_600_000;
/** Requests per second that the provider accepts, for an account and a region. */
const QUOTA = 120;
/** One call of a worker follows another after so long, on average. */
const BETWEEN_CALLS_MS = 30_000;
/** Nothing of a token is due earlier than this before its end. */
const LONGEST_MARGIN_MS = 300_000;
const TOKEN_SECONDS = 3_600;
const STORE_MS = 1;
const PROVIDER_MS = 150;

/** The clock, and what is to happen. */
class VirtualTime {
  now = Date.UTC(2030, 0, 1);
  /** In the order of their times, the last one first. */
  readonly #events: { at: number; run: () => void }[] = [];

  at(at: number, run: () => void): void {
    const events = this.#events;
    const from = Math.max(at, this.now);
    let [low, high] = [0, events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((events[middle]?.at ?? 0) > from) low = middle + 1;
      else high = middle;
    }
    events.splice(low, 0, { at: from, run });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      signal?.addEventListener("abort", () => resolve(), { once: true });
      this.at(this.now + ms, resolve);
    });
  }

  /** Lets all happen, until nothing is left or the time has come. */
  async run(until: number): Promise<void> {
    for (;;) {
      const first = this.#events.at(-1);
      if (first === undefined || first.at > until) break;
      this.now = first.at;
      while (this.#events.at(-1)?.at === this.now) this.#events.pop()?.run();
      // Its immediate consequences: promises, and modules that are already loaded.
      for (let turns = 0; turns < 2; turns++) {
        await new Promise<void>((resolve) => setImmediate(() => resolve()));
      }
    }
    this.now = until;
  }
}

/** Lives through a day. */
export async function simulate(plan: FleetPlan): Promise<FleetFigures> {
  const { workers, hours } = plan;
  const time = new VirtualTime();
  const began = time.now;
  const random = randomFrom(1);
  const inMs = (meanMs: number) => -Math.log(1 - random()) * meanMs;
  const figures: FleetFigures = {
    logins: 0,
    refreshes: 0,
    questions: 0,
    busiestSecond: 0,
    longestWaitMs: 0,
    failed: {},
  };
  /** When the first refresh came after the time of a trouble. */
  const starts = new Map<object, number>();
  const isDuring = (trouble: { at: number; seconds: number } | undefined) => {
    const start = trouble && starts.get(trouble);
    return start !== undefined && time.now < start + (trouble?.seconds ?? 0) * 1_000;
  };
  const noteRefresh = () => {
    for (const trouble of [plan.storeAway, plan.throttled]) {
      const isDue = trouble && time.now >= began + trouble.at * HOUR_MS;
      if (isDue && !starts.has(trouble)) starts.set(trouble, time.now);
    }
  };

  // The provider.
  let tokens = 0;
  let inSecond = { second: 0, count: 0 };
  const provider: typeof fetch = async (_, init) => {
    const request = JSON.parse(`${init?.body}`);
    const isLogin = request.AuthFlow === "USER_PASSWORD_AUTH";
    if (!isLogin) noteRefresh();
    await time.sleep(PROVIDER_MS * (0.5 + random()));
    const second = Math.floor(time.now / 1_000);
    if (inSecond.second !== second) inSecond = { second, count: 0 };
    inSecond.count++;
    if (isDuring(plan.throttled) || inSecond.count > QUOTA) {
      const body = { __type: "TooManyRequestsException", message: "Rate exceeded" };
      return answer(400, body, time.now);
    }
    if (isLogin) figures.logins++;
    else figures.refreshes++;
    const iat = Math.floor(time.now / 1_000);
    const claims = { username: "u", client_id: "c", iat, exp: iat + TOKEN_SECONDS, jti: tokens++ };
    const result = {
      AccessToken: jwt(claims, "s"),
      ExpiresIn: TOKEN_SECONDS,
      TokenType: "Bearer",
      ...(isLogin && { RefreshToken: "r" }),
    };
    return answer(200, { AuthenticationResult: result, ChallengeParameters: {} }, time.now);
  };

  // The store.
  let kept = ["0", ""];
  let lock = { owner: "", endsAt: 0 };
  /** The effect of the client's script in a Redis server. Records do not expire here. */
  const answerOf = ([number = "", data = "", , owner = "", lockMs = ""]: string[]): unknown => {
    if (Number(number) > Number(kept[0])) kept = [number, data];
    const isFree = lock.endsAt <= time.now || lock.owner === owner;
    const isHeld = owner !== "" && isFree && lockMs !== "0";
    if (owner !== "" && isFree) lock = { owner, endsAt: time.now + Number(lockMs) };
    return [...kept, Math.floor(time.now), isHeld ? 1 : 0];
  };
  let asked = { second: 0, count: 0 };
  const connection = {
    async run(_: string, __: string[], words: string[], limitMs: number): Promise<unknown> {
      const second = Math.floor(time.now / 1_000);
      if (asked.second !== second) asked = { second, count: 0 };
      figures.questions++;
      figures.busiestSecond = Math.max(figures.busiestSecond, ++asked.count);
      if (isDuring(plan.storeAway)) {
        await time.sleep(limitMs);
        throw new Unreachable("it did not respond in time");
      }
      await time.sleep(STORE_MS);
      return answerOf(words);
    },
  };
  Object.assign(Connection, { to: () => Promise.resolve(connection) });

  // The workers.
  const generation = new Array<number>(workers).fill(0);
  const session = (): ConfigurableSession =>
    makeSession(
      {
        ...ACCOUNT,
        store: "redis://127.0.0.1:1",
        storeKey: "",
        now: () => time.now,
        monotonic: () => time.now - began,
        sleep: (ms, signal) => time.sleep(ms, signal),
        fetch: provider,
      },
      false,
      undefined,
      {
        timeout: (ms) => {
          const abort = new AbortController();
          time.at(time.now + ms, () => abort.abort());
          return abort.signal;
        },
        random,
      },
    );
  const work = async (worker: number) => {
    const mine = (generation[worker] ?? 0) + 1;
    generation[worker] = mine;
    const own = session();
    await time.sleep(inMs(BETWEEN_CALLS_MS));
    while (generation[worker] === mine) {
      const from = time.now;
      let waitMs = inMs(BETWEEN_CALLS_MS);
      try {
        const token = await own.accessToken();
        const dueAt = endOf(token) - LONGEST_MARGIN_MS;
        // Until then calls need nothing: the first one after it is as far away as any.
        waitMs += Math.max(0, dueAt - time.now);
      } catch (error) {
        const code = error instanceof Error && "code" in error ? `${error.code}` : `${error}`;
        figures.failed[code] = (figures.failed[code] ?? 0) + 1;
      }
      figures.longestWaitMs = Math.max(figures.longestWaitMs, time.now - from);
      await time.sleep(waitMs);
    }
  };
  session().login({ force: true });
  await time.run(time.now + 10_000);
  const deploys = [{ at: 0, seconds: 60 }, ...plan.deploys ?? []];
  for (const { at, seconds } of deploys) {
    for (let worker = 0; worker < workers; worker++) {
      const atMs = began + 10_000 + at * HOUR_MS + seconds * 1_000 * worker / workers;
      time.at(atMs, () => void work(worker));
    }
  }
  await time.run(began + hours * HOUR_MS);
  generation.fill(-1);
  return figures;
}

/** With its length declared, a response is read in one piece. */
function answer(status: number, body: unknown, now: number): Response {
  const length = `${JSON.stringify(body).length}`;
  return jsonAnswer(body, status, { "content-length": length, date: new Date(now).toUTCString() });
}

function endOf(token: string): number {
  const bytes = Uint8Array.fromBase64(token.split(".")[1] ?? "", { alphabet: "base64url" });
  return JSON.parse(new TextDecoder().decode(bytes)).exp * 1_000;
}

if (import.meta.main) {
  const [workers = 10_000, hours = 24] = Deno.args.map(Number);
  // The first login loads code on demand, which virtual time does not wait for.
  await simulate({ workers: 1, hours: 1 });
  const quiet = { workers, hours: 3 };
  const day: FleetPlan = {
    workers,
    hours,
    deploys: [{ at: hours * 0.3, seconds: 600 }, { at: hours * 0.5, seconds: 5 }],
    storeAway: { at: hours * 0.65, seconds: 60 },
    throttled: { at: hours * 0.8, seconds: 60 },
  };
  const plans: Record<string, FleetPlan> = {
    "three quiet hours": quiet,
    "all workers replaced within five seconds": { ...quiet, deploys: [{ at: 1.5, seconds: 5 }] },
    "the store is down for a minute": { ...quiet, storeAway: { at: 1.5, seconds: 60 } },
    "the provider refuses everything, one minute": {
      ...quiet,
      throttled: { at: 1.5, seconds: 60 },
    },
    "a day with two deploys and both faults": day,
  };
  for (const [name, plan] of Object.entries(plans)) console.log(name, await simulate(plan));
}
