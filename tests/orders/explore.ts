import { violationsOf } from "./checks.ts";
import type { Gate, Shared } from "./gates.ts";
import { Order, type Wrap } from "./order.ts";
import type { Scenario } from "./scenario.ts";

/** What the orders of a scenario showed. */
export interface Report {
  readonly scenario: Scenario;
  /** Orders of events that the runs stand for. Orders that differ only in events that do not touch each other are one run. */
  readonly orders: number;
  /** Orders that were run to their end. */
  readonly runs: number;
  /** Whether all orders were explored. */
  readonly isComplete: boolean;
  /** What must not be: how often, and the shortest order that shows it. */
  readonly violations: ReadonlyMap<string, { count: number; trace: readonly string[] }>;
}

/** How far to go. */
export interface Limits {
  /** At most so many runs. Default: no limit. */
  readonly runs?: number;
  /** At most so many milliseconds. Default: no limit. */
  readonly ms?: number;
  readonly wrap?: Wrap;
}

/**
 * A name for the state that a run has come to. Two runs with the same events, in orders that differ
 * only for events which touch nothing in common, have come to the same state.
 */
class StateName {
  readonly #names = new Map<string, number>();
  #sessions: number[] = [];
  #written = new Map<Shared, number>();
  #read = new Map<Shared, number[]>();
  /** The events by their names, which are told apart in a run. */
  #events = new Map<string, number>();

  constructor(readonly count: number) {
    this.reset();
  }

  reset(): void {
    this.#sessions = Array.from({ length: this.count }, () => 0);
    this.#written = new Map();
    this.#read = new Map();
    this.#events = new Map();
  }

