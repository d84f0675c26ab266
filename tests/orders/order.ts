import { setImmediate } from "node:timers";
import { type ConfigurableSession, makeSession } from "../../src/session.ts";
import type { SessionOptions } from "../../src/settings/options.ts";
import type { TokenStore } from "../../src/session/store.ts";
import { worldOf } from "../../src/platform/world.ts";
import { makeTokens, type Tokens } from "../../src/provider/tokens.ts";
import { Secret } from "../../src/platform/secret.ts";
import { ACCOUNT } from "./account.ts";
import { memoryOf } from "./memory.ts";
import { type Event, type Gate, Gates, nameOf } from "./gates.ts";
import { GateStore, SharedPlace } from "./gate_store.ts";
import { Provider, tokenName, withoutTimes } from "./provider.ts";
import type { Op, Scenario } from "./scenario.ts";

/** The outcome of an operation. */
export interface Outcome {
  readonly op: Op;
  readonly label: string;
  state: "idle" | "under way" | "resolved" | "rejected";
  /** The how manieth of its session it was, from 0. */
  nth?: number;
  /** How many writes the store had seen when it began, and when it ended. */
  writesBefore?: number;
  writesAfter?: number;
  value?: unknown;
  error?: unknown;
  /** Whether it rejected because its own signal aborted. */
  isAborted?: boolean;
}

/** The state of a run, for comparison with others. */
export interface Snapshot {
  /** The shared part. */
  readonly contents: unknown;
  /** The state that each session remembers. */
  readonly memories: readonly string[];
  /** The calls that began, and what became of those that are over. */
  readonly calls: readonly {
    readonly label: string;
    readonly session: number;
    readonly outcome: string | undefined;
  }[];
}

/** Puts something between a session and its store, as a fault does. */
export type Wrap = (store: TokenStore, session: number) => TokenStore;

const AN_HOUR_MS = 3_600_000;
const A_SECOND_MS = 1_000;
const LONGEST_PAUSE_MS = 2_500;
/** The name of the login that all sessions know at the beginning. */
export const FIRST_LOGIN = "first";

const turn = () => new Promise<void>((resolve) => setImmediate(() => resolve()));

/** The order that is run: they are run one after another. */
let current: Order | undefined;

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  current?.unhandled.push(`${event.reason}`);
});

/** One order of the events of a scenario, from its beginning to the rest at its end. */
export class Order {
  readonly gates = new Gates();
  readonly provider: Provider;
  readonly place: SharedPlace;
  readonly outcomes: readonly Outcome[];
  /** The events, in their order. */
  readonly trace: string[] = [];
  readonly unhandled: string[] = [];
  readonly #sessions: ConfigurableSession[] = [];
  /** The state that each session remembers. */
  readonly #memories: (() => unknown)[] = [];
  readonly #aborts = new Map<string, AbortController>();
  readonly #began: number[] = [];

  constructor(readonly scenario: Scenario, readonly wrap: Wrap = (store) => store) {
    current = this;
    this.provider = new Provider(this.gates, scenario.rotates, scenario);
    this.place = new SharedPlace(scenario, this.gates, this.provider);
    this.provider.isKept = (login) => this.place.writes.at(-1)?.login === login;
    this.outcomes = scenario.ops.map((op, k) => ({
      op,
      label: `${nameOf(op.by)}-${op.do}-${k}`,
      state: "idle",
    }));
  }

  /** The sessions whose process lives. */
  get alive(): number[] {
    return this.#sessions.map((_, session) => session).filter((it) => !this.gates.isDead(it));
  }

  /** Makes the sessions, which read what the store holds. */
  begin(): void {
    const { begins, sessions } = this.scenario;
    if (begins !== "signed out") {
      const { accessToken, refreshToken } = this.provider.login(FIRST_LOGIN);
      const world = {
        now: () => this.provider.now,
        monotonic: () => this.provider.now - 1e12,
        random: () => 0.5,
      };
      const parts = {
        accessToken: new Secret(accessToken),
        refreshToken: new Secret(refreshToken),
        expiresAt: this.provider.now + AN_HOUR_MS / 2,
        authenticatedAt: this.provider.now,
        source: "password" as const,
      };
      this.place.put(-1, makeTokens(parts, world));
    }
    this.provider.isOpen = true;
    for (let session = 0; session < sessions; session++) this.addSession();
    this.provider.isOpen = false;
    this.#began.fill(0);
    if (begins === "due") this.provider.now += AN_HOUR_MS;
    if (begins === "rejected") this.provider.rejectAll();
  }

