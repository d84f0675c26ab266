import type { Budget, Op, Scenario } from "./scenario.ts";
import { nameOf } from "./gates.ts";

/** The operations of sessions in the scenarios that combine all of them. */
const VERBS = ["login", "refresh", "token", "fetch", "logout", "everywhere"] as const;

/**
 * All ways in which two sessions can do the given number of operations, without distinguishing A
 * and B.
 */
export function combinations(count: number): Op[][] {
  const all: Op[] = [0, 1].flatMap((by) => VERBS.map((verb) => ({ by, do: verb })));
  const found = new Map<string, Op[]>();
  const add = (ops: Op[], from: number) => {
    if (ops.length === count) {
      const mirrored = ops.map(({ by, do: verb }) => ({ by: 1 - by, do: verb }));
      if (!found.has(keyOf(mirrored))) found.set(keyOf(ops), ops);
      return;
    }
    for (let k = from; k < all.length; k++) add([...ops, all[k] as Op], k);
  };
  add([], 0);
  return [...found.values()];
}

function keyOf(ops: readonly Op[]): string {
  return ops.map(({ by, do: verb }) => `${by}${verb}`).sort().join();
}

/** The faults in a variant of a scenario. */
export type Trouble =
  | "nothing"
  | "an answer lost"
  | "an answer too late"
  | "a 503"
  | "a refresh that is ended"
  | "an abort"
  | "a crash"
  | "a lock that is never free"
  | "a write that fails";

export const TROUBLES: readonly Trouble[] = [
  "nothing",
  "an answer lost",
  "an answer too late",
  "a 503",
  "a refresh that is ended",
  "an abort",
  "a crash",
  "a lock that is never free",
  "a write that fails",
];

const BUDGETS: Readonly<Partial<Record<Trouble, Budget>>> = {
  "an answer lost": { losses: 1 },
  "an answer too late": { late: 1 },
  "a 503": { refusals: 1 },
  "a refresh that is ended": { impatience: 1 },
  "an abort": { slowWrites: true },
  "a crash": { slowWrites: true },
  "a lock that is never free": { busy: 1 },
  "a write that fails": { failedWrites: 1 },
};

/** The scenarios that these operations make with one kind of trouble. */
export function scenariosOf(ops: readonly Op[], rotates: boolean, trouble: Trouble): Scenario[] {
  const does = (verb: Op["do"]) => ops.some((op) => op.do === verb);
  const scenario: Scenario = {
    name: [namesOf(ops), rotates ? "rotating" : "not rotating", trouble].join("; "),
    sessions: 2,
    rotates,
    // A store that tells by number what is new, and one that tells by its lines.
    store: ops.length % 2 === 0 ? "by text" : "by number",
    ...(does("token") ? { begins: "due" } : does("fetch") ? { begins: "rejected" } : {}),
    ops: inTurn(ops),
    ...BUDGETS[trouble],
  };
  if (trouble === "an abort") {
    return ops.map((op, k) => ({
      ...scenario,
      name: `${scenario.name} of ${nameOf(op.by)} ${op.do}`,
      ops: inTurn(ops.with(k, { ...op, signal: "x" })),
    }));
  }
  if (trouble === "a crash") {
    return [...new Set(ops.map(({ by }) => by))].map((crash) => ({
      ...scenario,
      name: `${scenario.name} of ${nameOf(crash)}`,
      crash,
    }));
  }
  return [scenario];
}

/** Equal calls of one session begin in their order: in another one they would only change their names. */
function inTurn(ops: readonly Op[]): Op[] {
  return ops.map((op, k) => {
    const isEqual = ({ by, do: verb, signal }: Op, nth: number) =>
      nth < k && by === op.by && verb === op.do && signal === op.signal;
    const before = ops.findLastIndex(isEqual);
    return before < 0 ? op : { ...op, after: before };
  });
}

function namesOf(ops: readonly Op[]): string {
  return ops.map(({ by, do: verb }) => `${nameOf(by)} ${verb}`).join(", ");
}

/** Stories of six operations with everything that may go wrong: there are too many orders to try all. */
export function longStory(random: () => number): Scenario {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const verbs = [
    ...VERBS,
    "refresh",
    "fetch",
    "long-token",
    "join",
    "expiry",
    "rejection",
  ] as const;
  const drawn = Array.from({ length: 6 }, (): Op => {
    const op = { by: pick([0, 1]), do: pick(verbs) };
    const isForAll = op.do === "expiry" || op.do === "rejection";
    return random() < 0.25 && !isForAll ? { ...op, signal: pick(["x", "y"]) + op.by } : op;
  });
  // After one 401 that a refresh was made for, no other one is made for a while.
  const first = drawn.find((op) => op.do === "rejection");
  const ops = first
    ? drawn.filter((op) => op === first || !["rejection", "expiry"].includes(op.do))
    : drawn;
  const troubles = [{}, {}, { losses: 1 }, { late: 1 }, { refusals: 3 }, { impatience: 1 }, {
    busy: 1,
  }, {
    failedWrites: 1,
  }, { crash: 0 }];
  return {
    name: namesOf(ops),
    sessions: 2,
    rotates: random() < 0.5,
    store: pick(["by text", "by number"]),
    ...(first ? {} : pick([{}, {}, { begins: "due" }, { begins: "rejected" }] as const)),
    slowWrites: random() < 0.5,
    slowApi: random() < 0.5,
    ...pick(troubles),
    ops,
  };
}