  add(
    { name, session, isSeen = true, follows = "" }: Gate,
    touched: ReadonlyMap<Shared, "read" | "written">,
  ): number {
    const isForAll = session === undefined;
    const before = isForAll ? this.#sessions : isSeen && this.#sessions[session];
    const parts: unknown[] = [name, before, this.#events.get(follows)];
    const all = isForAll ? ALL.map((it) => [it, "written"] as const) : [...touched].sort();
    for (const [what, how] of all) {
      parts.push(what, how, this.#written.get(what), how === "written" && this.#reads(what));
    }
    const event = this.#name(parts);
    this.#events.set(name, event);
    for (const [what, how] of all) {
      if (how === "written") {
        this.#written.set(what, event);
        this.#read.set(what, []);
      } else this.#read.set(what, [...this.#reads(what), event]);
    }
    if (isForAll) this.#sessions.fill(event);
    else if (isSeen) this.#sessions[session] = event;
    const shared = ALL.map((what) => [this.#written.get(what), this.#reads(what)]);
    return this.#name([this.#sessions, shared]);
  }

  #reads(what: Shared): number[] {
    return (this.#read.get(what) ?? []).sort((a, b) => a - b);
  }

  #name(parts: readonly unknown[]): number {
    const text = JSON.stringify(parts);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#names.set(text, this.#names.size + 1);
    return this.#names.size;
  }
}

const ALL: readonly Shared[] = ["store", "lock", "provider"];

/** No scenario has so many events. */
const TOO_MANY_EVENTS = 300;

/** A place where orders part. */
interface Fork {
  readonly state: number;
  readonly width: number;
  taken: number;
  /** Orders from here on, as far as they were explored. */
  orders: number;
}

/** Explores all orders of a scenario, depth first. */
export async function explore(scenario: Scenario, limits: Limits = {}): Promise<Report> {
  const { runs: mostRuns = Infinity, ms = Infinity } = limits;
  const until = performance.now() + ms;
  const violations: Violations = new Map();
  const names = new StateName(scenario.sessions);
  /** How many orders follow from states that are explored. */
  const explored = new Map<number, number>();
  const path: Fork[] = [];
  let runs = 0;
  let orders = 0;
  for (;;) {
    const order = await started(scenario, limits.wrap);
    names.reset();
    let state = 0;
    let found: number | undefined;
    for (let depth = 0;; depth++) {
      const choices = order.choices();
      const fork = path[depth] ?? { state, width: choices.length, taken: 0, orders: 0 };
      if (path[depth] === undefined) path.push(fork);
      if (fork.width !== choices.length || fork.state !== state) {
        throw new Error(`The same events led elsewhere: ${order.trace.join("; ")}`);
      }
      const choice = choices[fork.taken];
      if (choice === undefined) break;
      order.gates.touched.clear();
      await order.let(choice);
      if (depth > TOO_MANY_EVENTS) {
        note(violations, ["it never comes to a rest"], order.trace);
        found = 1;
        break;
      }
      state = names.add(choice, order.gates.touched);
      found = path[depth + 1] === undefined ? explored.get(state) : undefined;
      if (found !== undefined) break;
    }
    if (found === undefined) {
      runs++;
      path.pop();
      explored.set(state, found = 1);
      note(violations, await violationsOf(order), order.trace);
    }
    // Back to the last place where another order is left.
    for (let fork = path.at(-1); fork !== undefined; fork = path.at(-1)) {
      fork.orders += found;
      fork.taken++;
      if (fork.taken < fork.width) break;
      path.pop();
      found = fork.orders;
      explored.set(fork.state, found);
      orders = found;
    }
    const isComplete = path.length === 0;
    if (isComplete || runs >= mostRuns || performance.now() > until) {
      if (!isComplete) orders = path.reduce((sum, fork) => sum + fork.orders, 0);
      return { scenario, orders, runs, isComplete, violations };
    }
  }
}

/** Runs so many orders at random. */
export async function sample(
  scenario: Scenario,
  count: number,
  random: () => number,
  { ms = Infinity, wrap }: Limits = {},
): Promise<Report> {
  const until = performance.now() + ms;
  const violations: Violations = new Map();
  let runs = 0;
  while (runs < count && performance.now() < until) {
    const order = await started(scenario, wrap);
    for (let events = 0; events < TOO_MANY_EVENTS; events++) {
      const choices = order.choices();
      const choice = choices[Math.floor(random() * choices.length)];
      if (choice === undefined) break;
      await order.let(choice);
    }
    runs++;
    note(violations, await violationsOf(order), order.trace);
  }
  return { scenario, orders: runs, runs, isComplete: false, violations };
}

/** Runs one order by the names of its events. */
export async function replay(
  scenario: Scenario,
  trace: readonly string[],
  wrap?: Wrap,
): Promise<{ order: Order; violations: string[] }> {
  const order = await started(scenario, wrap);
  for (const name of trace) {
    const choices = order.choices();
    const choice = choices.find((each) => each.name === name);
    if (choice === undefined) {
      throw new Error(`No "${name}" among: ${choices.map((each) => each.name).join("; ")}`);
    }
    await order.let(choice);
  }
  return { order, violations: await violationsOf(order) };
}

type Violations = Map<string, { count: number; trace: readonly string[] }>;

function note(violations: Violations, found: readonly string[], trace: readonly string[]): void {
  for (const text of found) {
    const known = violations.get(text);
    const shortest = known && known.trace.length <= trace.length ? known.trace : trace;
    violations.set(text, { count: (known?.count ?? 0) + 1, trace: shortest });
  }
}

let loaded: Promise<void> | undefined;

/**
 * The client loads modules when they are first needed, which takes turns that only the first order would
 * take: here they are loaded before.
 */
export function modulesLoaded(): Promise<void> {
  return loaded ??= loadModules();
}

async function loadModules(): Promise<void> {
  const all = ["fetch", "refresh", "logout", "login", "everywhere", "join", "token"] as const;
  const ops = all.map((what) => ({ by: 0, do: what }));
  const shape = { sessions: 1, rotates: false, store: "by text", ops } as const;
  const order = new Order({ name: "all modules", begins: "due", refusals: 1, ...shape });
  await order.begin();
  for (const outcome of order.outcomes) {
    const isNext = (name: string) => !name.endsWith("begins") || name.startsWith(outcome.label);
    do {
      for (const choice of order.choices().filter(({ name }) => isNext(name)).slice(-1)) {
        await order.let(choice);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    } while (outcome.state === "idle" || outcome.state === "under way");
  }
}

async function started(scenario: Scenario, wrap: Wrap | undefined): Promise<Order> {
  await modulesLoaded();
  const order = new Order(scenario, wrap);
  await order.begin();
  await order.rest();
  return order;
}
