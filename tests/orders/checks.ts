import type { Order, Outcome } from "./order.ts";
import { nameOf } from "./gates.ts";

const AN_HOUR_MS = 3_600_000;

/** The tokens of a session, as far as its caller can see. */
type Held = { number: number; login: string; text: string } | undefined;

/** Looks for what must not be, after all has happened. @returns In words; none if all is well. */
export async function violationsOf(order: Order): Promise<string[]> {
  const found: string[] = [];
  const { gates, outcomes, place, provider, scenario } = order;
  const calls = outcomes.filter(({ nth }) => nth !== undefined);
  const living = calls.filter(({ op }) => !gates.isDead(op.by));
  const does = (...what: string[]) =>
    outcomes.some(({ op, state }) => what.includes(op.do) && state !== "idle");
  for (const { label, state } of living) {
    if (state === "under way") found.push(`${label} never ends`);
  }
  const faults = provider.faults;
  // A lost response may have contained the only refresh token that works.
  const mayLoseToken = ["losses", "late", "impatience", "crash", "failedWrites", "busy"].some((
    it,
  ) => faults.has(it));
  const isExcused = scenario.rotates && mayLoseToken;
  // Who signs out everywhere may know no newer refresh token of a login that is over: others got it, or
  // are getting it at this moment. Then the provider ends what is to end.
  const endsWhatIsOver = ({ by, newestOf, isKept }: typeof provider.reused[number]) =>
    !isKept && newestOf !== by &&
    calls.some(({ op }) => op.do === "everywhere" && (op.by === by || op.by === newestOf));
  if (!isExcused && !provider.reused.every(endsWhatIsOver)) {
    found.push("a replaced refresh token is sent again");
  }
  const onlyDue = scenario.begins === "due" &&
    outcomes.every(({ op }) => ["token", "fetch", "join"].includes(op.do));
  if (onlyDue && provider.refreshes > 1 && !mayLoseToken) {
    found.push(`${provider.refreshes} refreshes for one token`);
  }
  found.push(...historyViolations(order, living, mayLoseToken));

  if (place.holder !== undefined && !faults.has("crash") && !faults.has("busy")) {
    found.push("the lock is left");
  }

  // Their present tokens.
  provider.isOpen = true;
  const written = place.writes.map(({ text }) => text);
  const before = place.writes.length;
  const held = new Map<number, Held>();
  for (const session of order.alive) {
    const { value } = await order.ask(session, "token");
    held.set(session, value as Held);
  }
  const isAsBefore = place.writes.length === before;
  const last = place.writes.at(-1);
  if (isAsBefore && !faults.has("failedWrites")) {
    for (const [session, tokens] of held) {
      const who = `session ${nameOf(session)}`;
      const isSaved = tokens === undefined || written.includes(tokens.text);
      // Without the lock two may refresh at once; both tokens are good.
      if (!isSaved && !faults.has("busy")) found.push(`${who} holds what was never saved`);
      // Who is refused without the lock leaves the store to its holder: the login is over all the same.
      const isLeft = faults.has("busy") && provider.logins.get(last?.login ?? "")?.revoked;
      // Once the refresh token is refused, the access token is all that is kept, and it ends.
      const hasEnded = !place.lines.includes("REFRESH_TOKEN") && provider.hasEnded(last?.text);
      if (!tokens && last?.login !== undefined && !isLeft && !hasEnded) {
        found.push(`${who} is signed out, the store is not`);
      }
      if (tokens && last?.by === session && last.text !== tokens.text) {
        found.push(`${who} holds another token than it wrote last`);
      }
    }
  }
  for (const { op, label, state } of living) {
    const isHeld = [...held.values()].some((tokens) => tokens?.login === label);
    if (op.do === "login" && state === "rejected" && isHeld) {
      found.push(`${label} rejected, and its tokens count`);
    }
  }

  // Whether they work.
  const hasSession = scenario.begins !== "signed out" ||
    living.some(({ op, state }) => ["login", "join"].includes(op.do) && state === "resolved");
  const mustWork = hasSession && !isExcused && !does("logout", "everywhere", "revocation");
  const ends = does("logout", "everywhere");
  for (const when of ["now", "an hour later"]) {
    const results: string[] = [];
    const others = when === "now" ? [] : [order.addSession()];
    for (const session of [...order.alive, ...others]) {
      const { state, value, error } = await order.ask(session, "fetch");
      const isNew = session >= scenario.sessions;
      const who = isNew ? "a new session" : `session ${nameOf(session)}`;
      if (state === "under way") found.push(`${who} hangs ${when}`);
      else if (mustWork && value !== 200) {
        found.push(`${who} does not work ${when}: ${value ?? codeOf(error)}`);
      }
      results.push(value === 200 ? "works" : "does not");
    }
    if (
      ends && !isExcused && !faults.has("failedWrites") && when !== "now" &&
      new Set(results).size > 1
    ) {
      found.push("after a logout some sessions work and others do not");
    }
    provider.now += AN_HOUR_MS;
  }
  found.push(...order.unhandled.map((error) => `nobody handles ${error}`));
  return [...new Set(found)];
}

