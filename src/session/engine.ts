import { AuthError, ConfigError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { onAbort } from "../platform/abort.ts";
import type { World } from "../platform/world.ts";
import { isGoodFor, sameAccess, type Tokens } from "../provider/tokens.ts";
import type { TokenResult } from "../provider/token_request.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import { Keeper, type Step } from "./keeper.ts";
import type { SignOutResult } from "../provider/sign_out.ts";
import { type SignOut, signOutAtProvider } from "./logout.ts";
import type { Notices } from "./notices.ts";
import {
  afterEarlyFailure,
  afterHelp,
  afterReplacement,
  type Cooldowns,
  EARLY_DEADLINE_MS,
  isFresh,
  mayReplace,
  NO_COOLDOWNS,
  planFor,
} from "./plan.ts";
import { OVERTAKEN, type Reason, Refresh, type Refreshing, renew } from "./refresh.ts";
import { type Ending, type SessionEvent, type SessionState, tokensOf } from "./state.ts";
import type { Lock, TokenStore, Wait } from "./store.ts";
import { openStore } from "./stores.ts";

/** Opens the store of a session; replaced in tests. */
export type OpenStore = (engine: Engine) => TokenStore;

/** A login or a logout that waits for its turn. */
interface Change {
  /** Its place in the order in which logins and logouts were called: the later one wins. */
  readonly order: number;
  /** The tokens of a login; `undefined` for a logout. */
  readonly tokens: Tokens | undefined;
  readonly remote: SignOut;
  /** The tokens of the session since it was called. */
  readonly held: (Tokens | undefined)[];
  readonly applied: PromiseWithResolvers<Applied>;
  /** Called when it takes effect, from where it cannot be canceled. */
  onApplied(): void;
}

/** The outcome of a login or a logout. */
interface Applied {
  /** Why the store could not be written. */
  readonly problem?: ConfigError | undefined;
  /** Whether there was a session to end. */
  readonly hadSession: boolean;
  /** Tells the provider: once for all logouts that were applied together. */
  tellProvider(signal: AbortSignal | undefined): Promise<SignOutResult>;
}

/** Logins and logouts that are applied together. */
interface Applying {
  readonly tokens: Tokens | undefined;
  settle(problem: ConfigError | undefined): void;
  fail(error: unknown): void;
}

const LOGGED_OUT: Ending = {
  code: "NO_SESSION",
  problem: "There is no session: logout() ended it",
  fix: ["run ", { call: "login" }],
};

/** The provider signs out other devices only for a session that is signed in. */
const TO_END_OTHERS: Fix = [
  "to sign out other devices run ",
  { call: "login" },
  " first, then this again",
];

/**
 * One session: gives tokens to calls, refreshes them once for all callers, and applies logins and
 * logouts in the order in which they were called.
 */
export class Engine implements Refreshing {
  readonly keeper: Keeper;
  #refresh: Refresh | undefined;
  #cooldowns: Cooldowns = NO_COOLDOWNS;
  /** Logins and logouts that wait for their turn. */
  #pending: Change[] = [];
  /** Called when a login or a logout begins to wait. */
  #overtake: () => void = () => {};
  /** The number of logins and logouts that were called, and the order of the last one that took effect. */
  #calledCount = 0;
  #lastAppliedOrder = 0;

  /** @param reread Reads the settings again and returns the engine of the account that they name. */
  constructor(
    configuration: Configuration,
    readonly reread: () => Engine,
    open: OpenStore = openStore,
  ) {
    this.keeper = new Keeper(configuration, () => open(this));
  }

  get configuration(): Configuration {
    return this.keeper.configuration;
  }

  get settings(): Settings {
    return this.keeper.settings;
  }

  get world(): World {
    return this.keeper.world;
  }

  get notices(): Notices {
    return this.keeper.notices;
  }

  get store(): TokenStore {
    return this.keeper.store;
  }

  get current(): SessionState {
    return this.keeper.current;
  }

  /** Whether the API answered 401 to the access token. */
  get isRejected(): boolean {
    const now = this.current;
    return now.kind !== "none" && now.rejected;
  }

  /** Everything it remembers, so that tests can tell whether two orders of events led to the same state. */
  get memory(): unknown {
    return {
      kept: this.keeper.memory,
      refresh: this.#refresh?.memory,
      cooldowns: this.#cooldowns,
      pending: this.#pending,
      counts: [this.#calledCount, this.#lastAppliedOrder],
    };
  }

  // Calls that need a token.

  /**
   * The tokens if they need no attention. Fast path: every extra promise shows in the per-call
   * benchmark.
   */
  fresh(minValidMs = 0): Tokens | undefined {
    if (this.#pending.length > 0 && this.#pending.some(isLogout)) return undefined;
    const tokens = tokensOf(this.current);
    return tokens && isFresh(tokens, this.world, minValidMs) ? tokens : undefined;
  }

  /**
   * Valid tokens, refreshed if it is time.
   *
   * @param minValidMs Time for which the access token must remain valid.
   */
  async tokens(minValidMs = 0, signal?: AbortSignal): Promise<Tokens> {
    const fresh = this.fresh(minValidMs);
    if (fresh) return fresh;
    await this.#look(signal);
    this.#readStore();
    const { isByCommand } = this.configuration;
    const plan = planFor(this.current, this.world, this.#cooldowns, minValidMs, isByCommand);
    switch (plan.kind) {
      case "use":
        return plan.tokens;
      case "fail":
        throw this.keeper.whyNot();
      case "refresh":
        return await this.#share("due", signal);
      case "refresh-early":
        return await this.#shareEarly(minValidMs, signal);
    }
  }

  /** Refreshes now, regardless of the time left, or joins a refresh in progress. */
  async refresh(signal?: AbortSignal): Promise<Tokens> {
    await this.#look(signal);
    this.#readStore();
    return await this.#share("forced", signal);
  }

  /** Records that the API answered 401 to these tokens. */
  noteRejection(tokens: Tokens): void {
    this.keeper.apply({ kind: "rejected", tokens });
  }

  /**
   * Tokens other than those that the API just rejected; `undefined` if none can be obtained now.
   *
   * @throws {AuthError} If the session is over: the refresh token was refused for good, or another
   *   process ended the session.
   */
  async replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined> {
    await this.#look(signal);
    this.#readStore();
    this.noteRejection(rejected);
    if (!this.#refresh) {
      const now = this.current;
      const tokens = tokensOf(now);
      const isOther = tokens && !sameAccess(tokens, rejected);
      if (isOther && isGoodFor(tokens, this.world, 0)) return tokens;
      if (now.kind === "none") throw this.keeper.whyNot();
      if (now.kind === "access-only" && !this.configuration.isByCommand) return undefined;
      if (!mayReplace(rejected.accessToken, this.#cooldowns, this.world)) return undefined;
      signal?.throwIfAborted();
    }
    try {
      const tokens = await this.#share("rejected", signal);
      // A command may print the same token again.
      return sameAccess(tokens, rejected) ? undefined : tokens;
    } catch (error) {
      if (error instanceof AuthError && this.current.kind === "none") throw error;
      return undefined;
    }
  }

  /** Records that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void {
    this.#cooldowns = afterHelp(this.#cooldowns);
  }

  // Logins and logouts.

  /** The order of a login or a logout that is called now. */
  begin(): number {
    return ++this.#calledCount;
  }

  /** Whether a login of this order may still take effect: no later login or logout did. */
  isWanted(order: number): boolean {
    return order >= this.#lastAppliedOrder;
  }

  /**
   * Replaces all tokens with those of a login, unless a later login or logout took effect first.
   *
   * @param signal Ends the wait for the lock; nothing is changed then.
   * @param onApplied Called when the login takes effect, from where it cannot be canceled.
   * @throws {ConfigError} `INVALID_SETTING` if the store keeps the session of another account.
   */
  async login(
    tokens: Tokens,
    order: number,
    signal: AbortSignal | undefined,
    onApplied: () => void,
  ): Promise<void> {
    if (!this.isWanted(order)) return;
    const wait = { ms: this.settings.timeoutMs / 2, isNeeded: true, signal };
    await this.#change({ order, tokens, remote: "keep", onApplied }, wait);
  }

  /**
   * Forgets the tokens in memory, in the process environment and in the store, then tells the provider.
   *
   * @param remote What to request from the provider; a failure of that is only a note.
   * @param signal Ends the wait for the lock, and nothing is changed then; later, the wait for the
   *   provider.
   * @param onApplied Called when the logout takes effect.
   * @returns How far it went.
   * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if the store still contains
   *   the tokens.
   */
  async logout(
    remote: SignOut,
    signal: AbortSignal | undefined,
    onApplied: () => void,
  ): Promise<SignOutResult["ended"]> {
    const { notices, place } = this.keeper;
    const wait = { ms: this.settings.timeoutMs, isNeeded: true, signal };
    const wanted = { order: this.begin(), tokens: undefined, remote, onApplied };
    const { problem, hadSession, tellProvider } = await this.#change(wanted, wait);
    notices.clear("DEVICE_NOT_CONFIRMED");
    // Even if the store cannot be written, so that the tokens in it become useless.
    const atProvider: SignOutResult = remote === "keep"
      ? { ended: "here" }
      : await tellProvider(signal);
    const remotely = atProvider.text === undefined ? "" : `; ${atProvider.text}`;
    if (problem) {
      const here = hadSession
        ? `signed out here${remotely}; ${place} still contains the tokens`
        : `there was no session to end here${remotely}; ${place} may still contain tokens`;
      const { code, fix, cause } = problem;
      throw new ConfigError(code, `${problem.problem} (${here})`, fix, cause);
    }
    if (this.current.kind !== "none") return atProvider.ended;
    notices.clear("STORED_IGNORED");
    const holders = place === undefined ? "this session holds" : `this session and ${place} hold`;
    const here = hadSession
      ? `signed out here: ${holders} no tokens any more`
      : `there was no session to end: ${holders} no tokens`;
    const isMissed = remote === "everywhere" && !hadSession;
    notices.set("SIGNED_OUT", `${here}${remotely}`, isMissed ? TO_END_OTHERS : "");
    return atProvider.ended;
  }

  /** Lets go of the session, because the settings name another account now. The store is unchanged. */
  detach(): void {
    // A pending login is discarded. A logout still takes effect.
    this.#lastAppliedOrder = this.begin();
    this.keeper.leaveEnvironment();
  }

  async #change(
    wanted: Pick<Change, "order" | "tokens" | "remote" | "onApplied">,
    wait: Wait,
  ): Promise<Applied> {
    const applied = Promise.withResolvers<Applied>();
    // A failure is thrown below.
    applied.promise.catch(() => {});
    const change: Change = { ...wanted, held: [tokensOf(this.current)], applied };
    const cancel = (reason: unknown) => {
      if (!this.#pending.includes(change)) return;
      this.#pending = this.#pending.filter((each) => each !== change);
      applied.reject(reason);
    };
    this.#pending.push(change);
    // At once: a refresh that holds the lock must not apply what its caller canceled.
    const stopListening = onAbort(wait.signal, () => cancel(wait.signal?.reason));
    this.#overtake();
    try {
      const isOver = () => !this.#pending.includes(change);
      await this.update(wait, () => Promise.resolve(undefined), isOver);
    } catch (error) {
      cancel(error);
    } finally {
      stopListening();
    }
    return await applied.promise;
  }

  /**
   * Updates the store. Pending logins and logouts take over, so that the next process to hold the lock
   * finds nothing older.
   */
  async update(
    wait: Wait,
    decide: (lock: Lock) => Promise<Step | typeof OVERTAKEN | undefined>,
    isOver = () => false,
  ): Promise<void> {
    let applying: Applying | undefined;
    try {
      const problem = await this.keeper.update(wait, async (lock) => {
        for (;;) {
          applying ??= this.#takePending();
          if (applying) return this.#step(applying);
          const step = await decide(lock);
          if (this.#pending.length === 0 && step !== OVERTAKEN) return step;
        }
      }, isOver);
      applying?.settle(problem);
    } catch (error) {
      applying?.fail(error);
      throw error;
    }
  }

  #step({ tokens }: Applying): Step {
    const { keeper, configuration: { isByCommand } } = this;
    // After a logout, a call does not run the command that prints tokens.
    const because = isByCommand ? LOGGED_OUT : undefined;
    keeper.apply(tokens ? { kind: "tokens", tokens } : { kind: "logout", because });
    return { tokens, by: "user" };
  }

  /** Takes the logins and logouts that wait: the last one wins. Resets what belonged to the session. */
  #takePending(): Applying | undefined {
    const pending = this.#pending;
    this.#pending = [];
    const changes = pending.filter((each) => this.#mayApply(each));
    const last = changes.toSorted((a, b) => a.order - b.order).at(-1);
    if (last === undefined) return undefined;
    for (const each of changes) each.onApplied();
    const ended = [
      ...changes.flatMap((each) => [...each.held, each.tokens]),
      tokensOf(this.current),
    ]
      .filter((each) => each !== last.tokens);
    const hadSession = ended.some((each) => each !== undefined);
    const everywhere = changes.some(({ remote }) => remote === "everywhere");
    const late = this.#refresh?.response;
    let told: Promise<SignOutResult> | undefined;
    const tellProvider = (signal: AbortSignal | undefined) =>
      told ??= signOutAtProvider(this.configuration, ended, late, everywhere, signal);
    this.#lastAppliedOrder = Math.max(last.order, this.#lastAppliedOrder);
    // A logout lets the request finish: it may bring a refresh token that must be revoked.
    if (last.tokens !== undefined || late === undefined) this.#refresh?.abort.abort();
    this.#refresh = undefined;
    this.#cooldowns = NO_COOLDOWNS;
    this.notices.clear(
      "EARLY_REFRESH_FAILED",
      "LOCK_BUSY",
      "STORED_IGNORED",
      "ENVIRONMENT_IGNORED",
      "SIGNED_OUT",
    );
    return {
      tokens: last.tokens,
      settle: (problem) => {
        for (const { applied } of changes) applied.resolve({ problem, hadSession, tellProvider });
      },
      fail: (error) => {
        for (const { applied } of changes) applied.reject(error);
      },
    };
  }

  /** Whether a login or a logout still takes effect. Otherwise it is settled. */
  #mayApply({ order, tokens, applied }: Change): boolean {
    if (tokens === undefined) return true;
    const refusal = this.store.refusal?.(tokens);
    const isWanted = this.isWanted(order);
    if (!isWanted) applied.resolve(NOT_APPLIED);
    else if (refusal) applied.reject(refusal);
    return isWanted && !refusal;
  }

  // Refreshes.

  saved(event: SessionEvent): void {
    this.keeper.apply(event);
    // A waiting logout ends these instead of the tokens that they replaced.
    for (const { held } of this.#pending) held.push(tokensOf(this.current));
  }

  isCurrent(refresh: Refresh): boolean {
    return this.#refresh === refresh;
  }

  async unlessOvertaken(response: Promise<TokenResult>): Promise<TokenResult | undefined> {
    const overtaken = Promise.withResolvers<undefined>();
    this.#overtake = () => overtaken.resolve(undefined);
    if (this.#pending.length > 0) this.#overtake();
    return await Promise.race([response, overtaken.promise]);
  }

  noteReplacement({ reason }: Refresh, { accessToken }: Tokens): void {
    if (reason !== "rejected") return;
    this.#cooldowns = afterReplacement(accessToken, this.#cooldowns, this.world);
  }

  /** A call made after a logout must not use the tokens that the logout ends. */
  async #look(signal: AbortSignal | undefined): Promise<void> {
    for (let each = this.#pending.find(isLogout); each; each = this.#pending.find(isLogout)) {
      await each.applied.promise.catch(() => {});
    }
    // A refresh in progress already looked.
    if (!this.#refresh && this.store.look) await this.keeper.look(signal);
  }

  /** Without a pause before a refresh, so that only the first of many simultaneous calls reads a file. */
  #readStore(): void {
    if (!this.#refresh) this.keeper.readStore();
  }

  #share(reason: Reason, signal: AbortSignal | undefined): Promise<Tokens> {
    const isNew = this.#refresh === undefined;
    const refresh = this.#refresh ??= new Refresh(reason);
    const leave = () => {
      if (this.#refresh === refresh) this.#refresh = undefined;
    };
    refresh.join(signal, leave);
    if (!isNew) return refresh.result;
    refresh.settle(
      this.configuration.isByCommand ? this.#runCommand(refresh) : renew(this, refresh),
    );
    // Every caller may have left: nothing may reject outside a caller's promise.
    refresh.result.then(leave, leave);
    return refresh.result;
  }

  async #shareEarly(minValidMs: number, signal?: AbortSignal): Promise<Tokens> {
    const { world } = this;
    try {
      const tokens = await this.#share("early", signal);
      // A command that prints the same token again is not run for each call.
      if (!isFresh(tokens, world)) this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      return tokens;
    } catch (error) {
      const left = tokensOf(this.current);
      if (!left || !isGoodFor(left, world, Math.max(minValidMs, 1))) throw error;
      this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      const { problem, fix } = error instanceof AuthError
        ? error
        : { problem: "Cannot refresh the session", fix: "" };
      const text = `the access token is still valid, but: ${problem}`;
      this.notices.set("EARLY_REFRESH_FAILED", text, fix);
      return left;
    }
  }

  /** Runs the command that prints tokens, for all callers in this process. */
  async #runCommand(refresh: Refresh): Promise<Tokens> {
    const { abort: { signal }, reason } = refresh;
    const { timeoutMs } = this.settings;
    const limitMs = reason === "early" ? Math.min(timeoutMs, EARLY_DEADLINE_MS) : timeoutMs;
    try {
      const { tokensByCommand } = await import("./token_command.ts");
      const tokens = await tokensByCommand(this, limitMs, signal);
      signal.throwIfAborted();
      const held = tokensOf(this.current);
      if (held) this.noteReplacement(refresh, held);
      this.notices.clear("EARLY_REFRESH_FAILED");
      // For the same token, the state stays: the API may have rejected it.
      if (held && sameAccess(held, tokens)) return held;
      this.keeper.apply({ kind: "tokens", tokens });
      return tokens;
    } catch (error) {
      if (signal.aborted && refresh.isWaitedFor) throw this.keeper.whyNot();
      throw error;
    }
  }
}

const NOT_APPLIED: Applied = {
  hadSession: false,
  tellProvider: () => Promise.resolve({ ended: "here" }),
};

function isLogout({ tokens }: Change): boolean {
  return tokens === undefined;
}
