import { type AuthError, type ConfigError, sentenceOf } from "../errors/errors.ts";
import { isGoodFor, sameAccess, type Tokens } from "../provider/tokens.ts";
import { loginAfter, whyNoSettings } from "../settings/no_settings.ts";
import { EnvironmentMirror, firstTokens } from "./environment_mirror.ts";
import { LOCK_WAIT_SHARE, whyNot } from "./plan.ts";
import { Queue } from "./queue.ts";
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
  type StoredSession,
  type TokenStore,
  type WaitOptions,
  type Write,
} from "./store.ts";

/** An event that is saved in the store. */
export type SavedEvent = Extract<
  SessionEvent,
  { readonly kind: "login" | "logout" | "refreshed" | "refused" }
>;

/**
 * Decides how a session changes; `undefined` leaves the session unchanged.
 *
 * @param before The tokens of this session before it adopted those of other processes.
 */
export type Decide = (
  lock: Lock,
  before: Tokens | undefined,
) => SavedEvent | undefined | Promise<SavedEvent | undefined>;

/**
 * Keeps the state of a session, its store and the process environment consistent. The keeper makes
 * the changes; the engine decides when.
 */
export class Keeper {
  private readonly mirror = new EnvironmentMirror();
  private readonly queue = new Queue();
  private opened: TokenStore | undefined;
  /** `undefined` until the first use. */
  private state: SessionState | undefined;
  /**
   * The content of the store that the state last adopted. A different object means that the content
   * changed.
   */
  private seen: Stored = NOTHING;
  /**
   * Whether a change is in progress. If so, `readStore()` adopts nothing, because the store may
   * contain part of this session's own write.
   */
  private isChanging = false;

  constructor(readonly session: StoredSession, private readonly openStore: () => TokenStore) {}

  get store(): TokenStore {
    return this.opened ??= this.openStore();
  }

  /** The state in memory. At first use, the state comes from the store or the environment. */
  get current(): SessionState {
    if (this.state === undefined) {
      const { configuration, notices } = this.session;
      this.seen = this.store.peek();
      const first = firstTokens(configuration, notices, this.seen.tokens);
      this.state = stateOf(first);
      if (first) this.mirror.show(first, configuration);
    }
    return this.state;
  }

  /** Applies an event to the state and the process environment. */
  apply(event: SessionEvent): void {
    const { configuration, notices } = this.session;
    const before = this.current;
    const now = this.state = next(before, event);
    if (before === now) return;
    const tokens = tokensOf(now);
    if (tokens === undefined) return this.mirror.clear(tokensOf(before), configuration);
    this.mirror.show(tokens, configuration);
    notices.clear("SIGNED_OUT");
    const earlier = tokensOf(before);
    const isOther = earlier === undefined || !sameAccess(earlier, tokens);
    if (isOther || event.kind === "accepted") notices.clear("REFRESH_FAILED");
  }

