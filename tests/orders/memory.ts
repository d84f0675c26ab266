import type { Engine } from "../../src/session/engine.ts";
import type { SharedWork } from "../../src/session/shared_work.ts";

/** Everything that a session remembers, so that two orders of events can be compared. */
export function memoryOf(engine: Engine): unknown {
  const [keeper, refreshing, loggingOut] = [
    engine["keeper"],
    engine["refreshing"],
    engine["loggingOut"],
  ];
  return {
    kept: [
      keeper["state"],
      keeper["seen"].tokens,
      keeper["isChanging"],
      engine.notices.all,
    ],
    refresh: refreshing && [refreshing.reason, ...sharedWork(refreshing)],
    logout: loggingOut && [loggingOut.remote, loggingOut.order, ...sharedWork(loggingOut)],
    cooldowns: engine["cooldowns"],
    counts: [engine["calledCount"], engine["lastAppliedOrder"]],
  };
}

function sharedWork<Result>(work: SharedWork<Result>): unknown[] {
  return [work.signal.aborted, work["isCommitted"], work["callers"].map(({ signal }) => signal)];
}
