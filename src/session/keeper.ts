import { type AuthError, type ConfigError, sentenceOf } from "../errors/errors.ts";
import { unlessAborted } from "../platform/abort.ts";
import type { World } from "../platform/world.ts";
import { isGoodFor, sameAccess } from "../provider/tokens.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import { EnvironmentMirror, firstTokens } from "./environment_mirror.ts";
import { Notices } from "./notices.ts";
import { LOCK_WAIT_SHARE, whyNot } from "./plan.ts";
import {
  type Ending,
  next,
  type SessionEvent,
  type SessionState,
  stateOf,
  tokensOf,
} from "./state.ts";
import {
  type Lock,
  NOTHING,
  placeText,
  type Stored,
  type TokenStore,
  type WaitOptions,
  type Write,
} from "./store.ts";

/** A write, and a callback for when it is done. */
export interface PlannedWrite extends Write {
  saved?(): void;
}

/** Synchronizes the state of a session with its store and the process environment. */
export class Keeper {
  readonly notices = new Notices();
  readonly #mirror = new EnvironmentMirror();
  readonly #openStore: () => TokenStore;
  #configuration: Configuration;
  #store: TokenStore | undefined;
  /** `undefined` until the first use. */
  #state: SessionState | undefined;
  /**
   * The content of the store that the state last adopted. A different object means that the content
   * changed.
   */
  #seen: Stored = NOTHING;
  /**
   * Whether an update is in progress. If so, the store may contain part of this session's own
   * write.
   */
  #isUpdating = false;
  /** The last update in the queue. Updates run one at a time. */
  #lastInLine: Promise<unknown> = Promise.resolve();

  constructor(configuration: Configuration, open: () => TokenStore) {
    this.#configuration = configuration;
    this.#openStore = open;
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  get settings(): Settings {
    return this.#configuration.settings;
  }

  get world(): World {
    return this.#configuration.world;
  }

  get store(): TokenStore {
    return this.#store ??= this.#openStore();
  }

  /** The location of the store, for messages. */
  get place(): string | undefined {
    return placeText(this.store.place);
  }

  /** The state in memory. At first use, it is taken from the store or the process environment. */
  get current(): SessionState {
    if (this.#state === undefined) {
      this.#seen = this.store.peek();
      const first = firstTokens(this.#configuration, this.notices, this.#seen.tokens);
      this.#state = stateOf(first);
      if (first) this.#mirror.show(first, this.#configuration);
    }
    return this.#state;
  }

  /** The complete state, so that tests can compare the results of two orders of events. */
  get memory(): unknown {
    return [this.#state, this.#seen.tokens, this.#isUpdating, this.notices.all];
  }

  get holdsValidToken(): boolean {
    const tokens = tokensOf(this.current);
    return tokens !== undefined && isGoodFor(tokens, this.world, 0);
  }

  /** Applies an event to the state and the process environment. */
  apply(event: SessionEvent): void {
    const before = this.current;
    const now = this.#state = next(before, event);
    if (before === now) return;
    const tokens = tokensOf(now);
    if (tokens === undefined) {
      return this.#mirror.clear(tokensOf(before), this.#configuration);
    }
    this.#mirror.show(tokens, this.#configuration);
    this.notices.clear("SIGNED_OUT");
    const earlier = tokensOf(before);
    const isOther = earlier === undefined || !sameAccess(earlier, tokens);
    if (isOther || event.kind === "accepted") this.notices.clear("REFRESH_FAILED");
  }

  /** Adopts those changes by other processes that are known without a request to a server. */
  readStore(): void {
    // At first use, `current` takes the state from the store anyway.
    if (this.#state !== undefined && !this.#isUpdating) this.#follow(this.store.peek());
  }

  /**
   * Requests the latest content from the store's server. An unreachable server is an error only if
   * there is no valid token.
   */
  async look(signal?: AbortSignal): Promise<void> {
    await this.store.look?.(this.wait(!this.holdsValidToken, signal));
    // A caller that gave up in the meantime must not start a refresh.
    signal?.throwIfAborted();
  }

  /** Adopts changes by other processes. Called within an update, before anything is written. */
  async lookAgain(): Promise<void> {
    await this.store.look?.(this.wait(false));
    this.#follow(this.store.peek());
  }

  /**
   * Returns the options for waiting for the store. The rest of the call's time is left for the
   * provider.
   */
  wait(isNeeded: boolean, signal?: AbortSignal, totalMs = this.settings.timeoutMs): WaitOptions {
    return { ms: totalMs * LOCK_WAIT_SHARE, isNeeded, signal };
  }

  /**
   * Updates the store, one update after another.
   *
   * @param isOver Whether nothing is left to do when the update's turn comes.
   */
  async update(
    wait: WaitOptions,
    decide: (lock: Lock) => Promise<PlannedWrite | undefined>,
    isOver: () => boolean,
  ): Promise<ConfigError | undefined> {
    const before = this.#lastInLine;
    const done = Promise.withResolvers<void>();
    this.#lastInLine = before.then(() => done.promise);
    try {
      await unlessAborted(wait.signal, before);
      return isOver() ? undefined : await this.#updateNow(wait, decide);
    } finally {
      done.resolve();
    }
  }

  async #updateNow(
    wait: WaitOptions,
    decide: (lock: Lock) => Promise<PlannedWrite | undefined>,
  ): Promise<ConfigError | undefined> {
    let step: PlannedWrite | undefined;
    try {
      const { problem, stored } = await this.store.update(wait, async (now, lock) => {
        this.#isUpdating = true;
        this.#follow(now);
        return step = await decide(lock);
      });
      if (step === undefined) return problem;
      // Our own write must not be mistaken for a change by another process.
      if (problem || stored.tokens === step.tokens) this.#seen = stored;
      else this.#follow(stored);
      step.saved?.();
      return problem;
    } finally {
      this.#isUpdating = false;
    }
  }

  /** Replaces the options with others for the same provider, client and file. */
  configure(configuration: Configuration): void {
    const before = this.#configuration.exportEnv;
    this.#configuration = configuration;
    if (before === configuration.exportEnv || this.#state === undefined) return;
    this.#mirror.withdraw();
    this.#mirror.show(tokensOf(this.#state), configuration);
  }

  /**
   * Removes this session's tokens from the process environment, so that another session can use it.
   */
  leaveEnvironment(): void {
    this.#mirror.withdraw();
    this.#configuration = this.#configuration.outOfEnvironment();
  }

  /** Makes the error for a call that finds no usable tokens. */
  whyNot(): AuthError {
    const { notices, settings: { file, portalUrl } } = this;
    const note = file.problem
      ? sentenceOf(file.problem)
      : notices.text("STORED_IGNORED", "ENVIRONMENT_IGNORED", "STORE_EMPTY");
    return whyNot(this.current, this.world, note, portalUrl);
  }

  #follow(stored: Stored): void {
    // Initializes the state if this is its first use.
    void this.current;
    if (stored === this.#seen) return;
    this.#seen = stored;
    const { tokens } = stored;
    this.apply({ kind: "written elsewhere", tokens, because: this.#endedElsewhere() });
  }

  #endedElsewhere(): Ending {
    const ignored = this.notices.text("STORED_IGNORED");
    const problem = ignored === undefined
      ? "There is no session any more: it was ended outside this process, by a logout or by " +
        `removing its lines from ${this.place ?? "the store"}`
      : `There is no session (${ignored})`;
    return { code: "NO_SESSION", problem, fix: ["run ", { call: "login" }] };
  }
}
