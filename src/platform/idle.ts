import { unlessAborted } from "./abort.ts";
import type { World } from "./world.ts";
import { typeError } from "../errors/errors.ts";
import type { InProgram } from "../errors/advice.ts";
import { spanText } from "../errors/amounts.ts";

/** How long a request may bring nothing, where the user does not say otherwise. */
const DEFAULT_IDLE_MS = 60_000;
/** Longer times are as good as none, and no timer can wait for them. */
const LONGEST_IDLE_MS = 2 ** 31;
/** How many parts an idle time is counted in. It ends at most one part late, and never early. */
const SLICES = 10;

/** A request brought nothing for too long. */
export class Stalled extends Error {
  constructor(idleMs: number) {
    super(`nothing came for ${idleMs < 1_000 ? `${idleMs} ms` : spanText(idleMs)}`);
  }
}

/** What helps where nothing comes, behind what else does. */
export const WAIT_LONGER: InProgram = { inProgram: ", or pass a longer idleTimeoutMs" };

/**
 * The idle time that a user gave, or the default.
 *
 * @returns 0: none.
 * @throws {TypeError} For a number that is no time.
 */
export function idleTimeout(doing: string, idleMs: number = DEFAULT_IDLE_MS): number {
  if (!(idleMs >= 0)) throw typeError(`${doing} takes zero or more milliseconds as idleTimeoutMs`);
  return idleMs < LONGEST_IDLE_MS ? idleMs : 0;
}

/**
 * Ends a request that brings nothing for too long. Only the time counts in which something is waited
 * for: a caller that writes slowly stalls nothing.
 */
export class IdleWatch {
  /** Aborts with {@linkcode Stalled}, or as the user's signal does. */
  readonly signal: AbortSignal | undefined;
  readonly #users: AbortSignal | undefined;
  readonly #end = new AbortController();
  readonly #wait: Wait;
  /** `undefined`: nothing is too long. */
  readonly #slices: Slices | undefined;

  /**
   * @param idleMs From {@linkcode idleTimeout}.
   * @param users Ends the request, too.
   */
  constructor(world: World, idleMs: number, users: AbortSignal | undefined) {
    this.#users = users;
    this.#wait = { passed: 0, end: () => this.#end.abort(new Stalled(idleMs)) };
    this.#slices = idleMs === 0 ? undefined : slicesOf(world, idleMs);
    this.signal = this.#slices ? this.#end.signal : users;
    users?.addEventListener("abort", this.#abort);
    if (users?.aborted) this.#abort();
  }

  readonly #abort = () => this.#end.abort(this.#users?.reason);

  /** From now on something must come. */
  begin(): void {
    this.#wait.passed = 0;
    this.#slices?.add(this.#wait);
  }

  /** Something came, or nothing is waited for. */
  pause(): void {
    this.#slices?.delete(this.#wait);
  }

  /** Waits for what must come. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.begin();
    try {
      return await unlessAborted(this.signal, work);
    } finally {
      this.pause();
    }
  }

  /** The request is over. */
  release(): void {
    this.pause();
    this.#users?.removeEventListener("abort", this.#abort);
  }
}

interface Wait {
  /** How many slices ended since something came. */
  passed: number;
  end(): void;
}

/**
 * Counts the slices of all requests with one idle time. While the computer sleeps, or this process has
 * no time, a slice lasts longer and still counts as one. So only time counts in which bytes could come.
 */
class Slices {
  readonly #world: World;
  readonly #sliceMs: number;
  readonly #waits = new Set<Wait>();
  /** One timer for all of them. */
  #slice: AbortSignal | undefined;

  constructor(world: World, idleMs: number) {
    this.#world = world;
    this.#sliceMs = Math.max(1, Math.ceil(idleMs / SLICES));
  }

  add(wait: Wait): void {
    const isFirst = this.#waits.size === 0;
    this.#waits.add(wait);
    if (isFirst) this.#listen();
  }

  delete(wait: Wait): void {
    this.#waits.delete(wait);
    // A timer that is listened to keeps the process alive.
    if (this.#waits.size === 0) this.#slice?.removeEventListener("abort", this.#end);
  }

  #listen(): void {
    const slice = this.#slice ??= this.#world.timeout(this.#sliceMs);
    // One that ended while nothing was waited for.
    if (slice.aborted) queueMicrotask(this.#end);
    else slice.addEventListener("abort", this.#end);
  }

  readonly #end = () => {
    if (!this.#slice?.aborted) return;
    this.#slice = undefined;
    for (const wait of this.#waits) {
      // The first slice had begun before the wait did.
      if (++wait.passed <= SLICES) continue;
      this.#waits.delete(wait);
      wait.end();
    }
    if (this.#waits.size > 0) this.#listen();
  };
}

const known = new WeakMap<World, Map<number, Slices>>();

function slicesOf(world: World, idleMs: number): Slices {
  const byTime = known.get(world) ?? new Map<number, Slices>();
  known.set(world, byTime);
  const slices = byTime.get(idleMs) ?? new Slices(world, idleMs);
  byTime.set(idleMs, slices);
  return slices;
}
