import { violationsOf } from "./checks.ts";
import { commute, withMemory } from "./commute.ts";
import type { Event, Gate } from "./gates.ts";
import { Order, type Wrap } from "./order.ts";
import type { Scenario } from "./scenario.ts";
import { type History, StateNames } from "./state_names.ts";

/** The results of all orders of a scenario. */
export interface Report {
  readonly scenario: Scenario;
  /** The orders of events that were explored: those that were run, and those that the runs stand for. */
  readonly orders: number;
  readonly runs: number;
  /** Whether all orders were explored. */
  readonly isComplete: boolean;
  /** A violated rule: the number of runs, and the shortest of them. */
  readonly violations: ReadonlyMap<string, { count: number; trace: readonly string[] }>;
}

/** How far to go. */
export interface Limits {
  /** At most so many runs. Default: no limit. */
  readonly runs?: number;
  /** At most so many milliseconds. Default: no limit. */
  readonly ms?: number;
  readonly wrap?: Wrap;
  /** Whether each order is run separately, to verify that nothing is missed otherwise. */
  readonly isPlain?: boolean;
}

/** No scenario has so many events. */
const TOO_MANY_EVENTS = 300;

/** The continuation that all orders with the same state share. */
interface State {
  /** The possible events, as far as they were tried or are known. */
  readonly steps: Map<string, Step>;
  /** How many orders follow. */
  orders: number;
}

interface Step {
  readonly event: Event;
  readonly to: State;
}

/** A place on the way of the run. */
interface Place {
  readonly history: History;
  readonly state: State;
  /** Events that are to be tried here. */
  readonly left: string[];
  /** The event that the run goes on with. */
  tried: string;
}

/**
 * Explores all orders of a scenario, depth first. Sessions cannot be copied, so each run begins anew. It
 * goes to the last place where an event is left to try, and on until all that may follow is known.
 *
 * Two things make the runs fewer than the orders, and both leave nothing out. Orders that come to the
 * same state go on as one (`StateNames`). And where two events commute (`commute()`), the second order
 * of them is not run: it leads to the state that the first one led to.
 */
export async function explore(scenario: Scenario, limits: Limits = {}): Promise<Report> {
  const { runs: mostRuns = Infinity, ms = Infinity, isPlain = false } = limits;
  const until = performance.now() + ms;
  const violations: Violations = new Map();
  const names = new StateNames();
  const states = new Map<number, State>();
  const first: State = { steps: new Map(), orders: 0 };
  const path: Place[] = [];
  let runs = 0;
  do {
    const order = await started(scenario, limits.wrap);
    if (runs++ === 0) {
      path.push({
        history: names.begin(order.snapshot),
        state: first,
        left: next(order),
        tried: "",
      });
    }
    for (const { tried } of path.slice(0, -1)) await order.let(choiceOf(order, tried));
    for (let place = path.at(-1); place !== undefined && place.left.length > 0;) {
      const tried = place.tried = place.left.shift() ?? "";
      const happened = await order.let(choiceOf(order, tried));
      const snapshot = order.snapshot;
      const history = names.after(place.history, happened, snapshot);
      const name = isPlain ? states.size : names.of(history, snapshot);
      const known = states.get(name);
      const to = known ?? { steps: new Map(), orders: 0 };
      states.set(name, to);
      place.state.steps.set(tried, { event: withMemory(happened, place.history, history), to });
      if (known) break;
      const choices = next(order);
      const isEndless = order.trace.length > TOO_MANY_EVENTS;
      if (choices.length === 0 || isEndless) {
        const found = isEndless ? ["it never comes to a rest"] : await violationsOf(order);
        note(violations, found, order.trace);
        to.orders = 1;
        break;
      }
      if (!isPlain) inferSteps(place.state, tried, to, choices);
      const left = choices.filter((choice) => !to.steps.has(choice));
      path.push(place = { history, state: to, left, tried: "" });
    }
    // Back to the last place where an event is left to try.
    for (let place = path.at(-1); place?.left.length === 0; place = path.at(-1)) {
      place.state.orders = ordersFrom(place.state);
      path.pop();
    }
  } while (path.length > 0 && runs < mostRuns && performance.now() < until);
  const isComplete = path.length === 0;
  const orders = isComplete
    ? first.orders
    : path.reduce((sum, { state }) => sum + ordersFrom(state), 0);
  return { scenario, orders, runs, isComplete, violations };
}

function ordersFrom({ steps }: State): number {
  return [...steps.values()].reduce((sum, { to }) => sum + to.orders, 0);
}

/**
 * Finds out without a run where events lead that commute with the one that led here: they could have
 * happened before it, and what follows from that was explored.
 */
function inferSteps(before: State, tried: string, here: State, choices: readonly string[]): void {
  const step = before.steps.get(tried);
  for (const name of choices) {
    const other = before.steps.get(name);
    if (step === undefined || other === undefined || !commute(step.event, other.event)) continue;
    const both = other.to.steps.get(tried);
    if (both) here.steps.set(name, { event: other.event, to: both.to });
  }
}

/** The possible next events, by name. */
function next(order: Order): string[] {
  return order.choices().map(({ name }) => name);
}

function choiceOf(order: Order, name: string): Gate {
  const choice = order.choices().find((each) => each.name === name);
  if (choice) return choice;
  throw new Error(`No "${name}" among: ${next(order).join("; ")}`);
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
  for (const name of trace) await order.let(choiceOf(order, name));
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
  order.begin();
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
  order.begin();
  await order.rest();
  return order;
}
