import type { Event } from "./gates.ts";
import type { Snapshot } from "./order.ts";

/** The events that led a run to its state. */
export interface History {
  /** The state that each session remembers. */
  readonly memories: readonly string[];
  /** The history of each call, or its outcome, as a number. */
  readonly calls: ReadonlyMap<string, number>;
  /** Answers on their way, by the requests that they are for. */
  readonly answers: ReadonlyMap<string, number>;
}

/**
 * Names for the states that the runs of a scenario come to. Where two states have the same name, the
 * same may follow, and the same is found in the end. The name is made of all that this depends on:
 *
 * - what the store, the lock and the provider hold, and the answers that are on their way;
 * - what each session remembers (`Engine.memory`);
 * - what each call under way went through: the events that it took part in, with all that was learned
 *   by them, and other events that changed what its session remembers. A call does the same each time
 *   that it goes through the same, so its variables need not be seen;
 * - what became of the calls that are over.
 *
 * In which order that came about is no part of the name. Two logins that reach the provider one after
 * the other leave the same there in both orders. A call that began after another one was over knows of
 * it only what the session remembers. Nor are times: what differs by less than a second makes no
 * difference to a session, and a longer jump of the clock is an event that all calls go through.
 */
export class StateNames {
  readonly #names = new Map<string, number>();

  begin({ memories }: Snapshot): History {
    return { memories, calls: new Map(), answers: new Map() };
  }

  after(before: History, event: Event, { memories, calls }: Snapshot): History {
    const { name, session, call, isSeen = true, follows = "", learned } = event;
    const what = this.#name([name, learned, before.answers.get(follows)]);
    const answers = new Map(before.answers);
    answers.delete(follows);
    if (!isSeen) answers.set(name, what);
    const isPartOf = (label: string, of: number) => {
      if (session === undefined) return true;
      if (!isSeen || session !== of) return false;
      return call === undefined || call === label || before.memories[of] !== memories[of];
    };
    const went = calls.map(({ label, session: of, outcome }): [string, number] => {
      if (outcome !== undefined) return [label, this.#name([outcome])];
      const lived = before.calls.get(label);
      if (lived !== undefined && !isPartOf(label, of)) return [label, lived];
      return [label, this.#name([lived ?? before.memories[of], what, memories[of]])];
    });
    return { memories, calls: new Map(went), answers };
  }

  of({ memories, calls, answers }: History, { contents }: Snapshot): number {
    return this.#name([memories, [...calls].sort(), [...answers].sort(), contents]);
  }

  #name(parts: readonly unknown[]): number {
    const text = JSON.stringify(parts);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#names.set(text, this.#names.size + 1);
    return this.#names.size;
  }
}