  /** @returns Its number. */
  addSession(): number {
    const session = this.#sessions.length;
    const { gates, provider } = this;
    const options: SessionOptions = {
      ...ACCOUNT,
      now: () => provider.now,
      monotonic: () => provider.now - 1e12,
      sleep: async (ms: number, signal?: AbortSignal) => {
        if (!provider.isOpen) {
          await gates.wait(session, "pause ends", undefined, signal).catch(() => {});
        }
        if (signal?.aborted) return;
        provider.now += ms;
        // Nobody waits so long before a try, only for an answer, which then comes too late.
        if (ms > LONGEST_PAUSE_MS) provider.faults.add("late");
      },
      fetch: provider.fetch(session),
    };
    const replaced = {
      timeout: (ms: number) => provider.timeout(session, ms),
      random: () => 0.5,
    };
    const world = { ...worldOf(options), ...replaced };
    const gateStore = new GateStore(this.place, session, () => world);
    const store = this.wrap(gateStore, session);
    const made = makeSession(options, false, (engine) => {
      this.#memories[session] = () => [memoryOf(engine), gateStore.memory];
      return store;
    }, replaced);
    this.#sessions.push(made);
    this.#began.push(0);
    // At first use it reads the store.
    made.status();
    return session;
  }

  /** Waits until nothing goes on that needs no gate. */
  async rest(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < 2; quiet++) {
      await turn();
      if (this.gates.activity !== seen) quiet = 0;
      seen = this.gates.activity;
    }
  }

  /** The possible next events: gates, operations that begin, aborts, a crash. */
  choices(): Gate[] {
    const { gates, scenario: { crash } } = this;
    const found = gates.choices();
    for (const outcome of this.outcomes) {
      const { op, state, label } = outcome;
      if (state !== "idle" || gates.isDead(op.by)) continue;
      if (op.after !== undefined && this.outcomes[op.after]?.state === "idle") continue;
      found.push({
        name: `${label} begins`,
        session: isForAll(op) ? undefined : op.by,
        call: label,
        open: () => this.#start(outcome),
      });
    }
    const underWay = this.outcomes.filter(({ state, op }) =>
      state === "under way" && !gates.isDead(op.by)
    );
    const signals = new Map(underWay.map(({ op: { signal, by } }) => [signal, by]));
    for (const [signal, session] of signals) {
      const abort = this.#aborts.get(signal ?? "");
      if (abort === undefined || abort.signal.aborted) continue;
      found.push({
        name: `${nameOf(session)}: abort ${signal}`,
        session,
        open: () => {
          gates.activity++;
          abort.abort(new DOMException("The user left", "AbortError"));
        },
      });
    }
    if (crash !== undefined && underWay.some(({ op }) => op.by === crash)) {
      found.push({
        name: `${nameOf(crash)}: crash`,
        session: crash,
        open: () => {
          gates.touch("lock", "written");
          gates.kill(crash);
          this.place.crash(crash);
          this.provider.faults.add("crash");
        },
      });
    }
    return found;
  }

  /** All that may follow depends on this, and on what the calls under way went through. */
  get snapshot(): Snapshot {
    const { place, provider, unhandled } = this;
    return {
      contents: [place.contents, provider.contents, unhandled],
      memories: this.#sessions.map((_, session) => this.#memoryOf(session)),
      calls: this.outcomes.filter(({ state }) => state !== "idle").map((outcome) => ({
        label: outcome.label,
        session: outcome.op.by,
        outcome: this.#isOver(outcome) ? textOf(outcome) : undefined,
      })),
    };
  }

  #memoryOf(session: number): string {
    if (this.gates.isDead(session)) return "dead";
    return memoryText(this.#memories[session]?.(), this.provider.now - 1e12);
  }

  /** Whether nothing of a call goes on. */
  #isOver({ op, label, state, isAborted }: Outcome): boolean {
    if (this.gates.isDead(op.by)) return true;
    if (state === "under way" || this.gates.isWaiting(label)) return false;
    // The effects of an abort may wait for another call.
    return !isAborted ||
      !this.outcomes.some((it) =>
        it.op.by === op.by && (it.state === "under way" || this.gates.isWaiting(it.label))
      );
  }

  /** Lets one of the choices happen. @returns What happened. */
  async let(choice: Gate): Promise<Event> {
    const { gates, provider } = this;
    this.trace.push(choice.name);
    // No two events are at the same moment.
    const before = provider.now += 7;
    gates.touched.clear();
    gates.learned.length = 0;
    choice.open();
    await this.rest();
    // Advancing the clock by up to a second does not affect a session.
    const isLong = provider.now - before > A_SECOND_MS;
    return {
      ...choice,
      session: isLong ? undefined : choice.session,
      touched: new Map(gates.touched),
      learned: [...gates.learned],
    };
  }

  /** Does one thing more, in which nothing goes wrong and nothing waits. */
  async ask(session: number, what: Op["do"]): Promise<Outcome> {
    const op: Op = { by: session, do: what };
    const outcome: Outcome = { op, label: `${nameOf(session)}: ${what}`, state: "idle" };
    this.#start(outcome);
    await this.rest();
    return outcome;
  }

  #start(outcome: Outcome): void {
    const { op } = outcome;
    const { provider, place: { writes }, gates } = this;
    gates.activity++;
    if (isForAll(op)) {
      outcome.state = "resolved";
      if (op.do === "expiry") provider.now += AN_HOUR_MS;
      if (op.do === "rejection") provider.rejectAll();
      if (op.do === "revocation") provider.revokeAll();
      return;
    }
    // The writes since the beginning of a logout show its effect.
    const noteWrites = () => {
      if (op.do === "logout" || op.do === "everywhere") {
        gates.touch("store", "read");
        gates.learn(`${writes.length}`);
      }
    };
    noteWrites();
    outcome.state = "under way";
    outcome.nth = this.#began[op.by] ?? 0;
    this.#began[op.by] = outcome.nth + 1;
    outcome.writesBefore = writes.length;
    const signal = this.#signalOf(op);
    const end = (state: "resolved" | "rejected") => {
      gates.activity++;
      noteWrites();
      outcome.state = state;
      outcome.writesAfter = writes.length;
    };
    gates.call.run(outcome.label, () => this.#call(op, outcome.label, signal)).then(
      (value) => {
        outcome.value = value;
        end("resolved");
      },
      (error) => {
        outcome.error = error;
        outcome.isAborted = signal?.aborted === true && error === signal.reason;
        end("rejected");
      },
    );
  }

  #signalOf({ signal }: Op): AbortSignal | undefined {
    if (signal === undefined) return undefined;
    const abort = this.#aborts.get(signal) ?? new AbortController();
    this.#aborts.set(signal, abort);
    return abort.signal;
  }

  async #call(op: Op, label: string, signal: AbortSignal | undefined): Promise<unknown> {
    const session = this.#sessions[op.by];
    const options = signal ? { signal } : {};
    switch (op.do) {
      case "login":
        return await session?.login({ ...options, force: true, password: label });
      case "join":
        return await session?.login(options);
      case "refresh":
        return await session?.refresh(options);
      case "token":
        return tokenName(await session?.accessToken(options) ?? "");
      case "long-token":
        return tokenName(await session?.accessToken({ ...options, minValidSeconds: 1_700 }) ?? "");
      case "fetch":
        return (await session?.authFetch("/v1/x", options))?.status;
      case "logout":
        return await session?.logout(options);
      case "everywhere":
        return await session?.logout({ ...options, everywhere: true });
      default:
        throw new Error(`${op.do} is nothing that a session does`);
    }
  }
}

