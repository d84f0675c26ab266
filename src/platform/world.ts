/**
 * The files of this folder use the computer and the runtime, and know no session. This file has
 * the clocks and everything else that tests replace. Each other file has one subject, such as the
 * log or the prompt.
 */
import { onAbort } from "./abort.ts";
import type { Log } from "./log.ts";

/** The two clocks of a machine. */
export interface Clocks {
  /** Wall clock, milliseconds since 1970. */
  now(): number;
  /** Monotonic clock, milliseconds. */
  monotonic(): number;
}

/**
 * Prompts the user for a value, with hidden input if the value is `secret`. Returns `null` if no
 * prompt is possible.
 */
export type Ask = (
  message: string,
  options: { secret: boolean },
) => string | null | Promise<string | null>;

/** The clocks, timers, random numbers and log of a call. */
export interface Timing extends Clocks {
  /** A number from 0 up to, but not including, 1. */
  random(): number;
  /** Waits. Returns early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns a signal that aborts after this time. Its timer does not keep the process alive. */
  timeout(ms: number): AbortSignal;
  /**
   * Receives the events of the session. `undefined` if the log is off, so that no event is created.
   */
  readonly log?: Log | undefined;
}

/** Everything outside this module that tests replace. */
export interface World extends Timing {
  /** `undefined` means the runtime's `fetch`. */
  readonly fetch: typeof fetch | undefined;
  /** `undefined` means the prompt of the front end. */
  readonly ask: Ask | undefined;
}

/** The parts of the world that options can replace. */
export interface WorldOptions {
  fetch?: typeof fetch;
  now?: () => number;
  monotonic?: () => number;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  prompt?: Ask;
}

const wall = () => Date.now();
const monotonic = () => performance.now();

/** Returns the real world, with the parts that the options replace. */
export function worldOf(options: WorldOptions): World {
  return {
    fetch: options.fetch,
    now: options.now ?? wall,
    monotonic: options.monotonic ?? monotonic,
    sleep: options.sleep ?? pause,
    timeout: (ms) => AbortSignal.timeout(ms),
    random: Math.random,
    ask: options.prompt,
  };
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stopListening = onAbort(signal, resolve);
  await promise;
  clearTimeout(timer);
  stopListening();
}