  /** Does work that changes the session, once the work of all earlier calls has ended. */
  inTurn<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    return this.queue.run(signal, work);
  }

  /** Changes the session once the work of all earlier calls has ended. See `changeNow()`. */
  change(wait: WaitOptions, decide: Decide): Promise<ConfigError | undefined> {
    return this.inTurn(wait.signal, () => this.changeNow(wait, decide));
  }

  /**
   * Changes the session and its store, within `inTurn()`: takes the lock, adopts what other
   * processes saved, decides, saves, and uses the new tokens.
   *
   * @returns The reason why the store could not be written.
   */
  async changeNow(wait: WaitOptions, decide: Decide): Promise<ConfigError | undefined> {
    if (wait.isServed?.()) return undefined;
    let event: SavedEvent | undefined;
    let write: Write | undefined;
    try {
      const { stored, problem } = await this.store.update(wait, async (now, lock) => {
        wait.signal?.throwIfAborted();
        const before = tokensOf(this.current);
        this.isChanging = true;
        this.#follow(now);
        event = await decide(lock, before);
        return write = event && this.#writeOf(event, lock);
      });
      if (event === undefined || write === undefined) return problem;
      if (problem === undefined && stored.tokens !== write.tokens) this.#follow(stored);
      else {
        this.seen = stored;
        this.apply(event);
      }
      return problem;
    } finally {
      this.isChanging = false;
    }
  }

  /**
   * Returns the content that an event writes to the store. The end of a session takes effect before
   * the write, so that no call uses the tokens any more. New tokens take effect after the write.
   */
  #writeOf(event: SavedEvent, lock: Lock): Write | undefined {
    if (event.kind === "login") return { tokens: event.tokens, isFinal: true };
    if (event.kind === "refreshed") return { tokens: event.tokens, isFinal: false };
    this.apply(event);
    if (event.kind === "logout") return { tokens: undefined, isFinal: true };
    // Without the lock, a refusal does not change the store: the process that holds the lock may
    // still receive tokens.
    return lock.problem ? undefined : { tokens: tokensOf(this.current), isFinal: false };
  }

  /** Adopts those changes of other processes that need no request to a server to be seen. */
  readStore(): void {
    // At first use, `current` takes the state from the store anyway.
    if (this.state !== undefined && !this.isChanging) this.#follow(this.store.peek());
  }

  /**
   * Requests the latest content from the store's server. An unreachable server is an error only if
   * there is no valid token.
   */
  async look(signal: AbortSignal | undefined): Promise<void> {
    if (this.store.look === undefined) return;
    const tokens = tokensOf(this.current);
    const isNeeded = tokens === undefined || !isGoodFor(tokens, this.#world, 0);
    await this.store.look(this.wait(isNeeded, signal));
    // If the caller gave up in the meantime, no refresh is started.
    signal?.throwIfAborted();
  }

  /** Adopts the latest changes by other processes while a change of this session is in progress. */
  async lookAgain(): Promise<void> {
    await this.store.look?.(this.wait(false));
    this.#follow(this.store.peek());
  }

  /**
   * Returns the options for waiting for the store. The rest of the call's time is left for the
   * provider.
   */
  wait(isNeeded: boolean, signal?: AbortSignal, totalMs?: number): WaitOptions {
    const { timeoutMs } = this.session.configuration.settings;
    return { ms: (totalMs ?? timeoutMs) * LOCK_WAIT_SHARE, isNeeded, signal };
  }

  /** Applies a new `exportEnv` to the process environment. */
  mirrorAgain(): void {
    this.mirror.withdraw();
    if (this.state !== undefined) {
      this.mirror.show(tokensOf(this.state), this.session.configuration);
    }
  }

  /** Makes the error for a call that finds no usable tokens. */
  whyNot(): AuthError {
    const { notices, configuration: { settings, world } } = this.session;
    const { file, portalText } = settings;
    const note = file.problem
      ? sentenceOf(file.problem)
      : notices.text("STORED_IGNORED", "ENVIRONMENT_IGNORED", "STORE_EMPTY");
    const unfound = note === undefined ? whyNoSettings(settings) : undefined;
    return whyNot(
      this.current,
      world,
      note ?? unfound?.problem,
      portalText,
      unfound && loginAfter(unfound),
    );
  }

  get #world() {
    return this.session.configuration.world;
  }

  #follow(stored: Stored): void {
    // At first use, reading `current` initializes the state and `seen`.
    void this.current;
    if (stored === this.seen) return;
    this.seen = stored;
    const { tokens } = stored;
    this.apply({ kind: "written elsewhere", tokens, because: this.#endedElsewhere() });
  }

  #endedElsewhere(): Ending {
    const ignored = this.session.notices.text("STORED_IGNORED");
    const place = placeText(this.store.place) ?? "the store";
    const problem = ignored === undefined
      ? "There is no session any more: it was ended outside this process, by a logout or by " +
        `removing its lines from ${place}`
      : `There is no session (${ignored})`;
    return { code: "NO_SESSION", problem, fix: ["run ", { call: "login" }] };
  }
}
