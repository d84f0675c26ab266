import { setImmediate } from "node:timers";
import { type ConfigurableSession, makeSession } from "../../src/session.ts";
import type { SessionOptions } from "../../src/settings/options.ts";
import type { SessionStore } from "../../src/session/store.ts";
import { worldOf } from "../../src/runtime/world.ts";
import { makeTokens } from "../../src/values/tokens.ts";
import { Secret } from "../../src/values/secret.ts";
import { ACCOUNT } from "./account.ts";
import { type Gate, Gates, nameOf } from "./gates.ts";
import { GateRedis } from "./gate_redis.ts";
import { GateStore, SharedPlace } from "./gate_store.ts";
import { Provider, tokenName } from "./provider.ts";
import type { Op, Scenario } from "./scenario.ts";

/** What became of an operation. */
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

/** Puts something between a session and its store, as a fault does. */
export type Wrap = (store: SessionStore, session: number) => SessionStore;

const AN_HOUR_MS = 3_600_000;
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
  /** What happened, in its order. */
  readonly trace: string[] = [];
  readonly unhandled: string[] = [];
  readonly #redis: GateRedis | undefined;
  readonly #sessions: ConfigurableSession[] = [];
  readonly #aborts = new Map<string, AbortController>();
  readonly #began: number[] = [];

  constructor(readonly scenario: Scenario, readonly wrap: Wrap = (store) => store) {
    current = this;
    this.provider = new Provider(this.gates, scenario.rotates, scenario);
    this.place = new SharedPlace(scenario, this.gates, this.provider);
    this.provider.isKept = (login) => this.place.writes.at(-1)?.login === login;
    this.#redis = scenario.store === "redis" ? new GateRedis(this.place) : undefined;
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
  async begin(): Promise<void> {
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
      this.#redis?.keep(this.place.lines);
    }
    this.#redis?.use();
    this.provider.isOpen = true;
    for (let session = 0; session < sessions; session++) {
      this.addSession();
      // Only who asks a server knows what it holds.
      if (this.#redis) await this.ask(session, "token");
    }
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
      timeout: (ms: number) => provider.timeout(session, ms),
      random: () => 0.5,
      fetch: provider.fetch(session),
      ...(this.#redis && { store: GateRedis.addressOf(session), storeKey: "" }),
    };
    const world = worldOf(options);
    const store = this.wrap(new GateStore(this.place, session, () => world), session);
    const made = this.#redis
      ? makeSession(options, false)
      : makeSession(options, false, () => store);
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

  /** What may happen next: gates, operations that begin, aborts, a crash. */
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

  /** Lets one of the choices happen. */
  async let(choice: Gate): Promise<void> {
    this.trace.push(choice.name);
    // No two events are at the same moment.
    this.provider.now += 7;
    choice.open();
    await this.rest();
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
    gates.touch("store", "read");
    outcome.state = "under way";
    outcome.nth = this.#began[op.by] ?? 0;
    this.#began[op.by] = outcome.nth + 1;
    outcome.writesBefore = writes.length;
    const signal = this.#signalOf(op);
    const end = (state: "resolved" | "rejected") => {
      gates.touch("store", "read");
      outcome.state = state;
      outcome.writesAfter = writes.length;
    };
    this.#call(op, outcome.label, signal).then(
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

function isForAll(op: Op): boolean {
  return ["expiry", "rejection", "revocation"].includes(op.do);
}
