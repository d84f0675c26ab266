import type { SessionLock, SessionRecord, SessionStore } from "../../mod.ts";
import { unlessAborted } from "../../src/platform/abort.ts";

/** What a test does at a step of a store: nothing, delay the step, or let it fail. */
export type Step = (signal: AbortSignal) => void | Promise<void>;
const nothing: Step = () => {};

/** A store in memory whose steps a test can delay or let fail. */
export class Table implements SessionStore {
  record: SessionRecord | undefined;
  /** The read has its result, but has not returned it yet. */
  onRead = nothing;
  /** The caller begins to wait for the lock. */
  onLock = nothing;
  /** The lock is taken, but not returned yet. If this step fails, the lock is released. */
  onLocked = nothing;
  onWrite = nothing;
  /** The record is written, but the caller does not know it yet. */
  onWritten = nothing;
  /** The lock is released after this step, even if the step fails. */
  onRelease = nothing;
  #holder: object | undefined;
  #released = Promise.withResolvers<void>();

  async read(signal: AbortSignal): Promise<SessionRecord | undefined> {
    const { record } = this;
    await this.onRead(signal);
    return record;
  }

  async lock(signal: AbortSignal): Promise<SessionLock> {
    await this.onLock(signal);
    while (this.#holder) await unlessAborted(signal, this.#released.promise);
    const mine = this.#holder = {};
    const lock: SessionLock = {
      write: async (record, signal) => {
        await this.onWrite(signal);
        if (this.#holder !== mine) throw new Error("the lock was lost");
        this.record = record;
        await this.onWritten(signal);
      },
      [Symbol.asyncDispose]: async () => {
        try {
          await this.onRelease(signal);
        } finally {
          if (this.#holder === mine) this.expire();
        }
      },
    };
    try {
      await this.onLocked(signal);
    } catch (error) {
      if (this.#holder === mine) this.expire();
      throw error;
    }
    return lock;
  }

  /** Takes the lock from its holder, as a server does with a lock that expires. */
  expire(): void {
    this.#holder = undefined;
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }
}

/** A step that waits until the test opens it. */
export function gate(): { readonly step: Step; readonly reached: Promise<void>; open(): void } {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return {
    step: () => (reached.resolve(), opened.promise),
    reached: reached.promise,
    open: opened.resolve,
  };
}