/** The results of the writes, compared with those of the callers. */
function historyViolations(
  order: Order,
  living: readonly Outcome[],
  mayLoseToken: boolean,
): string[] {
  const found: string[] = [];
  const { place: { writes }, provider, outcomes } = order;
  const ends = ["logout", "everywhere"];
  const isLogout = ({ op, state }: Outcome) => ends.includes(op.do) && state !== "idle";
  // A login that was replaced or ended never comes back.
  const gone = new Set<string>();
  let current: string | undefined;
  for (const { login, by } of writes) {
    // A session that learned of the end of the login also empties the store.
    const isRefusal = login === undefined &&
      !outcomes.some((it) => isLogout(it) && it.op.by === by);
    if (current !== undefined && current !== login && !(isRefusal && mayLoseToken)) {
      gone.add(current);
    }
    if (login !== undefined && gone.has(login)) {
      found.push(`${kindOf(login)} was over, and is saved again`);
    }
    current = login;
  }
  for (const outcome of living) {
    const { op, label, state, nth = 0, writesBefore = 0, writesAfter = writes.length } = outcome;
    const isOutdated = living.some((it) =>
      it.op.by === op.by && (it.nth ?? 0) > nth && ["login", "join", ...ends].includes(it.op.do)
    );
    const isSaved = writes.some(({ login }) => login === label);
    const isUndisturbed = provider.faults.size === 0 && !outcome.isAborted;
    if (op.do === "login" && state === "rejected" && isUndisturbed) {
      found.push(`${label} rejected with ${codeOf(outcome.error)}, and nothing was wrong`);
    }
    if (op.do === "login") {
      if (state === "rejected" && isSaved) found.push(`${label} rejected, and was saved`);
      if (state === "resolved" && !isSaved && !isOutdated && !provider.faults.has("failedWrites")) {
        found.push(`${label} resolved, and was never saved`);
      }
    }
    if (isLogout(outcome) && !provider.faults.has("failedWrites")) {
      const during = writes.slice(Math.max(0, writesBefore - 1), writesAfter);
      const isEmptied = writesBefore === 0 || during.some(({ login }) => login === undefined);
      if (state === "resolved" && !isEmptied && !isOutdated) {
        found.push(`${label} resolved, and the store was never empty`);
      }
      const others = living.some((it) => it !== outcome && it.op.by === op.by && isLogout(it));
      const isOwn = writes.some(({ login, by }) => login === undefined && by === op.by);
      const mayBeOver = mayLoseToken || outcomes.some((it) => it.op.do === "revocation") ||
        outcomes.some((it) => it !== outcome && isLogout(it));
      if (outcome.isAborted && isOwn && !others && !mayBeOver) {
        found.push(`${label} rejected by its abort, and the tokens are out of the store`);
      }
    }
    if (op.do === "fetch" && state === "resolved" && outcome.value !== 200 && !mayLoseToken) {
      const isOver = outcomes.some((it) =>
        isLogout(it) || ["revocation", "rejection", "expiry"].includes(it.op.do)
      );
      if (!isOver) found.push(`${label} resolved with ${outcome.value}`);
    }
  }
  return found;
}

/** The name of a login without its number, so that violations of one kind are one. */
function kindOf(login: string): string {
  return login.replace(/-\d+$/, "");
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? `${error.code}` : `${error}`;
}