/** The outcome of a call, as far as it is checked. */
function textOf({ op, state, nth, value, error, isAborted, ...writes }: Outcome): string {
  const isLogout = op.do === "logout" || op.do === "everywhere";
  const during = isLogout && [writes.writesBefore, writes.writesAfter];
  const why = error instanceof Error && "code" in error ? error.code : error && `${error}`;
  return JSON.stringify([state, nth, op.do === "fetch" && value, why, isAborted, during]);
}

/** The same text for memories that make no difference. @param now By the clock of the sessions. */
function memoryText(memory: unknown, now: number): string {
  // Not the second argument of the function: a secret has hidden itself there.
  return JSON.stringify(memory ?? null, function (this: Record<string, unknown>, key) {
    const value = this[key];
    if (value instanceof AbortController) return value.signal.aborted;
    if (value instanceof AbortSignal) return value.aborted;
    if (value instanceof Secret) return withoutTimes(value.reveal());
    // How much of a pause is left.
    if (key.endsWith("Until")) return Math.ceil((Number(value) - now) / 10_000);
    if (!isTokens(value)) return value;
    const { accessToken, refreshToken, source, learned: { refreshVariant, loginName } } = value;
    return [accessToken, refreshToken, source, refreshVariant, loginName];
  });
}

function isTokens(value: unknown): value is Tokens {
  return typeof value === "object" && value !== null && "accessToken" in value;
}

function isForAll(op: Op): boolean {
  return ["expiry", "rejection", "revocation"].includes(op.do);
}
