import { AuthError, ConfigError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { onAbort } from "../platform/abort.ts";
import { failureOf, type Log } from "../platform/log.ts";
import type { World } from "../platform/world.ts";
import { isGoodFor, sameAccess, type Tokens } from "../provider/tokens.ts";
import type { TokenResult } from "../provider/token_request.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import { Keeper, type PlannedWrite } from "./keeper.ts";
import type { SignOutResult } from "../provider/sign_out.ts";
import { type RemoteLogout, signOutAtProvider } from "./logout.ts";
import type { Notice, Notices } from "./notices.ts";
import {
  afterEarlyFailure,
  afterHelp,
  afterReplacement,
  type Cooldowns,
  EARLY_DEADLINE_MS,
  isFresh,
  mayReplace,
  NO_COOLDOWNS,
  offeredMs,
  planFor,
} from "./plan.ts";
import { OVERTAKEN, type Reason, Refresh, type Refreshing, renew } from "./refresh.ts";
import { type Ending, type SessionEvent, type SessionState, tokensOf } from "./state.ts";
import type { Lock, TokenStore, WaitOptions } from "./store.ts";
import { openStore } from "./stores.ts";

/** Opens the store of a session; replaced in tests. */
export type OpenStore = (engine: Engine) => TokenStore;

/** A login or a logout that waits for its turn. */
interface Change {
  /** The position among all logins and logouts, in the order of the calls. The last one wins. */
  readonly order: number;
  /** The tokens of a login; `undefined` for a logout. */
  readonly tokens: Tokens | undefined;
  readonly remote: RemoteLogout;
  /** All tokens that the session has had since this login or logout was called. */
  readonly held: (Tokens | undefined)[];
  readonly applied: PromiseWithResolvers<AppliedChange>;
  /** Called when the change takes effect. From then on, the change can no longer be canceled. */
  onApplied(): void;
}

/** The outcome of a login or a logout. */
interface AppliedChange {
  /** The reason why the store could not be written. */
  readonly problem?: ConfigError | undefined;
  /** Whether there was a session to end. */
  readonly hadSession: boolean;
  /** Signs out at the provider, once for all logouts that were applied together. */
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

/** The provider signs out other devices only on behalf of a current session. */
const TO_END_OTHERS: Fix = [
  "to sign out other devices, run ",
  { call: "login" },
  " first, then log out again",
];

/**
 * One session. It provides calls with tokens, refreshes the tokens once for all callers, and
 * applies logins and logouts in the order in which they were called.
 */
export class Engine implements Refreshing {
  readonly keeper: Keeper;
  #refresh: Refresh | undefined;
  #cooldowns: Cooldowns = NO_COOLDOWNS;
  /** Logins and logouts that wait for their turn. */
  #pending: Change[] = [];
  /** Called when a login or a logout begins to wait. */
  #overtake: () => void = () => {};
  /**
   * The number of logins and logouts called so far, and the order of the last one that took effect.
   */
  #calledCount = 0;
  #lastAppliedOrder = 0;

  /** @param reread Rereads the settings and returns the engine for their account. */
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

  /** Whether the API's latest response to the access token was a 401. */
  get isRejected(): boolean {
    const now = this.current;
    return now.kind !== "none" && now.rejected;
  }

  /** Why the refresh after that 401 failed, if it did. */
  get refreshFailure(): Notice | undefined {
    return this.notices.get("REFRESH_FAILED");
  }

  /** The complete state, so that tests can compare the results of two orders of events. */
  get memory(): unknown {
    return {
      kept: this.keeper.memory,
      refresh: this.#refresh?.memory,
      cooldowns: this.#cooldowns,
      pending: this.#pending,
      counts: [this.#calledCount, this.#lastAppliedOrder],
    };
  }

  // The following methods serve calls that need a token.

  /**
   * Returns the tokens if they can be used without waiting. This is a fast path, because each extra
   * promise is visible in the benchmark of a single call.
   */
  fresh(minValidMs = 0): Tokens | undefined {
    if (this.#pending.length > 0 && this.#pending.some(isLogout)) return undefined;
    const tokens = tokensOf(this.current);
    return tokens && isFresh(tokens, this.world, minValidMs) ? tokens : undefined;
  }

  /**
   * Returns valid tokens. Refreshes them first if they are due.
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

  /** Records that the API's latest response to these tokens was a 401, or a success. */
  noteResponse(kind: "rejected" | "accepted", tokens: Tokens): void {
    this.keeper.apply({ kind, tokens });
  }

  /**
   * Replaces tokens that the API just rejected. Returns `undefined` if no other tokens can be
   * obtained now; if a refresh failed, the notice `REFRESH_FAILED` says why.
   *
   * @throws {AuthError} If the session is over, because the refresh token was refused for good or
   * another process ended the session.
   */
  async replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined> {
    await this.#look(signal);
    this.#readStore();
    this.noteResponse("rejected", rejected);
    if (!this.#refresh) {
      const now = this.current;
      const tokens = tokensOf(now);
      const isOther = tokens && !sameAccess(tokens, rejected);
      if (isOther && isGoodFor(tokens, this.world, 0)) return tokens;
      if (isOver(now)) throw this.keeper.whyNot();
      if (now.kind === "access-only" && !this.configuration.isByCommand) return undefined;
      if (!mayReplace(rejected.accessToken, this.#cooldowns, this.world)) return undefined;
      signal?.throwIfAborted();
    }
    try {
      const tokens = await this.#share("rejected", signal);
      // A token command may print the same token again.
      return sameAccess(tokens, rejected) ? undefined : tokens;
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      this.notices.set("REFRESH_FAILED", error.problem, error.fix);
      if (isOver(this.current)) throw error;
      return undefined;
    }
  }

  /** Records that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void {
    this.#cooldowns = afterHelp(this.#cooldowns);
  }

  // The following methods apply logins and logouts.

  /** Returns the position of a new login or logout in the order of the calls. */
  begin(): number {
    return ++this.#calledCount;
  }

  /** Whether a login may still take effect, because no later login or logout has taken effect. */
  isWanted(order: number): boolean {
    return order >= this.#lastAppliedOrder;
  }

  /**
   * Replaces all tokens with those of a login, unless a later login or logout took effect first.
   *
   * @param signal Cancels the login while it waits for the lock.
   * @param onApplied Called when the login takes effect and can no longer be canceled.
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
   * Removes the tokens from memory, the process environment and the store, then signs out at the
   * provider.
   *
   * @param remote The request to the provider. If the request fails, the status has a note.
   * @param signal Cancels the logout while it waits for the lock. Later, the signal only ends the
   * wait for the provider.
   * @param onApplied Called when the logout takes effect.
   * @returns Where the session was ended.
   * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if the store still
   * contains the tokens.
   */
  async logout(
    remote: RemoteLogout,
    signal: AbortSignal | undefined,
    onApplied: () => void,
  ): Promise<SignOutResult["ended"]> {
    const { notices, place } = this.keeper;
    const wait = { ms: this.settings.timeoutMs, isNeeded: true, signal };
    const wanted = { order: this.begin(), tokens: undefined, remote, onApplied };
    const { problem, hadSession, tellProvider } = await this.#change(wanted, wait);
    notices.clear("DEVICE_NOT_CONFIRMED");
    // The provider revokes the tokens even if the store cannot be written, so that the tokens in
    // the store become useless.
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

  /**
   * Abandons the session, because the settings now name another account. The store is unchanged.
   */
  detach(): void {
    // A pending login is discarded. A pending logout still takes effect.
    this.#lastAppliedOrder = this.begin();
    this.keeper.leaveEnvironment();
  }

  async #change(
    wanted: Pick<Change, "order" | "tokens" | "remote" | "onApplied">,
    wait: WaitOptions,
  ): Promise<AppliedChange> {
    const applied = Promise.withResolvers<AppliedChange>();
    // A rejection is handled here, because the promise is awaited only below.
    applied.promise.catch(() => {});
    const change: Change = { ...wanted, held: [tokensOf(this.current)], applied };
    const cancel = (reason: unknown) => {
      if (!this.#pending.includes(change)) return;
      this.#pending = this.#pending.filter((each) => each !== change);
      applied.reject(reason);
    };
    this.#pending.push(change);
    // The change is canceled in the abort event itself, because a refresh that holds the lock could
    // otherwise still apply the change.
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
   * Updates the store. Pending logins and logouts replace the update, so that the next process to
   * hold the lock finds the latest session.
   */
  async update(
    wait: WaitOptions,
    decide: (lock: Lock) => Promise<PlannedWrite | typeof OVERTAKEN | undefined>,
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

  #step({ tokens }: Applying): PlannedWrite {
    const { keeper, configuration: { isByCommand } } = this;
    // After a logout, calls do not run the token command.
    const because = isByCommand ? LOGGED_OUT : undefined;
    keeper.apply(tokens ? { kind: "tokens", tokens } : { kind: "logout", because });
    return { tokens, by: "user" };
  }

  /**
   * Takes all pending logins and logouts, of which the last one wins, and resets everything that
   * belonged to the session.
   */
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
    // A logout lets the request finish, because the response may contain a refresh token that must
    // be revoked.
    if (last.tokens !== undefined || late === undefined) this.#refresh?.abort.abort();
    this.#refresh = undefined;
    this.#cooldowns = NO_COOLDOWNS;
    this.notices.clear(
      "EARLY_REFRESH_FAILED",
      "REFRESH_FAILED",
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

  /** Whether a login or a logout may still take effect. If not, settles its promise. */
  #mayApply({ order, tokens, applied }: Change): boolean {
    if (tokens === undefined) return true;
    const refusal = this.store.refusal?.(tokens);
    const isWanted = this.isWanted(order);
    if (!isWanted) applied.resolve(NOT_APPLIED);
    else if (refusal) applied.reject(refusal);
    return isWanted && !refusal;
  }

  // The following methods refresh tokens.

  saved(event: SessionEvent): void {
    this.keeper.apply(event);
    // A waiting logout must end these tokens instead of the ones that they replaced.
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

  /**
   * Waits for pending logouts and then reads the store, so that a call does not use tokens that a
   * logout is about to end.
   */
  async #look(signal: AbortSignal | undefined): Promise<void> {
    for (let each = this.#pending.find(isLogout); each; each = this.#pending.find(isLogout)) {
      await each.applied.promise.catch(() => {});
    }
    // A refresh in progress has already read the store.
    if (!this.#refresh && this.store.look) await this.keeper.look(signal);
  }

  /**
   * Reads the store synchronously, so that only the first of many simultaneous calls reads the
   * file.
   */
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
    const { log } = this.world;
    if (log) this.#logRefresh(refresh, log);
    refresh.settle(
      this.configuration.isByCommand ? this.#runCommand(refresh) : renew(this, refresh),
    );
    // If every caller has given up, the rejection must still be handled.
    refresh.result.then(leave, leave);
    return refresh.result;
  }

  /** Logs a refresh when it ends, before its callers continue. */
  #logRefresh(refresh: Refresh, log: Log): void {
    const { reason, abort: { signal } } = refresh;
    const { world } = this;
    const started = world.monotonic();
    const logEnd = (outcome: "refreshed" | "served" | ReturnType<typeof failureOf>) => {
      const milliseconds = Math.round(world.monotonic() - started);
      log({ event: "refresh", reason, outcome, milliseconds });
    };
    refresh.result.then(
      () => logEnd(refresh.isOwn ? "refreshed" : "served"),
      (error) => logEnd(failureOf(error, signal)),
    );
  }

  async #shareEarly(minValidMs: number, signal?: AbortSignal): Promise<Tokens> {
    const { world } = this;
    try {
      const tokens = await this.#share("early", signal);
      // If the command printed the same token again, it is not run for every call.
      if (!isFresh(tokens, world, minValidMs)) {
        this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      }
      return tokens;
    } catch (error) {
      const left = tokensOf(this.current);
      const isUsable = left && isGoodFor(left, world, Math.max(offeredMs(left, minValidMs), 1));
      if (!isUsable || !(error instanceof AuthError)) throw error;
      this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      const text = `the access token is still valid, but: ${error.problem}`;
      this.notices.set("EARLY_REFRESH_FAILED", text, error.fix);
      return left;
    }
  }

  /** Runs the token command once for all callers in this process. */
  async #runCommand(refresh: Refresh): Promise<Tokens> {
    const { abort: { signal }, reason } = refresh;
    const { timeoutMs } = this.settings;
    const limitMs = reason === "early" ? Math.min(timeoutMs, EARLY_DEADLINE_MS) : timeoutMs;
    try {
      const { tokensByCommand } = await import("./token_command.ts");
      const tokens = await tokensByCommand(this, limitMs, signal);
      refresh.isOwn = true;
      signal.throwIfAborted();
      const held = tokensOf(this.current);
      if (held) this.noteReplacement(refresh, held);
      this.notices.clear("EARLY_REFRESH_FAILED");
      // If the token is the same, the state is kept, because the state records whether the API
      // rejected that token.
      if (held && sameAccess(held, tokens)) return held;
      this.keeper.apply({ kind: "tokens", tokens });
      return tokens;
    } catch (error) {
      if (signal.aborted && refresh.isWaitedFor) throw this.keeper.whyNot();
      throw error;
    }
  }
}

const NOT_APPLIED: AppliedChange = {
  hadSession: false,
  tellProvider: () => Promise.resolve({ ended: "here" }),
};

/** Whether there is no session, or only an access token whose refresh token was refused. */
function isOver(state: SessionState): boolean {
  return state.kind === "none" || (state.kind === "access-only" && state.because !== undefined);
}

function isLogout({ tokens }: Change): boolean {
  return tokens === undefined;
}
