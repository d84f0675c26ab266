import type { ProviderSettings } from "../provider/protocol.ts";
import type { SendResult } from "../provider/send.ts";
import type { SignOutResult } from "../provider/sign_out.ts";
import type { TokenResult } from "../provider/token_request.ts";
import { AuthError, ConfigError, ProviderError, sentenceOf } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import type { World } from "../platform/world.ts";
import type { Settings } from "../settings/settings.ts";
import {
  accountOf,
  isGoodFor,
  issuedOffsetMs,
  type RenewableTokens,
  sameAccess,
  type Tokens,
} from "../provider/tokens.ts";
import { StoreOnDemand } from "./cluster/store_on_demand.ts";
import type { Configuration } from "./configuration.ts";
import { EnvStore } from "./env_store.ts";
import { EnvironmentMirror, firstTokens } from "./environment_mirror.ts";
import { Notices } from "./notices.ts";
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
  STORE_ANSWER_SHARE,
  STORE_WAIT_WITH_VALID_TOKEN_MS,
  whyNot,
} from "./plan.ts";
import {
  afterChange,
  afterRefresh,
  afterRefusal,
  afterRejection,
  type Ending,
  sameRefresh,
  type SessionState,
  signedOut,
  stateOf,
  tokensOf,
} from "./state.ts";
import {
  MEMORY_ONLY,
  NOTHING,
  type SessionStore,
  type Stored,
  type Transaction,
  type Wait,
  type Written,
  type WrittenBy,
} from "./store.ts";

/** Makes the store of a session; replaced in tests. */
export type OpenStore = (engine: Engine) => SessionStore;

/** Why a refresh is made: it is time, it is nearly time, the user wants it, the API rejected the token. */
type Reason = "due" | "early" | "forced" | "rejected";

/** A refresh that is under way, for all who need it. */
interface Refreshing {
  readonly result: Promise<Tokens>;
  /**
   * Aborted when a login counts in its place, or all who waited for it left before the provider was
   * asked.
   */
  readonly abort: AbortController;
  /** Aborted when it has ended. */
  readonly over: AbortController;
  /** The signals of those who wait for it; `undefined`: one who waits in any case. */
  readonly waiting: (AbortSignal | undefined)[];
  /** The provider's answer, once it was asked: a logout ends the tokens that it brings. */
  answer?: Promise<TokenResult>;
  /** Ends the wait for that answer, so that a login or a logout is applied. */
  wake?: () => void;
}

/** A login or a logout. It changes nothing until a transaction of this session applies it. */
interface Change {
  /** Its place in the order in which logins and logouts began: the later one wins. */
  readonly order: number;
  /** The tokens of a login; `undefined`: a logout. */
  readonly tokens: Tokens | undefined;
  readonly remote: SignOut;
  /** What the session held when it began. */
  readonly held: Tokens | undefined;
  readonly applied: PromiseWithResolvers<Applied>;
  /** Called when it begins to count: from then on nothing takes it back. */
  onCounts(): void;
}

/** What became of a login or a logout. */
interface Applied {
  /** What the store said; `undefined`: the account was changed meanwhile. */
  readonly written: Written | undefined;
  /** Whether there was a session to end. */
  readonly hadSession: boolean;
  /** Tells the provider what ended: once for all logouts that were applied together. */
  tellProvider(signal: AbortSignal | undefined): Promise<Told>;
}

/** How far a logout went, with its text for people. */
interface Told {
  readonly ended: SignOutResult["ended"];
  readonly text?: string | undefined;
}

/**
 * What the provider is told of a logout: nothing, that this session ends, or that all of the account
 * do.
 */
export type SignOut = "keep" | "revoke" | "everywhere";

/**
 * Keeps the tokens of one session current, in memory, in its store and in the process environment.
 * Logins, logouts and refreshes are applied in a transaction, with the lock where the store has one.
 * What other processes wrote is taken over at any time.
 */
export class Engine {
  readonly notices = new Notices();
  readonly #mirror = new EnvironmentMirror();
  readonly #openStore: OpenStore;
  #configuration: Configuration;
  #store: SessionStore | undefined;
  /** `undefined`: not read yet. */
  #state: SessionState | undefined;
  /** What the store held when the state last followed it: another object is news. */
  #seen: Stored = NOTHING;
  /** Transactions under way. While one runs, the store may hold half of what this session writes. */
  #transactions = 0;
  /** The last write: those of one session follow each other, also where it has not the lock. */
  #writing: Promise<unknown> = Promise.resolve();
  #refreshing: Refreshing | undefined;
  #cooldowns: Cooldowns = NO_COOLDOWNS;
  /** Logins and logouts that wait to be applied. */
  #changes: Change[] = [];
  /** How many logins and logouts began, and which of them was the last to be applied. */
  #startedCount = 0;
  #lastAppliedOrder = 0;

