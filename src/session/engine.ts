/**
 * The engine of a session decides when tokens are refreshed, replaced and removed. Each change waits
 * for its turn, takes the lock, adopts what other processes saved, decides, and saves.
 *
 * `memory.ts` has the state, `state.ts` defines it, and `plan.ts` has the rules for when to refresh;
 * `vault.ts` is the interface to the `.env` and the stores; `login.ts` obtains tokens.
 */
import {
  AuthError,
  type ConfigError,
  ProviderError,
  SessionExpiredError,
} from "../errors/errors.ts";
import { onAbort } from "../platform/abort.ts";
import { failureOf, type Log } from "../platform/log.ts";
import type { World } from "../platform/world.ts";
import { Hold } from "../provider/hold.ts";
import type { SignOutResult } from "../provider/sign_out.ts";
import { isGoodFor, sameAccess, type Tokens } from "../provider/tokens.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import { finishLogout, Logout, type RemoteLogout, type Removed } from "./logout.ts";
import { Memory } from "./memory.ts";
import { otherAccount } from "./whose.ts";
import { type Notice, Notices } from "./notices.ts";
import {
  afterEarlyFailure,
  afterHelp,
  afterReplacement,
  type Cooldowns,
  EARLY_DEADLINE_MS,
  isFresh,
  LOCK_WAIT_SHARE,
  mayReplace,
  NO_COOLDOWNS,
  offeredMs,
  type Plan,
  planFor,
} from "./plan.ts";
import { Queue } from "./queue.ts";
import { type Heart, type Reason, Refresh, renew } from "./refresh.ts";
import { isOver, LOGGED_OUT, type SessionState, tokensOf } from "./state.ts";
import { type Place, placeText, type Vault, type Wait } from "./vaults/vault.ts";
import { openVault } from "./vaults/open_vault.ts";

/** Time after which a waiting login or logout cancels the refresh in progress. */
const LONGEST_REFRESH_MS = 3_000;

/**
 * The session of one account. Simultaneous callers share one refresh. Logins and logouts take
 * effect in the order of the calls.
 */
export class Engine implements Heart {
  readonly notices = new Notices();
  readonly memory: Memory;
  readonly queue = new Queue();
  readonly hold = new Hold();
  #vault: Vault | undefined;
  #configuration: Configuration;
  private refreshing: Refresh | undefined;
  /** The logout in progress, until its tokens are removed. Calls wait for this logout. */
  private loggingOut: Logout | undefined;
  private cooldowns: Cooldowns = NO_COOLDOWNS;
  /**
   * The number of logins and logouts called so far, and the position of the last login or logout
   * that took effect.
   */
  private calledCount = 0;
  private lastAppliedOrder = 0;

  /** @param reread Rereads the settings and returns the engine for their account. */
  constructor(configuration: Configuration, readonly reread: () => Engine) {
    this.#configuration = configuration;
    this.memory = new Memory(this, () => this.vault);
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

  /** Opened at first use, because that reads the settings. */
  get vault(): Vault {
    return this.#vault ??= openVault(this);
  }

  get current(): SessionState {
    return this.memory.current;
  }

  get place(): Place | undefined {
    return this.vault.place;
  }

  /** Whether the API's latest response to the access token was a 401. */
  get isRejected(): boolean {
    const now = this.current;
    return now.kind !== "none" && now.rejected;
  }

  /** Why the refresh after the API's 401 failed; `undefined` if it did not fail. */
  get refreshFailure(): Notice | undefined {
    return this.notices.get("REFRESH_FAILED");
  }

  // The following methods serve calls that need a token.

  /**
   * Returns the tokens if they can be used without waiting. This fast path avoids promises, because
   * each one measurably slows a call.
   */
  fresh(minValidMs = 0): Tokens | undefined {
    if (this.loggingOut !== undefined) return undefined;
    const tokens = tokensOf(this.current);
    return tokens && isFresh(tokens, this.world, minValidMs) ? tokens : undefined;
  }

  /** Whether a call finds no token to use or refresh, as far as this process knows. */
  get needsLogin(): boolean {
    return this.#planFor(0).kind === "fail";
  }

  #planFor(minValidMs: number): Plan {
    const { cooldowns, current, world, configuration: { isLent } } = this;
    return planFor(current, world, cooldowns, minValidMs, isLent);
  }

