/**
 * Sessions that share a `.env` or a store, with their events in random orders. The sessions, the `.env`
 * and the provider of the sandbox are real. Each event waits until the test lets it happen: a request
 * arrives, a response arrives, a pause ends, a file is written, a call is aborted. The test lets one
 * event happen at a time; its seeds choose the order.
 */
import { assertEquals } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers";
import { AuthError, type Session, type SessionRecord } from "../../mod.ts";
import { unlessAborted } from "../../src/platform/abort.ts";
// Sessions import these modules on demand, which takes many turns of the event loop at first.
import "../../src/provider/checks.ts";
import "../../src/provider/sign_out.ts";
import "../../src/provider/token_request.ts";
import "../../src/session/login.ts";
import { jsonAnswer } from "../support/answers.ts";
import { linesOf, type Portless, portless } from "../support/portless.ts";
import { rounds } from "../support/property.ts";
import { randomFrom } from "../support/random.ts";
import { Table } from "../support/table.ts";

const CALLS = ["login", "join", "refresh", "token", "fetch", "logout", "everywhere"] as const;

/** A call of one session, or an event that concerns all of them. */
interface Op {
  readonly by: number;
  /**
   * `expiry`: the access token expires; `rejection`: the API rejects the current access tokens;
   * `edit`: another program adds a line to the `.env`.
   */
  readonly do: typeof CALLS[number] | "long-token" | "expiry" | "rejection" | "edit";
  /** All calls with the same name are aborted together, at any time. */
  readonly signal?: string;
  /** The index of the operation that must have begun before this one begins. */
  readonly after?: number;
}

interface Scenario {
  readonly ops: readonly Op[];
  /** The number of sessions. Default: 2. */
  readonly sessions?: number;
  /** Whether each refresh replaces the refresh token. Default: true. */
  readonly rotates?: boolean;
  /** The access token at the beginning. Default: valid. */
  readonly begins?: "due" | "rejected";
  /** The number of requests that the provider answers with 503. */
  readonly refusals?: number;
  /** The number of responses of the provider that never arrive. */
  readonly losses?: number;
  /** Whether a login or a logout may stop waiting for a refresh. */
  readonly impatient?: boolean;
  /** Whether calls to the API take time. */
  readonly slowApi?: boolean;
}

type Place = "file" | "store";

/** An event that may happen next. */
interface Gate {
  readonly name: string;
  open(): void;
}

/** A call that has begun, and its result. */
interface Outcome {
  readonly op: Op;
  readonly label: string;
  readonly signal: AbortSignal | undefined;
  state: "in progress" | "resolved" | "rejected";
  value?: unknown;
  error?: unknown;
}

const AN_HOUR_S = 3_600;
const PATIENCE_MS = 3_000;
const FIRST_LOGIN = "the first login";
/** More turns of the event loop than a session takes from one event to the next. */
const TURNS = 10;

/** The call that causes an event. */
const caller = new AsyncLocalStorage<string>();
/** The current world. Only one exists at a time. */
let current: World | undefined;

const realSync = Deno.FsFile.prototype.sync;
Deno.FsFile.prototype.sync = async function () {
  if (current === undefined) return await realSync.call(this);
  await current.pass("write");
};

/** One run of a scenario. */
class World implements AsyncDisposable {
  readonly trace: string[] = [];
  readonly outcomes: Outcome[] = [];
  /** The logins whose tokens were saved, one after each change; `undefined`: no tokens. */
  readonly history: (string | undefined)[] = [undefined];
  /** All access tokens that were saved. */
  readonly saved = new Set<unknown>();
  /** The access token that is saved now. */
  savedNow: string | undefined;
  readonly problems: string[] = [];
  readonly sessions: Session[] = [];
  /** The number of lines that another program added to the `.env`. */
  edits = 0;
  /** Whether events happen without waiting. */
  isOpen = true;
  /** Whether a response was lost that may have contained the only valid refresh token. */
  wasLost = false;
  readonly #portless: Portless;
  readonly #table = new Table();
  readonly #aborts = new Map<string, AbortController>();
  /** The login of each token, and the refresh tokens that were replaced. */
  readonly #loginOf = new Map<string, string>();
  readonly #replaced = new Set<string>();
  #gates: Gate[] = [];
  /** Grows with each event. */
  #activity = 0;
  #requestsInProgress = 0;
  #refusals: number;
  #losses: number;

