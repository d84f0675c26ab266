/** The events outside of the sessions, one at a time, in an order that the explorer chooses. */

import { AsyncLocalStorage } from "node:async_hooks";

/** The resources that calls share. An event that touches none of them concerns only its call. */
export type Shared = "store" | "lock" | "all logins" | `login ${string}` | `memory ${number}`;

/** Something that may happen next. */
export interface Gate {
  readonly name: string;
  /** The session that waits for it; `undefined`: all of them take part. */
  readonly session: number | undefined;
  /** The call of it that waits; `undefined`: it may concern all of them. */
  readonly call?: string | undefined;
  /** Whether the session goes on by it. Else it only changes what is shared, such as a request that arrives. */
  readonly isSeen?: boolean;
  /** The event without which it would not be. */
  readonly follows?: string;
  open(): void;
}

/** The event that happened. */
export interface Event extends Pick<Gate, "name" | "session" | "call" | "isSeen" | "follows"> {
  readonly touched: ReadonlyMap<Shared, "read" | "written">;
  readonly learned: readonly string[];
}

/** The facts about an event that are known in advance. */
export interface EventKind {
  /** The ways in which its session does not go on by it. */
  readonly unseen?: readonly string[];
  readonly follows?: string;
}

interface Waiting {
  readonly name: string;
  readonly session: number;
  readonly call: string | undefined;
  readonly kind: EventKind;
  /** In how many ways it may go now. None: it cannot happen yet. */
  ways(): readonly string[];
  open(way: string): void;
}

/** The gates that are closed at the moment, and what the last event touched. */
export class Gates {
  #waiting: Waiting[] = [];
  readonly #counts = new Map<string, number>();
  readonly #dead = new Set<number>();
  /** The call on whose behalf something is done. */
  readonly call = new AsyncLocalStorage<string>();
  /** Grows with all that happens: at rest it stands still. */
  activity = 0;
  /** The event that happened last. */
  last = "";
  readonly touched = new Map<Shared, "read" | "written">();
  /**
   * The facts that the session learned from the event. No other shared state can change its
   * behavior.
   */
  readonly learned: string[] = [];

  /** Notes that the event that goes on read or changed something shared. */
  touch(what: Shared, how: "read" | "written"): void {
    this.activity++;
    if (how === "written" || !this.touched.has(what)) this.touched.set(what, how);
  }

  /** Notes what the session learned by the event that goes on. */
  learn(what: string): void {
    if (what !== this.learned.at(-1)) this.learned.push(what);
  }

  /**
   * Waits until the explorer lets it happen.
   *
   * @param kind What would happen, in the choices' names.
   * @param ways Asked at each rest.
   * @param signal Ends the wait; its reason is thrown.
   * @returns The way that was chosen.
   */
  wait(
    session: number,
    kind: string,
    ways: () => readonly string[] = () => [""],
    signal?: AbortSignal | null,
    kindOfEvent: EventKind = {},
  ): Promise<string> {
    const call = this.call.getStore();
    const name = this.#nameOf(`${call ?? nameOf(session)}: ${kind}`, kindOfEvent);
    this.activity++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.activity++;
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        signal?.removeEventListener("abort", abort);
      };
      const abort = () => {
        leave();
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        name,
        session,
        call,
        kind: kindOfEvent,
        ways,
        open: (way) => {
          leave();
          resolve(way);
        },
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", abort);
      this.#waiting.push(waiting);
    });
  }

  /**
   * Numbers identify events. A response has the number of its request, in whatever order they
   * arrive.
   */
  #nameOf(base: string, { follows }: EventKind): string {
    if (follows !== undefined) return base + (/ \(\d+\)$/.exec(follows)?.[0] ?? "");
    const count = (this.#counts.get(base) ?? 0) + 1;
    this.#counts.set(base, count);
    return count === 1 ? base : `${base} (${count})`;
  }

  /** The possible next events. */
  choices(): Gate[] {
    return this.#waiting.filter(({ session }) => !this.#dead.has(session)).flatMap((waiting) =>
      waiting.ways().map((way) => ({
        name: way === "" ? waiting.name : `${waiting.name}, ${way}`,
        session: waiting.session,
        call: waiting.call,
        isSeen: !waiting.kind.unseen?.includes(way),
        ...(waiting.kind.follows !== undefined && { follows: waiting.kind.follows }),
        open: () => {
          this.last = waiting.name;
          waiting.open(way);
        },
      }))
    );
  }

  /** Whether something may still happen on behalf of a call. */
  isWaiting(call: string): boolean {
    return this.#waiting.some((each) => each.call === call);
  }

  /** The process of a session ends: nothing happens to it any more. */
  kill(session: number): void {
    this.#dead.add(session);
  }

  isDead(session: number): boolean {
    return this.#dead.has(session);
  }
}

/** A, B, C. */
export function nameOf(session: number): string {
  return String.fromCharCode(65 + session);
}