  /**
   * Returns valid tokens. If the tokens of the session are due, refreshes them first.
   *
   * @param minValidMs Time for which the access token must remain valid.
   */
  async tokens(minValidMs = 0, signal?: AbortSignal): Promise<Tokens> {
    const fresh = this.fresh(minValidMs);
    if (fresh) return fresh;
    if (this.#mustLook) await this.#look(signal);
    this.#adoptChangesOnce();
    const plan = this.#planFor(minValidMs);
    switch (plan.kind) {
      case "use":
        return plan.tokens;
      case "fail":
        throw this.memory.whyNot();
      case "refresh":
        return await this.#share("due", signal);
      case "refresh-early":
        return await this.#shareEarly(minValidMs, signal);
    }
  }

  /**
   * Refreshes now, regardless of the time left, or joins a refresh in progress.
   *
   * @param isLogin Whether `login()` refreshes. After a logout, only `login()` calls the option
   * `token` again.
   */
  async refresh(signal?: AbortSignal, isLogin = false): Promise<Tokens> {
    if (this.#mustLook) await this.#look(signal);
    this.#adoptChangesOnce();
    const { current, configuration: { isLent } } = this;
    const isLoggedOut = isLent && current.kind === "none" && current.because !== undefined;
    if (isLoggedOut && !isLogin && !this.refreshing) throw this.memory.whyNot();
    return await this.#share("forced", signal);
  }

  /** Records that the API's latest response to these tokens was a 401, or a success. */
  noteResponse(kind: "rejected" | "accepted", tokens: Tokens): void {
    this.memory.apply({ kind, tokens });
  }

  /**
   * Replaces tokens that the API just rejected. Returns `undefined` if no other tokens can be
   * obtained now; if a refresh failed, the notice `REFRESH_FAILED` says why.
   *
   * @throws {AuthError} If the session is over (`NO_SESSION`, `REFRESH_REJECTED` and others): the
   * refresh token was refused for good, or another process ended the session.
   */
  async replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined> {
    if (this.#mustLook) await this.#look(signal);
    this.#adoptChangesOnce();
    this.noteResponse("rejected", rejected);
    if (!this.refreshing) {
      if (isOver(this.current)) await this.#removeRejected(signal);
      const now = this.current;
      const tokens = tokensOf(now);
      const isOther = tokens && !sameAccess(tokens, rejected);
      if (isOther && isGoodFor(tokens, this.world, 0)) return tokens;
      if (isOver(now)) throw this.memory.whyNot();
      if (now.kind === "access-only" && !this.configuration.isLent) return undefined;
      if (!mayReplace(rejected.accessToken, this.cooldowns, this.world)) return undefined;
      signal?.throwIfAborted();
    }
    const { lastAppliedOrder } = this;
    try {
      const tokens = await this.#share("rejected", signal);
      // The option `token` may lend the rejected token again, which replaces nothing.
      return sameAccess(tokens, rejected) ? undefined : tokens;
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      // If a login or a logout took effect meanwhile, the failure belongs to the previous session.
      if (lastAppliedOrder === this.lastAppliedOrder) {
        this.notices.set({ REFRESH_FAILED: error });
      }
      if (isOver(this.current)) throw error;
      return undefined;
    }
  }

  /** Removes an access token that the API rejected after its refresh token was refused. */
  async #removeRejected(signal: AbortSignal | undefined): Promise<void> {
    const refused = () => {
      const now = this.current;
      return now.kind === "access-only" && now.rejected && now.because
        ? { kind: "refused", held: now.tokens, because: now.because, isValid: true } as const
        : undefined;
    };
    if (refused() === undefined) return;
    using _turn = await this.queue.turn(signal);
    await using lock = await this.vault.lock(this.#wait(false, signal));
    this.memory.adopt(lock.now);
    const event = refused();
    if (event) await this.memory.save(lock, event);
  }

  /** Records that the API accepted the new tokens after a 401. */
  replacementHelped(): void {
    this.cooldowns = afterHelp(this.cooldowns);
  }

  /**
   * Adopts changes by other processes, if that needs no request to a server. During a logout,
   * adopts nothing, because the logout revokes the tokens that were in use when it was called.
   */
  adoptChanges(): void {
    if (this.loggingOut === undefined) this.memory.adopt(this.vault.peek());
  }

  // The following methods apply logins and logouts.

  /** Returns the position of a new login or logout in the order of the calls. */
  nextOrder(): number {
    return ++this.calledCount;
  }

  /**
   * Whether a login may still take effect: no later login or logout has taken effect yet.
   */
  isWanted(order: number): boolean {
    return order >= this.lastAppliedOrder;
  }

  /** Reads the store, if the session is on a server. */
  async readStore(signal?: AbortSignal): Promise<void> {
    if (this.#mustLook) await this.#look(signal);
  }

  /** Asks the store's server which account it keeps, before a login sends anything. */
  async lookBeforeLogin(signal: AbortSignal | undefined): Promise<void> {
    await this.#adoptFromServer(false, signal);
  }

  /** Returns an error if the store keeps the session of an account other than this login's. */
  wrongAccount(login: string | Tokens): ConfigError | undefined {
    const { owner } = this.vault;
    return owner && otherAccount(owner, tokensOf(this.current), login);
  }

  /**
   * Replaces all tokens with those of a login, unless a later login or logout took effect first.
   *
   * @param signal Cancels the login while it waits.
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
    using _turn = await this.#turnSoon(endedByLogin, signal);
    if (!this.isWanted(order)) return;
    const ms = this.settings.timeoutMs / 2;
    await using lock = await this.vault.lock({ ms, signal });
    signal?.throwIfAborted();
    this.memory.adopt(lock.now);
    if (!this.isWanted(order)) return;
    const wrong = this.wrongAccount(tokens);
    if (wrong) throw wrong;
    onApplied();
    this.#startOver(order);
    await this.memory.save(lock, { kind: "login", tokens });
  }

  /**
   * Removes the tokens from memory, the process environment and the store, then signs out at the
   * provider. Joins a logout that has not taken effect yet.
   *
   * @param remote The request to the provider. If the request fails, the status has a notice.
   * @param signal Cancels the logout until it takes effect. Afterwards, the signal only ends the
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
    const known = this.loggingOut?.isOpen ? this.loggingOut : undefined;
    const logout = known ?? new Logout();
    const order = this.nextOrder();
    const ended = logout.join(signal, () => {
      logout.ask(remote, order);
      onApplied();
    });
    if (known === undefined) logout.follow(this.#logOut(logout));
    return await ended;
  }

  async #logOut(logout: Logout): Promise<SignOutResult["ended"]> {
    const { configuration, notices } = this;
    this.loggingOut = logout;
    logout.removed = this.#removeTokens(logout).finally(() => {
      if (this.loggingOut === logout) this.loggingOut = undefined;
    });
    const removed = await logout.removed;
    const place = placeText(this.place);
    const { ended, notice } = await finishLogout(logout, configuration, removed, place);
    // Meanwhile, a login may have made a new session, to which these notices do not apply.
    if (this.current.kind === "none") {
      notices.set({ STORED_IGNORED: undefined, NOT_REVOKED: notice });
    }
    this.world.log?.({ event: "logout", outcome: ended });
    return ended;
  }

  /** Removes the tokens from memory, the process environment and the store. */
  async #removeTokens(logout: Logout): Promise<Removed> {
    const { signal } = logout;
    using _turn = await this.#turnSoon(endedByLogout, signal);
    const ms = this.settings.timeoutMs / 2;
    await using lock = await this.vault.lock({ ms, signal, onlyRemoves: true });
    signal.throwIfAborted();
    const before = tokensOf(this.current);
    this.memory.adopt(lock.now);
    // Another process may have logged in, so there may be two sessions to end.
    const tokens = [before, tokensOf(this.current)];
    logout.commit();
    this.#startOver(logout.order);
    const problem = await this.memory.save(lock, { kind: "logout" });
    return { tokens, problem };
  }

  /** Waits for a turn. If the refresh in progress is slow, it is canceled. */
  async #turnSoon(ended: () => AuthError, signal: AbortSignal | undefined): Promise<Disposable> {
    const refresh = this.refreshing;
    // A lent token comes without a refresh token, so canceling the function loses nothing.
    const longestMs = this.configuration.isLent ? 0 : LONGEST_REFRESH_MS;
    const stopTimer = refresh
      ? onAbort(this.world.timeout(longestMs), () => refresh.cancel(ended()))
      : () => {};
    return await this.queue.turn(signal).finally(stopTimer);
  }

  /** Resets everything that belonged to the previous session. */
  #startOver(order: number): void {
    // `detach()` may have set a higher position, which a logout in progress must not lower.
    this.lastAppliedOrder = Math.max(order, this.lastAppliedOrder);
    this.cooldowns = NO_COOLDOWNS;
    this.notices.set({
      REFRESH_FAILED: undefined,
      STORED_IGNORED: undefined,
      ENVIRONMENT_IGNORED: undefined,
    });
  }

  /** Replaces the options with others for the same provider, client and file. */
  configure(next: Configuration): void {
    const { exportEnv } = this.#configuration;
    this.#configuration = next;
    if (exportEnv !== next.exportEnv) this.memory.mirrorAgain();
  }

  /**
   * Abandons this session, because the settings are now those of another account. The store keeps
   * the tokens.
   */
  detach(): void {
    // This discards a login in progress. A logout in progress still takes effect.
    this.lastAppliedOrder = this.nextOrder();
    // Another session uses the process environment from now on.
    this.configure(this.#configuration.outOfEnvironment());
  }

  // The following methods refresh tokens.

  /**
   * Whether a call must wait for a logout or ask the store's server before it joins or starts a
   * refresh. Any other call skips the `await`, so that it keeps its place in the order of the
   * calls.
   */
  get #mustLook(): boolean {
    return this.loggingOut !== undefined || (!this.refreshing && this.vault.read !== undefined);
  }

  /**
   * Waits for a logout in progress and then asks the store's server, so that a call does not use
   * tokens that a logout is about to end. A refresh in progress has already read the store.
   */
  async #look(signal: AbortSignal | undefined): Promise<void> {
    while (this.loggingOut) await this.loggingOut.removed.catch(() => {});
    if (this.refreshing) return;
    const tokens = tokensOf(this.current);
    const isNeeded = tokens === undefined || !isGoodFor(tokens, this.world, 0);
    await this.#adoptFromServer(isNeeded, signal);
  }