  /** @param reread Reads the settings again; gives the engine of the account that they name. */
  constructor(
    configuration: Configuration,
    readonly reread: () => Engine,
    openStore: OpenStore = storeOf,
  ) {
    this.#configuration = configuration;
    this.#openStore = openStore;
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

  get store(): SessionStore {
    return this.#store ??= this.#openStore(this);
  }

  /** The state as memory knows it; at first use what the store or the process environment holds. */
  get current(): SessionState {
    if (this.#state === undefined) {
      this.#seen = this.store.read();
      const first = firstTokens(this.#configuration, this.notices, this.#seen.tokens);
      this.#state = stateOf(first);
      if (first) this.#mirror.show(first, this.#configuration);
    }
    return this.#state;
  }

  /** Whether the API answered 401 to the access token that is held. */
  get isRejected(): boolean {
    const now = this.current;
    return now.kind !== "none" && now.rejected;
  }

  /**
   * All that it remembers. What it does next depends on nothing else but its store and the calls under
   * way, so that tests can tell whether two orders of events led to the same state.
   */
  get memory(): unknown {
    return {
      state: this.#state,
      seen: this.#seen.tokens,
      transactions: this.#transactions,
      refreshing: this.#refreshing,
      cooldowns: this.#cooldowns,
      changes: this.#changes,
      counts: [this.#startedCount, this.#lastAppliedOrder],
      notices: this.notices.all,
    };
  }

  // Calls that need a token.

  /**
   * The tokens if they need no attention at all. Fast path: every extra promise shows in the per-call
   * benchmark.
   */
  fresh(minValidMs = 0): Tokens | undefined {
    if (this.#changes.length > 0 && this.#changes.some(isLogout)) return undefined;
    const tokens = tokensOf(this.current);
    return tokens && isFresh(tokens, this.world, minValidMs) ? tokens : undefined;
  }

  /**
   * Tokens that are good now, refreshed if it is time.
   *
   * @param minValidMs How long the access token must still be good.
   * @param signal Tells when the caller waits no more.
   */
  async tokens(minValidMs = 0, signal?: AbortSignal): Promise<Tokens> {
    const fresh = this.fresh(minValidMs);
    if (fresh) return fresh;
    return await this.#whileStoreIsAway(async (leftMs) => {
      await this.#untilLoggedOut();
      // A refresh that is under way has looked at the store: the many that wait for it need not.
      if (!this.#refreshing && this.store.remote) await this.#reach(leftMs, signal);
      // A file is read without a pause, so that of many calls at once only the first one reads it.
      if (!this.#refreshing) this.readStore();
      const { isByCommand } = this.#configuration;
      const plan = planFor(this.current, this.world, this.#cooldowns, minValidMs, isByCommand);
      switch (plan.kind) {
        case "use":
          return plan.tokens;
        case "fail":
          throw this.#whyNot();
        case "refresh":
          return await this.#share("due", signal, leftMs);
        case "refresh-early":
          return await this.#shareEarly(minValidMs, signal);
      }
    }, signal);
  }

  /** A refresh now, whatever time is left; joins one under way. */
  async refresh(signal?: AbortSignal): Promise<Tokens> {
    return await this.#whileStoreIsAway(async (leftMs) => {
      await this.#untilLoggedOut();
      if (!this.#refreshing && this.store.remote) await this.#reach(leftMs, signal);
      if (!this.#refreshing) this.readStore();
      return await this.#share("forced", signal, leftMs);
    }, signal);
  }

  /** Notes that the API answered 401 to these tokens. */
  noteRejection(rejected: Tokens): void {
    this.#setState(afterRejection(this.current, rejected));
  }

  /**
   * Other tokens than those that the API just rejected; `undefined` if there are none to be had now.
   *
   * @throws {AuthError} If the session is over: the refresh token was refused for good, or it was
   *   ended elsewhere.
   */
  async replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined> {
    const waitMs = this.settings.timeoutMs * STORE_ANSWER_SHARE;
    if (!this.#refreshing) await this.#look(waitMs, signal);
    this.noteRejection(rejected);
    // What is restored if nothing was refreshed for the rejected tokens, by the call that began it.
    let before: Cooldowns | undefined;
    // Another call may have begun a refresh meanwhile.
    if (!this.#refreshing) {
      const now = this.current;
      const tokens = tokensOf(now);
      const isOther = tokens && !sameAccess(tokens, rejected);
      if (isOther && isGoodFor(tokens, this.world, 0)) return tokens;
      if (now.kind === "none") throw this.#whyNot();
      if (now.kind === "access-only" && !this.#configuration.isByCommand) return undefined;
      if (!mayReplace(rejected.accessToken, this.#cooldowns, this.world)) return undefined;
      signal?.throwIfAborted();
      before = this.#cooldowns;
      this.#cooldowns = afterReplacement(rejected.accessToken, before, this.world);
    }
    const shared = this.#share("rejected", signal);
    const refreshing = this.#refreshing;
    try {
      const tokens = await shared;
      // Others saved these: nothing was refreshed for the rejected ones, and these may be rejected, too.
      if (before && (tokens.source === "file" || tokens.source === "store")) {
        this.#cooldowns = before;
      }
      // A command may give the same token again.
      return sameAccess(tokens, rejected) ? undefined : tokens;
    } catch (error) {
      if (error instanceof AuthError && this.current.kind === "none") throw error;
      // It ended because every call that waited was aborted: the next one may try.
      if (before && refreshing && !isWaitedFor(refreshing)) this.#cooldowns = before;
      return undefined;
    }
  }

  /** Notes that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void {
    this.#cooldowns = afterHelp(this.#cooldowns);
  }

  // Logins and logouts.

  /** The order of a login or a logout that begins now. */
  begin(): number {
    return ++this.#startedCount;
  }

  /** Whether a login of this order may still count: no later login or logout was applied. */
  isWanted(order: number): boolean {
    return order >= this.#lastAppliedOrder;
  }

  /**
   * Puts the tokens of a login in the place of all others, unless a later login or a logout was first.
   *
   * @param signal Ends the wait for the lock; nothing is changed then.
   * @param onCounts Called when the login begins to count: from then on it is not taken back.
   * @throws {ConfigError} `INVALID_SETTING` if the store keeps the session of another account.
   */
  async login(
    tokens: Tokens,
    order: number,
    signal: AbortSignal | undefined,
    onCounts: () => void,
  ): Promise<void> {
    if (!this.isWanted(order)) return;
    if (tokens.source === "portal" && this.store.remote) {
      await this.#refuseOtherAccount(tokens, signal);
    }
    const wait = { ms: this.settings.timeoutMs / 2, signal };
    await this.#change({ order, tokens, remote: "keep", onCounts }, wait);
  }

  /** A portal string is pasted, and may be anybody's. Names may be aliases, `sub` is none. */
  async #refuseOtherAccount({ claims }: Tokens, signal: AbortSignal | undefined): Promise<void> {
    await this.#look(this.settings.timeoutMs * STORE_ANSWER_SHARE, signal);
    const held = tokensOf(this.current)?.claims;
    if (held?.sub === undefined || claims.sub === undefined || held.sub === claims.sub) return;
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot log in: the store of AUTH_STORE keeps the session of ${accountOf(held)}, and this ` +
        "portal string is another account's",
      [
        "run ",
        { call: "logout" },
        " first, or name another entry behind the # of AUTH_STORE (store)",
      ],
    );
  }

  /**
   * Forgets the tokens in memory, in the process environment and in the store, then tells the provider.
   *
   * @param remote What the provider is told; a failure of that is a note only.
   * @param signal Ends the wait for the lock, and nothing is changed then; after that the wait for
   *   the provider.
   * @param onCounts Called when the logout begins to count.
   * @returns How far it went.
   * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if they are still in the store.
   */
  async logout(
    remote: SignOut,
    signal: AbortSignal | undefined,
    onCounts: () => void,
  ): Promise<SignOutResult["ended"]> {
    const waitMs = this.settings.timeoutMs;
    const wait = { ms: waitMs, reachMs: waitMs / 2, signal };
    const change = { order: this.begin(), tokens: undefined, remote, onCounts };
    const { written, hadSession, tellProvider } = await this.#change(change, wait);
    this.notices.clear("DEVICE_NOT_CONFIRMED");
    // Also if the store cannot be written: what is still in it should be of no use to anybody.
    const told: Told = remote === "keep" ? { ended: "here" } : await tellProvider(signal);
    const { place } = this.#configuration;
    const remotely = told.text === undefined ? "" : `; ${told.text}`;
    if (written?.kind === "failed") {
      const { problem, fix, cause } = written.problem;
      if (!this.store.remote) throw written.problem;
      const here = hadSession ? "signed out here" : "there was no session to end here";
      const there = hadSession ? "still holds the tokens" : "may still hold tokens";
      const all = `${problem} (${here}${remotely}; ${place} ${there})`;
      throw new ConfigError("STORE_UNREACHABLE", all, fix, cause);
    }
    if (this.current.kind !== "none") return told.ended;
    const holders = place === undefined ? "this session holds" : `this session and ${place} hold`;
    this.notices.clear("STORED_IGNORED");
    const here = hadSession
      ? `signed out here: ${holders} no tokens any more`
      : `there was no session to end: ${holders} no tokens`;
    const isMissed = remote === "everywhere" && !hadSession;
    this.notices.set("SIGNED_OUT", `${here}${remotely}`, isMissed ? TO_END_OTHERS : "");
    return told.ended;
  }

  /** Makes sure that the store can be used. @throws {ConfigError} */
  async ready(): Promise<void> {
    await this.store.remote?.ready();
  }

  // Another configuration.

  /** Takes over the options of another configuration of the same provider, client and file. */
  replaceConfiguration(configuration: Configuration): void {
    const before = this.#configuration.exportEnv;
    this.#configuration = configuration;
    if (before === configuration.exportEnv || this.#state === undefined) return;
    this.#mirror.withdraw();
    this.#mirror.show(tokensOf(this.#state), configuration);
  }

  /**
   * Ends the session's part in this process, because it is now another one. The store stays as it is,
   * and a refresh under way ends there: its refresh token may have been replaced.
   */
  detach(): void {
    // A login under way counts no more. A logout does: it ends what it was called for.
    this.#lastAppliedOrder = this.begin();
    this.#mirror.withdraw();
    this.#configuration = this.#configuration.outOfEnvironment();
  }

  // The state, in step with the store and the process environment.

  #setState(next: SessionState): SessionState {
    const before = this.#state;
    this.#state = next;
    if (before === next) return next;
    const tokens = tokensOf(next);
    // Another process logged in since.
    if (tokens) this.notices.clear("SIGNED_OUT");
    if (tokens) this.#mirror.show(tokens, this.#configuration);
    else this.#mirror.clear(before && tokensOf(before), this.#configuration);
    return next;
  }

  /**
   * Takes over what other processes wrote.
   *
   * @param waitMs How long a store that does not answer is asked again. A call whose token is good
   *   waits for less.
   */
  async #look(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { remote } = this.store;
    if (remote) {
      await remote.look(this.#holdsGoodToken ? STORE_WAIT_WITH_VALID_TOKEN_MS : waitMs, signal);
      // Who gave up meanwhile begins nothing.
      signal?.throwIfAborted();
    }
    this.readStore();
  }

  /**
   * Looks. @throws {ConfigError} `STORE_UNREACHABLE` if the store is away and no token is good: others
   * may have one.
   */
  async #reach(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#look(waitMs, signal);
    const away = this.store.remote?.problem;
    if (away && !this.#holdsGoodToken) throw away;
  }

  get #holdsGoodToken(): boolean {
    const tokens = tokensOf(this.current);
    return tokens !== undefined && isGoodFor(tokens, this.world, 0);
  }

  /**
   * Tries again while the store is away: a refresh that was joined may have waited for it since long
   * before.
   */
  async #whileStoreIsAway<T>(
    attempt: (leftMs: number) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { world } = this;
    const end = world.monotonic() + this.settings.timeoutMs * WAIT_SHARE;
    const leftMs = () => end - world.monotonic();
    for (;;) {
      try {
        return await attempt(leftMs());
      } catch (error) {
        const isAway = error instanceof AuthError && error.code === "STORE_UNREACHABLE";
        const isOver = signal?.aborted || leftMs() <= STORE_WAIT_WITH_VALID_TOKEN_MS;
        if (!isAway || isOver || this.store.remote?.stays) throw error;
      }
    }
  }

  /** Takes over what other processes wrote, as far as that is known without asking a server. */
  readStore(): void {
    // At first use the state is what the store holds.
    if (this.#state !== undefined && this.#transactions === 0) this.#follow(this.store.read());
  }

  /** What others wrote to the store is later than what this session holds. */
  #follow(stored: Stored): SessionState {
    const now = this.current;
    if (stored === this.#seen) return now;
    this.#seen = stored;
    return this.#setState(afterChange(now, stored.tokens, this.#endedElsewhere()));
  }

  #endedElsewhere(): Ending {
    const note = this.notices.text("STORED_IGNORED");
    const login = { call: "login" } as const;
    if (note !== undefined) {
      const problem = `There is no session (${note})`;
      return { code: "NO_SESSION", problem, fix: ["run ", login, " first"] };
    }
    const place = this.#configuration.place ?? "the store";
    const problem =
      "There is no session any more: it was ended outside this process, by a logout " +
      `or by taking its lines out of ${place}`;
    return { code: "NO_SESSION", problem, fix: ["run ", login] };
  }

  /** The error of a call that finds no tokens. */
  #whyNot(): AuthError {
    const now = this.current;
    const away = this.store.remote?.problem;
    // Whether there is a session, and a later one, only the store knows.
    if (away && !this.#holdsGoodToken) return away;
    const { problem } = this.settings.file;
    const note = problem
      ? sentenceOf(problem)
      : this.notices.text("STORED_IGNORED") ?? this.notices.text("ENVIRONMENT_IGNORED") ??
        this.notices.text("STORE_EMPTY");
    return whyNot(now, this.world, note, this.settings.portalUrl);
  }

  // Transactions.

  /**
   * Works while no other process on the store does. Logins and logouts of this session come first, and
   * those that come meanwhile before the lock is freed: the next holder must find nothing older.
   */
  #transaction<T>(work: (transaction: Transaction) => Promise<T>, wait: Wait): Promise<T> {
    return this.store.transaction(async (transaction) => {
      this.#transactions++;
      try {
        // Another transaction of this session writes without the lock: what the store holds is older.
        await this.#writing;
        this.#follow(this.store.read());
        await this.#applyChanges(transaction);
        return await work(transaction);
      } finally {
        await this.#applyChanges(transaction).finally(() => this.#transactions--);
      }
    }, wait);
  }

  /**
   * Has a login or a logout applied: by a refresh of this session that has the lock, or when the lock
   * is free.
   */
  async #change(
    wanted: Pick<Change, "order" | "tokens" | "remote" | "onCounts">,
    wait: Wait,
  ): Promise<Applied> {
    const applied = Promise.withResolvers<Applied>();
    // A failure is told below, once the wait for the lock has ended.
    applied.promise.catch(() => {});
    const isDone = new AbortController();
    const change: Change = {
      ...wanted,
      held: tokensOf(this.current),
      applied,
      onCounts: () => {
        wanted.onCounts();
        isDone.abort();
      },
    };
    const drop = (reason: unknown) => {
      if (!this.#changes.includes(change)) return;
      this.#changes = this.#changes.filter((each) => each !== change);
      applied.reject(reason);
    };
    // At once: whoever has the lock must not apply what its caller gave up.
    const onAbort = () => drop(wait.signal?.reason);
    wait.signal?.addEventListener("abort", onAbort);
    const signal = wait.signal ? AbortSignal.any([wait.signal, isDone.signal]) : isDone.signal;
    this.#changes.push(change);
    this.#refreshing?.wake?.();
    try {
      // A store that takes no writes gives no lock, but tells which tokens a logout ends.
      if (isLogout(change)) await this.store.remote?.look(STORE_WAIT_WITH_VALID_TOKEN_MS, signal);
      await this.#transaction(() => Promise.resolve(), { ...wait, signal });
    } catch (error) {
      // Its wait for the lock also ends when a refresh of this session applied it.
      drop(error);
    } finally {
      wait.signal?.removeEventListener("abort", onAbort);
    }
    return await applied.promise;
  }

  /** A call that is made after a logout began does not use what that ends. */
  async #untilLoggedOut(): Promise<void> {
    for (let each = this.#changes.find(isLogout); each; each = this.#changes.find(isLogout)) {
      await each.applied.promise.catch(() => {});
    }
  }

  /** Applies the logins and logouts that wait: of several the last one. */
  async #applyChanges(transaction: Transaction): Promise<void> {
    while (this.#changes.length > 0) {
      const changes = this.#changes;
      this.#changes = [];
      for (const each of changes) each.onCounts();
      const applied = this.#apply(changes, transaction);
      for (const each of changes) each.applied.resolve(applied);
      await applied;
    }
  }

  /** What was under way or known before a login or a logout counts no more. */
  async #apply(changes: readonly Change[], transaction: Transaction): Promise<Applied> {
    const { order, tokens } = changes.reduce((a, b) => b.order > a.order ? b : a);
    const ended = [...changes.flatMap((each) => [each.held, each.tokens]), tokensOf(this.current)]
      .filter((each) => each !== tokens);
    const hadSession = ended.some((each) => each !== undefined);
    const everywhere = changes.some(({ remote }) => remote === "everywhere");
    const lateAnswer = this.#refreshing?.answer;
    let told: Promise<Told> | undefined;
    const tellProvider = (signal: AbortSignal | undefined) =>
      told ??= this.#tellProvider(ended, lateAnswer, everywhere, signal);
    if (tokens !== undefined && !this.isWanted(order)) {
      return { written: undefined, hadSession, tellProvider };
    }
    this.#lastAppliedOrder = Math.max(order, this.#lastAppliedOrder);
    // A logout lets the request end: it may bring a refresh token that is to be revoked.
    if (tokens !== undefined || lateAnswer === undefined) this.#refreshing?.abort.abort();
    this.#refreshing = undefined;
    this.#cooldowns = NO_COOLDOWNS;
    this.notices.clear(
      "EARLY_REFRESH_FAILED",
      "LOCK_BUSY",
      "STORED_IGNORED",
      "ENVIRONMENT_IGNORED",
      "SIGNED_OUT",
    );
    const next = tokens === undefined
      ? signedOut(this.#configuration.isByCommand)
      : stateOf(tokens);
    this.#setState(next);
    const written = await this.#write(transaction, tokens, "change");
    return { written, hadSession, tellProvider };
  }

  /** What was written is no news; what others wrote in its place is. */
  async #write(
    transaction: Transaction,
    tokens: Tokens | undefined,
    by: WrittenBy,
  ): Promise<Written> {
    const writing = this.#writing.then(async () => {
      const written = await transaction.write(tokens, by);
      if (written.kind === "others wrote") this.#follow(written.stored);
      else this.#seen = written.stored;
      return written;
    });
    this.#writing = writing.catch(() => {});
    return await writing;
  }

  // Refreshes.

  /**
   * @param reachMs How long a store is waited for that does not answer. Whoever has a token that may still
   *   do does not wait.
   */
  #share(
    reason: Reason,
    signal: AbortSignal | undefined,
    reachMs: number = STORE_WAIT_WITH_VALID_TOKEN_MS,
  ): Promise<Tokens> {
    if (this.#refreshing) {
      this.#join(this.#refreshing, signal);
      return this.#refreshing.result;
    }
    const { promise, resolve } = Promise.withResolvers<Tokens>();
    const refreshing: Refreshing = {
      result: promise,
      abort: new AbortController(),
      over: new AbortController(),
      waiting: [],
    };
    this.#refreshing = refreshing;
    this.#join(refreshing, signal);
    const work = this.#configuration.isByCommand
      ? this.#runCommand(reason, refreshing)
      : this.#renew(reason, refreshing, reachMs);
    resolve(work);
    const done = () => {
      refreshing.over.abort();
      if (this.#refreshing === refreshing) this.#refreshing = undefined;
    };
    // Every caller may have left: nothing may reject outside a caller's promise.
    promise.then(done, done);
    return promise;
  }

  #join(refreshing: Refreshing, signal: AbortSignal | undefined): void {
    refreshing.waiting.push(signal);
    const giveUp = () => {
      // The provider may have replaced the refresh token: its answer is waited for in any case.
      if (refreshing.answer !== undefined || isWaitedFor(refreshing)) return;
      if (this.#refreshing === refreshing) this.#refreshing = undefined;
      refreshing.abort.abort();
    };
    signal?.addEventListener("abort", giveUp, { signal: refreshing.over.signal });
  }

  async #shareEarly(minValidMs: number, signal?: AbortSignal): Promise<Tokens> {
    const { world } = this;
    try {
      const tokens = await this.#share("early", signal);
      // A command that gives the same token again need not be run for each call.
      if (!isFresh(tokens, world)) this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      return tokens;
    } catch (error) {
      const left = tokensOf(this.current);
      if (!left || !isGoodFor(left, world, Math.max(minValidMs, 1))) throw error;
      this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      const [why, fix] = error instanceof AuthError
        ? [error.problem, error.fix]
        : ["Cannot refresh the session", ""];
      this.notices.set(
        "EARLY_REFRESH_FAILED",
        `the access token is still good, but: ${why}`,
        fix,
      );
      return left;
    }
  }

  /**
   * One refresh, for all callers in this process and, by the lock, for all processes on the store: take
   * the lock, look, ask the provider, write, use.
   */
  async #renew(reason: Reason, refreshing: Refreshing, reachMs: number): Promise<Tokens> {
    const { world } = this;
    const { signal } = refreshing.abort;
    try {
      const before = this.#renewable();
      const { options, settings } = this.#configuration;
      // Everything needed is loaded before the lock is taken and anything is sent.
      const { refusalError, requestRefresh, resolveProvider } = await import(
        "../provider/token_request.ts"
      );
      const provider = await resolveProvider("refresh the session", options, settings);
      const started = world.monotonic();
      const totalMs = Math.min(
        provider.timeoutMs,
        reason === "early" ? EARLY_DEADLINE_MS : Infinity,
      );
      const savedElsewhere = (held: Tokens) => {
        const plan = planFor(this.current, world, NO_COOLDOWNS, 0);
        return plan.kind === "use" && !sameAccess(plan.tokens, held) ? plan.tokens : undefined;
      };
      // Who asks for a refresh wants another token than the one that others just saved.
      const saved = () => reason === "forced" ? undefined : savedElsewhere(before);
      const wait: Wait = {
        ms: totalMs * WAIT_SHARE,
        reachMs,
        signal,
        isServed: () => {
          this.readStore();
          return saved() !== undefined;
        },
      };
      const tokens = await this.#transaction(async (transaction) => {
        const { lock } = transaction;
        signal.throwIfAborted();
        const found = saved();
        if (found) return found;
        if (lock === "busy") this.#goWithoutLock(this.#renewable());
        // Others may have refreshed meanwhile: a second refresh could end the session for all.
        if (transaction.problem) throw transaction.problem;
        // A process that was stopped while it waited has a quarter all the same: an answer that comes too
        // late is lost, and the refresh token with it.
        const end = Math.max(started + totalMs, world.monotonic() + totalMs / 4);
        const leftMs = () => end - world.monotonic();
        // A holder gives up after half the deadline, so that those who wait have their turn.
        const budgetMs = () => lock === "held" ? Math.min(leftMs(), totalMs / 2) : leftMs();
        for (;;) {
          const held = this.#renewable();
          const username = settings.text("username");
          const waiters = { signal, isWanted: () => isWaitedFor(refreshing) };
          const asked = requestRefresh(provider, held, username, world, budgetMs(), waiters);
          const answer = await this.#answerOrChange(transaction, refreshing, asked);
          const { clockOffsetMs, tokens } = answer;
          this.notices.learnClock(clockOffsetMs ?? issuedOffsetMs(tokens));
          if (tokens) {
            const learned = learnedFrom(answer, held, provider);
            return await this.#keep(transaction, held, { ...tokens, learned });
          }
          // A holder that was late may have saved just now what this refresh token was given for.
          await this.store.remote?.look(STORE_WAIT_WITH_VALID_TOKEN_MS);
          this.#follow(this.store.read());
          const late = savedElsewhere(held);
          if (late) return late;
          const now = this.current;
          const isOther = now.kind === "renewable" && !sameRefresh(now.tokens, held);
          if (isOther && budgetMs() > 0) continue;
          const error = refusalError("refresh", answer, held);
          if (endsSession(answer, reason)) await this.#end(transaction, held, error);
          throw error;
        }
      }, wait);
      if (this.#refreshing === refreshing) return tokens;
    } catch (error) {
      if (this.#refreshing === refreshing || !isWaitedFor(refreshing)) throw error;
    }
    // A login or a logout counts, whatever became of this.
    const winner = tokensOf(this.current);
    if (winner === undefined) throw this.#whyNot();
    return winner;
  }

  /** The tokens held, if they can be refreshed. */
  #renewable(): RenewableTokens {
    const now = this.current;
    if (now.kind !== "renewable") throw this.#whyNot();
    return now.tokens;
  }

  /**
   * Another process holds the lock for too long. A token that is still good is used as it is. A lock in
   * a store ends by itself, so that others are at work there, one after another: a refresh beside them
   * would end the session for all where refresh tokens rotate.
   */
  #goWithoutLock(held: Tokens): void {
    const place = this.#configuration.isInStore ? "in the store" : "beside the .env";
    const text = `another process holds the lock ${place} for too long`;
    if (this.store.remote !== undefined || isGoodFor(held, this.world, 0)) {
      throw new ProviderError(
        "TIMEOUT",
        `Cannot refresh the session: ${text}`,
        "try again, or end that process",
      );
    }
    this.notices.set("LOCK_BUSY", text, "the session was refreshed without it");
  }

  /**
   * The provider's answer. A login or a logout that comes first is applied at once.
   *
   * @throws If a login or a logout counts in the place of the refresh.
   */
  async #answerOrChange(
    transaction: Transaction,
    refreshing: Refreshing,
    asked: Promise<TokenResult>,
  ): Promise<TokenResult> {
    refreshing.answer = asked;
    // It may be left to a logout, which waits for it only so long.
    asked.catch(() => {});
    for (;;) {
      const woken = Promise.withResolvers<undefined>();
      refreshing.wake = () => woken.resolve(undefined);
      if (this.#changes.length > 0) refreshing.wake();
      const answer = await Promise.race([asked, woken.promise]);
      await this.#applyChanges(transaction);
      if (this.#refreshing !== refreshing) throw new DOMException("Another counts", "AbortError");
      if (answer !== undefined) return answer;
    }
  }

  /** Takes over refreshed tokens, and saves them before anybody uses them. */
  async #keep(
    transaction: Transaction,
    held: RenewableTokens,
    fresh: Tokens,
  ): Promise<Tokens> {
    this.notices.clear("EARLY_REFRESH_FAILED");
    const next = () => afterRefresh(this.current, held, fresh, transaction.lock === "held");
    for (let writes = 1; tokensOf(next()) === fresh; writes++) {
      const written = await this.#write(transaction, fresh, "refresh");
      // Without an end to it, whoever changes the store each time would hold all calls up.
      if (written.kind === "others wrote" && writes < MOST_WRITES) continue;
      // Without the lock a login may count since.
      this.#setState(next());
      break;
    }
    const tokens = tokensOf(this.current);
    if (tokens === undefined) throw this.#whyNot();
    return tokens;
  }

  /**
   * The refresh token will never work again. Without the lock that another process holds the store stays
   * as it is: that process may have got an answer that this one was too late for.
   */
  async #end(transaction: Transaction, held: RenewableTokens, error: AuthError): Promise<void> {
    const code = error.code === "REFRESH_WINDOW_OVER" ? error.code : "REFRESH_REJECTED";
    const because = { code, problem: error.problem, fix: error.fix } as const;
    const isGood = isGoodFor(held, this.world, 0);
    this.#setState(afterRefusal(this.current, held, because, isGood));
    if (transaction.lock === "busy") return;
    await this.#write(transaction, tokensOf(this.current), "refusal");
  }

  /** Tells the provider of a logout. */
  async #tellProvider(
    ended: readonly (Tokens | undefined)[],
    lateAnswer: Promise<TokenResult> | undefined,
    everywhere: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Told> {
    const late = lateAnswer && await this.#lateTokens(lateAnswer, signal);
    try {
      // Loaded on demand: few processes log out.
      const { endAtProvider, signOutText } = await import("../provider/sign_out.ts");
      const all = late ? [...ended, late] : ended;
      const result = await endAtProvider(this.#configuration, all, everywhere, signal);
      return { ended: result.ended, text: signOutText(result) };
    } catch (error) {
      if (!signal?.aborted && !(error instanceof TypeError)) throw error;
      const why = signal?.aborted
        ? "the wait for it was ended"
        : "a file of this module could not be loaded";
      return { ended: "here", text: `not at the provider: ${why}` };
    }
  }

  /** The tokens that a refresh still brings after a logout, which waits for them only so long. */
  async #lateTokens(
    answer: Promise<TokenResult>,
    signal: AbortSignal | undefined,
  ): Promise<Tokens | undefined> {
    const stop = new AbortController();
    const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const tokens = await Promise.race([
      answer.then((late) => late.tokens, () => undefined),
      this.world.sleep(LATE_ANSWER_MS, either).then(() => undefined),
    ]);
    stop.abort();
    return tokens;
  }

  /** Runs the command that gives tokens, for all callers in this process. */
  async #runCommand(reason: Reason, refreshing: Refreshing): Promise<Tokens> {
    const { signal } = refreshing.abort;
    try {
      const { tokensByCommand } = await import("./cluster/token_command.ts");
      const totalMs = this.settings.timeoutMs;
      const limitMs = reason === "early" ? Math.min(totalMs, EARLY_DEADLINE_MS) : totalMs;
      const tokens = await tokensByCommand(this, limitMs, signal);
      signal.throwIfAborted();
      this.notices.clear("EARLY_REFRESH_FAILED");
      const held = tokensOf(this.current);
      // The same token again: what is known of it stays, such as that the API rejected it.
      if (held && sameAccess(held, tokens)) return held;
      this.#setState(stateOf(tokens));
      return tokens;
    } catch (error) {
      if (signal.aborted && isWaitedFor(refreshing)) throw this.#whyNot();
      throw error;
    }
  }
}

/** Whether somebody still waits for it. */
function isWaitedFor({ waiting }: Refreshing): boolean {
  return waiting.some((signal) => signal?.aborted !== true);
}

function isLogout({ tokens }: Change): boolean {
  return tokens === undefined;
}

/** How much of its time a call waits for the lock, or for a store that is away. */
const WAIT_SHARE = 0.75;

/** How often refreshed tokens are written where others write at the same time. */
const MOST_WRITES = 5;

/** The provider signs out other devices only for who is signed in. */
const TO_END_OTHERS: Fix = [
  "to sign out other devices run ",
  { call: "login" },
  " first, then this again",
];

/** How long a logout waits for the answer to a refresh that was under way. */
const LATE_ANSWER_MS = 3_000;

function storeOf(engine: Engine): SessionStore {
  const configuration = () => engine.configuration;
  const { notices, configuration: { envFile, isInStore } } = engine;
  if (isInStore) return new StoreOnDemand(configuration, notices);
  return envFile === undefined ? MEMORY_ONLY : new EnvStore(envFile, configuration, notices);
}

/**
 * What a refresh teaches of the account: the form of the request that the provider takes, and its
 * clock.
 */
function learnedFrom(
  { clockOffsetMs, variant }: TokenResult & {
    readonly variant?: Tokens["learned"]["refreshVariant"];
  },
  held: RenewableTokens,
  provider: ProviderSettings,
): Tokens["learned"] {
  // Without a secret there is no hash to leave out, and so nothing to learn.
  const isPlain = variant === "omit" && provider.clientSecret === undefined;
  return {
    ...held.learned,
    clockOffsetMs,
    refreshVariant: isPlain ? undefined : variant,
  };
}

/**
 * Whether a refusal ends the session. Where the API rejected the access token too, any refusal of the
 * refresh token does.
 */
function endsSession({ outcome }: SendResult, reason: Reason): boolean {
  return outcome.kind === "refused" &&
    (outcome.isFinal || (reason === "rejected" && outcome.code === "REFRESH_REJECTED"));
}