  constructor(readonly scenario: Scenario, readonly place: Place, readonly random: () => number) {
    this.#refusals = scenario.refusals ?? 0;
    this.#losses = scenario.losses ?? 0;
    this.#portless = portless({
      file: true,
      sandbox: { clientSecret: false, rotateRefreshTokens: scenario.rotates ?? true },
    });
    this.#table.onLocked = (signal) => this.pass("lock", signal);
    this.#table.onWrite = () => this.pass("write");
    this.#table.onRead = (signal) => this.pass("read", signal);
    this.#table.onWritten = () => this.pass("written");
    current = this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    current = undefined;
    await this.#portless[Symbol.asyncDispose]();
  }

  get clock() {
    return this.#portless.clock;
  }

  get lines(): SessionRecord {
    return this.place === "store" ? this.#table.record ?? {} : linesOf(this.#portless.envFile);
  }

  /** Waits until the test lets an event happen. */
  async pass(event: string, signal?: AbortSignal): Promise<void> {
    this.#activity++;
    if (this.isOpen) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const gate = { name: `${caller.getStore()}: ${event}`, open: resolve };
    this.#gates.push(gate);
    await unlessAborted(signal, promise).finally(() => {
      this.#activity++;
      this.#gates = this.#gates.filter((each) => each !== gate);
    });
  }

  addSession(): void {
    const { envFile } = this.#portless;
    const session = this.#portless.another({
      ...(this.place === "file" ? { envFile } : { envFile: false, store: this.#table }),
      exportEnv: "none",
      prompt: () => null,
      random: () => 0.5,
      fetch: (input, init) => this.#fetch(new Request(input, init), init?.signal),
      sleep: async (ms, signal) => {
        await this.pass("pause ends", signal).catch(() => {});
        this.clock.advance(ms / 1_000);
      },
      timeout: (ms) => {
        const abort = new AbortController();
        if (ms === PATIENCE_MS && this.scenario.impatient && !this.isOpen) {
          this.pass("three seconds are over").then(() => {
            if (this.isOpen) return;
            this.wasLost = true;
            this.clock.advance(3);
            abort.abort();
          });
        }
        return abort.signal;
      },
    });
    this.sessions.push(session);
  }

  /** Sends a request, which reaches its server even if the call is aborted. */
  async #fetch(request: Request, signal: AbortSignal | null | undefined): Promise<Response> {
    signal?.throwIfAborted();
    const served = request.url.startsWith(this.#portless.sandbox.authUrl)
      ? this.#askProvider(request)
      : this.#askApi(request);
    served.catch(() => {});
    return await unlessAborted(signal ?? undefined, served);
  }

  async #askProvider(request: Request): Promise<Response> {
    const { AuthFlow = "sign-out", AuthParameters } = await request.clone().json();
    await this.pass(`${AuthFlow} arrives`);
    if (this.#refusals > 0 && !this.isOpen && this.random() < 0.5) {
      this.#refusals--;
      return jsonAnswer({ message: "busy" }, 503);
    }
    const sent = AuthParameters?.REFRESH_TOKEN;
    const login = this.#loginOf.get(sent) ?? caller.getStore() ?? "";
    if (this.#replaced.has(sent) && this.#isWanted(login)) {
      this.problems.push("a replaced refresh token is sent again");
    }
    const response = await this.#answer(request);
    const { AuthenticationResult: tokens } = await response.clone().json().catch(() => ({}));
    for (const token of [tokens?.AccessToken, tokens?.RefreshToken]) {
      if (token !== undefined) this.#loginOf.set(token, login);
    }
    if (sent && tokens?.RefreshToken) this.#replaced.add(sent);
    await this.pass(`${AuthFlow} is answered`);
    if (this.#losses > 0 && !this.isOpen && this.random() < 0.5) {
      this.#losses--;
      this.wasLost = true;
      throw new TypeError("error sending request", { cause: new Error("connection reset") });
    }
    return response;
  }

  /**
   * Whether a refresh must send the latest refresh token of a login. If a call signs out everywhere,
   * earlier tokens may be sent, too.
   */
  #isWanted(login: string): boolean {
    const signsOut = this.outcomes.some(({ op }) => op.do === "everywhere");
    return !this.wasLost && (this.history.at(-1) === login || !signsOut);
  }

  async #askApi(request: Request): Promise<Response> {
    if (this.scenario.slowApi) await this.pass("call arrives");
    const response = await this.#answer(request);
    if (this.scenario.slowApi) await this.pass("call is answered");
    return response;
  }

  async #answer(request: Request): Promise<Response> {
    this.#requestsInProgress++;
    try {
      return await this.#portless.options.fetch(request);
    } finally {
      this.#requestsInProgress--;
      this.#activity++;
    }
  }

  /**
   * Waits until nothing more happens unless a gate opens, and records what is saved now. Only the
   * sandbox has work of unknown length: it signs tokens on another thread.
   */
  async rest(): Promise<void> {
    for (let turn = 0, seen = -1; turn < TURNS; turn++) {
      await new Promise<void>((resolve) => setImmediate(() => resolve()));
      if (this.#requestsInProgress > 0 || this.#activity !== seen) turn = 0;
      seen = this.#activity;
    }
    const token = this.lines.ACCESS_TOKEN;
    this.savedNow = token;
    if (token !== undefined) this.saved.add(token);
    const login = this.#loginOf.get(token ?? "");
    if (login !== this.history.at(-1)) this.history.push(login);
  }

  /** Starts a call. */
  start(op: Op, label: string): Outcome {
    const signal = op.signal === undefined
      ? undefined
      : this.#aborts.getOrInsertComputed(op.signal, () => new AbortController()).signal;
    const outcome: Outcome = { op, label, signal, state: "in progress" };
    this.outcomes.push(outcome);
    caller.run(label, () => this.#call(op, signal)).then(
      (value) => Object.assign(outcome, { state: "resolved", value }),
      (error) => Object.assign(outcome, { state: "rejected", error }),
    ).finally(() => this.#activity++);
    return outcome;
  }

  async #call(op: Op, signal: AbortSignal | undefined): Promise<unknown> {
    const session = this.sessions[op.by] as Session;
    const options = signal ? { signal } : {};
    const calls: Record<Op["do"], () => unknown> = {
      login: () => session.login({ ...options, force: true }),
      join: () => session.login(options),
      refresh: () => session.refresh(options),
      token: () => session.accessToken(options),
      "long-token": () => session.accessToken({ ...options, minValidSeconds: 1_700 }),
      fetch: async () => {
        const { status, body } = await session.authFetch("/v1/whoami", options);
        await body?.cancel();
        return status;
      },
      logout: () => session.logout(options),
      everywhere: () => session.logout({ ...options, everywhere: true }),
      expiry: () => this.clock.advance(AN_HOUR_S),
      rejection: () => this.#portless.sandbox.expireAccessTokens(),
      edit: () => {
        const line = `LINE_${this.edits++}=1\n`;
        Deno.writeTextFileSync(this.#portless.envFile, line, { append: true });
      },
    };
    return await calls[op.do]();
  }

  /** Lists what may happen next. */
  choices(): Gate[] {
    const { ops } = this.scenario;
    const begun = this.outcomes.map(({ op }) => op);
    // A session that waited for the lock for an hour would refresh without the lock.
    const isPaused = this.#gates.some(({ name }) => name.endsWith("pause ends"));
    const calls = ops.map((op, at) => ({ op, label: `${"ABC"[op.by]} ${op.do} (${at})` }))
      .filter(({ op: { after = -1 }, op }) =>
        !begun.includes(op) && (after < 0 || begun.includes(ops[after] as Op)) &&
        !(op.do === "expiry" && isPaused)
      )
      .map(({ op, label }) => ({ name: label, open: () => void this.start(op, label) }));
    const abortable = this.outcomes.filter(({ state, signal }) =>
      state === "in progress" && signal?.aborted === false
    );
    const aborts = [...new Set(abortable.map(({ op }) => op.signal ?? ""))].map((name) => ({
      name: `abort ${name}`,
      open: () => this.#aborts.get(name)?.abort(new DOMException("The user left", "AbortError")),
    }));
    return [...this.#gates, ...calls, ...aborts];
  }

  /** Lets everything happen, in a random order. */
  async run(): Promise<void> {
    const { begins, sessions = 2 } = this.scenario;
    this.addSession();
    await this.settled(this.start({ by: 0, do: "login" }, FIRST_LOGIN));
    while (this.sessions.length < sessions) this.addSession();
    for (const by of this.sessions.keys()) {
      await this.settled(this.start({ by, do: "token" }, "it begins"));
    }
    if (begins === "due") this.clock.advance(AN_HOUR_S);
    if (begins === "rejected") this.#portless.sandbox.expireAccessTokens();
    this.outcomes.length = 0;
    this.isOpen = false;
    for (;;) {
      await this.rest();
      const choices = this.choices();
      const next = choices[Math.floor(this.random() * choices.length)];
      if (next === undefined) break;
      this.trace.push(next.name);
      // No two events happen at the same moment.
      this.clock.advance(0.007);
      next.open();
    }
    this.isOpen = true;
    await Promise.all(this.outcomes.map((outcome) => this.settled(outcome)));
  }

  /** Waits for a call that no gate stops. */
  async settled(outcome: Outcome): Promise<Outcome> {
    await this.rest();
    if (outcome.state === "in progress") this.problems.push(`${outcome.label} never ends`);
    return outcome;
  }
}

/** Checks what must be true after any order. */
async function check(world: World): Promise<void> {
  const { outcomes, problems, history, scenario } = world;
  const calls = [...outcomes];
  const includes = (...kinds: Op["do"][]) => calls.some(({ op }) => kinds.includes(op.do));

  const logins = history.filter((login) => login !== undefined);
  if (new Set(logins).size < logins.length) problems.push(`a login came back: ${logins}`);
  const kept = Object.keys(world.lines).filter((name) => name.startsWith("LINE_"));
  if (world.place === "file" && kept.length < world.edits) problems.push("an edit was lost");
  for (const { op, label, state, value, error, signal } of calls) {
    const isRefused = op.do === "fetch" && state === "resolved" && value !== 200;
    if (state !== "rejected" && !isRefused) continue;
    if (op.do === "login" && history.includes(label)) {
      problems.push(`${label} failed, and was saved`);
    }
    const isAborted = signal?.aborted === true && error === signal.reason;
    // While an hour passes in `expiry`, a new token may expire before a call uses it, and the time
    // limit of a call before its retry.
    const isLate = includes("expiry") && (isRefused || scenario.refusals !== undefined);
    const mayFail = isAborted || world.wasLost || isLate;
    const mustSucceed = op.do === "login" ||
      (op.do === "fetch" && !includes("logout", "everywhere"));
    if (mustSucceed && !mayFail) problems.push(`${label} failed: ${error ?? `status ${value}`}`);
  }

  // With a refresh token that works once, a lost response may end the session.
  const mayBeOver = world.wasLost && scenario.rotates !== false;
  const mustWork = history.at(-1) !== undefined && !mayBeOver && !includes("everywhere");
  for (const when of ["now", "an hour later"]) {
    if (when !== "now") world.addSession();
    const tokens: unknown[] = [];
    const statuses: unknown[] = [];
    for (const by of world.sessions.keys()) {
      tokens.push((await world.settled(world.start({ by, do: "token" }, "a look"))).value);
      const call = await world.settled(world.start({ by, do: "fetch" }, "a call"));
      statuses.push(call.value);
      const isOver = call.error instanceof AuthError && call.error.code === "REFRESH_REJECTED";
      if (isOver && world.savedNow !== undefined && world.savedNow === tokens.at(-1)) {
        problems.push(`${when}, a token that the API rejected is saved after the session ended`);
      }
    }
    if (!tokens.every((token) => token === undefined || world.saved.has(token))) {
      problems.push(`${when}, a session has a token that was never saved`);
    }
    if (mustWork && !statuses.every((status) => status === 200)) {
      problems.push(`${when}, a session does not work`);
    }
    // Until its token expires, a session does not look for the tokens that other sessions saved.
    const isSame = new Set(statuses).size === 1 && new Set(tokens).size === 1;
    if (when !== "now" && !mayBeOver && !isSame) {
      problems.push("an hour later, the sessions differ");
    }
    world.clock.advance(AN_HOUR_S);
  }
}

async function assertHolds(scenario: Scenario, random: () => number, runs: number): Promise<void> {
  for (const place of ["file", "store"] as const) {
    for (let run = 0; run < runs; run++) {
      await using world = new World(scenario, place, random);
      await world.run();
      await check(world);
      assertEquals(world.problems, [], `${place}: ${world.trace.join("; ")}`);
    }
  }
}

function op(by: number, what: Op["do"], more: Partial<Op> = {}): Op {
  return { by, do: what, ...more };
}

/** In each of these scenarios, some order of the events once broke a rule that `check()` asserts. */
const REGRESSIONS: Readonly<Record<string, Scenario>> = {
  "a refresh sends the refresh token that another process saved": {
    ops: [
      op(0, "refresh"),
      op(0, "login", { after: 0 }),
      op(1, "refresh", { after: 1 }),
      op(0, "refresh", { after: 2 }),
    ],
  },
  "a login and a logout at the same time leave all sessions with the same tokens": {
    ops: [op(0, "logout"), op(1, "login"), op(1, "refresh")],
    rotates: false,
  },
  "an older refresh token never replaces a newer one": {
    ops: [
      op(0, "refresh"),
      op(1, "login"),
      op(1, "refresh", { after: 1 }),
      op(0, "refresh", { after: 2 }),
    ],
  },
  "accessToken({ minValidSeconds }) does not replace the tokens of a login": {
    ops: [op(0, "refresh"), op(1, "login"), op(1, "long-token")],
    rotates: false,
  },
  "an aborted logout takes effect completely or not at all": {
    ops: [op(0, "logout", { signal: "x" }), op(1, "refresh"), op(0, "fetch")],
    rotates: false,
    refusals: 2,
  },
  "a login after an aborted logout takes effect": {
    ops: [op(0, "logout", { signal: "x" }), op(1, "refresh"), op(0, "refresh"), op(0, "login")],
  },
  "a call that received a 401 obtains a token that the API accepts": {
    ops: [op(0, "fetch"), op(1, "fetch"), op(1, "login"), op(0, "rejection")],
    slowApi: true,
  },
  "logout({ everywhere: true }) sends the latest refresh token": {
    ops: [op(0, "everywhere"), op(1, "refresh"), op(0, "refresh")],
    begins: "due",
  },
  "an aborted login does not discard the tokens of a successful refresh": {
    ops: [op(0, "login", { signal: "x" }), op(0, "refresh")],
    sessions: 1,
  },
  "two logins that are aborted together do not end the session": {
    ops: [op(0, "login", { signal: "x" }), op(0, "login", { signal: "x" })],
    sessions: 1,
  },
  "an aborted login does not end the session that other sessions share": {
    ops: [op(0, "login", { signal: "x" }), op(0, "refresh"), op(1, "refresh")],
  },
  "a call succeeds even if two other calls that wait for its refresh are aborted": {
    ops: [op(0, "fetch", { signal: "x" }), op(0, "fetch", { signal: "x" }), op(0, "fetch")],
    sessions: 1,
    begins: "rejected",
  },
  "a call succeeds even if the call that started its refresh is aborted": {
    ops: [op(0, "fetch", { signal: "x" }), op(0, "fetch")],
    sessions: 1,
    begins: "rejected",
    refusals: 1,
  },
};

for (const [name, scenario] of Object.entries(REGRESSIONS)) {
  Deno.test(`whichever call finishes first, ${name}`, () =>
    assertHolds(scenario, randomFrom(1), 12));
}

/** The number of random scenarios, many more with SOAK set. */
const COUNT = rounds(40, 1_000);

Deno.test("whichever call finishes first, six random calls with faults leave all sessions with the same tokens", async () => {
  const random = randomFrom(Math.random() * 2 ** 32);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  for (let count = 0; count < COUNT; count++) {
    const ops = Array.from({ length: 6 }, (): Op => ({
      by: pick([0, 1]),
      do: pick([...CALLS, "refresh", "fetch", "long-token", "expiry", "edit"]),
      ...(random() < 0.25 && { signal: pick(["x", "y"]) }),
    }));
    const scenario = {
      ops,
      rotates: random() < 0.5,
      slowApi: random() < 0.5,
      ...pick([{}, { begins: "due" }, { begins: "rejected" }] as const),
      ...pick([{}, { losses: 1 }, { refusals: 3 }, { impatient: true }]),
    };
    await assertHolds(scenario, random, 3);
  }
});