  /**
   * Adopts the latest content of the store's server, if the session is on a server.
   *
   * @param isNeeded Whether an unreachable server is an error, because there is no valid token.
   */
  async #adoptFromServer(isNeeded: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { memory, vault } = this;
    void this.current;
    const { version } = memory;
    const lines = await vault.read?.(this.#wait(isNeeded, signal));
    signal?.throwIfAborted();
    // If the session changed during the read, the lines are outdated.
    if (memory.version === version && this.loggingOut === undefined) memory.adopt(lines);
  }

  /** The rest of the call's time is left for the provider. */
  #wait(isNeeded: boolean, signal: AbortSignal | undefined): Wait {
    return { ms: this.settings.timeoutMs * LOCK_WAIT_SHARE, isNeeded, signal };
  }

  /**
   * Reads the `.env`, unless a refresh is in progress. This is synchronous, so that only the first
   * of many simultaneous calls reads the file.
   */
  #adoptChangesOnce(): void {
    if (!this.refreshing) this.adoptChanges();
  }

  #share(reason: Reason, signal: AbortSignal | undefined): Promise<Tokens> {
    const known = this.refreshing;
    const refresh = known ?? new Refresh(reason, (held) => {
      if (reason !== "rejected") return;
      this.cooldowns = afterReplacement(held.accessToken, this.cooldowns, this.world);
    });
    this.refreshing = refresh;
    const result = refresh.join(signal);
    if (known) return result;
    const { log } = this.world;
    if (log) this.#logRefresh(refresh, log);
    const leave = () => {
      if (this.refreshing === refresh) this.refreshing = undefined;
    };
    onAbort(refresh.signal, leave);
    refresh.follow(
      this.configuration.isLent ? this.#lend(refresh) : renew(this, refresh),
    );
    // If every caller has given up, the rejection must still be handled.
    result.then(leave, leave);
    return result;
  }

  /** Logs a refresh when it ends, before its callers continue. */
  #logRefresh(refresh: Refresh, log: Log): void {
    const { reason, signal } = refresh;
    const { world } = this;
    const started = world.monotonic();
    const logEnd = (outcome: "refreshed" | "served" | ReturnType<typeof failureOf>) => {
      const milliseconds = Math.round(world.monotonic() - started);
      log({ event: "refresh", reason, outcome, milliseconds });
    };
    refresh.result.then(
      // Other tokens come from another process or a login.
      ({ source }) => logEnd(["refresh", "token"].includes(source) ? "refreshed" : "served"),
      (error) => logEnd(failureOf(error, signal)),
    );
  }

  async #shareEarly(minValidMs: number, signal?: AbortSignal): Promise<Tokens> {
    const { world, lastAppliedOrder } = this;
    try {
      const tokens = await this.#share("early", signal);
      // If the option `token` lent the old token again, a pause keeps later calls from asking it
      // each time.
      if (!isFresh(tokens, world, minValidMs)) {
        this.cooldowns = afterEarlyFailure(this.cooldowns, world);
      }
      return tokens;
    } catch (error) {
      const left = tokensOf(this.current);
      const isUsable = left && isGoodFor(left, world, Math.max(offeredMs(left, minValidMs), 1));
      if (!isUsable || !(error instanceof AuthError)) throw error;
      // If a login took effect meanwhile, its tokens need no pause and no notice about this
      // failure.
      if (lastAppliedOrder !== this.lastAppliedOrder) return left;
      this.cooldowns = afterEarlyFailure(this.cooldowns, world);
      const problem = `${error.problem}; the access token is still valid`;
      this.notices.set({ REFRESH_FAILED: { problem, fix: error.fix } });
      return left;
    }
  }

  /** Calls the option `token` once for all callers in this process. */
  async #lend(refresh: Refresh): Promise<Tokens> {
    const { signal, reason } = refresh;
    using _turn = await this.queue.turn(signal);
    const { timeoutMs } = this.settings;
    const limitMs = reason === "early" ? Math.min(timeoutMs, EARLY_DEADLINE_MS) : timeoutMs;
    const { lentTokens } = await import("./lent_token.ts");
    const tokens = await lentTokens(this.configuration, limitMs, signal);
    signal.throwIfAborted();
    const held = tokensOf(this.current);
    if (held) refresh.noteResponse(held);
    this.notices.set({ REFRESH_FAILED: undefined });
    // If the token is the same, the state is kept, because it records whether the API rejected
    // that token.
    if (held && sameAccess(held, tokens)) return held;
    this.memory.apply({ kind: "login", tokens });
    return tokens;
  }
}

function endedByLogin(): AuthError {
  return new ProviderError(
    "TIMEOUT",
    "Cannot refresh the session: a login ended this refresh, because it took longer than 3 seconds",
    "try again once the login has ended",
  );
}

function endedByLogout(): AuthError {
  return new SessionExpiredError(LOGGED_OUT.code, LOGGED_OUT.problem, LOGGED_OUT.fix);
}
