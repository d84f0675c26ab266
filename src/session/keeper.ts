import { AuthError, sentenceOf } from "../errors/errors.ts";
import { isGoodFor, sameAccess, type Tokens } from "../values/tokens.ts";
import type { World } from "../runtime/world.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import { SessionMemory } from "./memory.ts";
import type { Notices } from "./notices.ts";
import {
  afterEarlyFailure,
  afterHelp,
  afterReplacement,
  type Cooldowns,
  isFresh,
  mayReplace,
  NO_COOLDOWNS,
  planFor,
} from "./plan.ts";
import type { Reason } from "./refresh.ts";
import type { StoreLock } from "./shared_store.ts";
import { afterRejection, type Holding, holdingOf, signedOut, tokensOf } from "./state.ts";

/** What the provider is told of a logout: nothing, that this session ends, or that all of the account do. */
export type SignOut = "keep" | "revoke" | "everywhere";

/** A refresh that is under way, for all who need it. A login or a logout aborts it. */
interface Refreshing {
  readonly result: Promise<Tokens>;
  readonly abort: AbortController;
  /** The signals of those who wait for it; `undefined`: one who waits in any case. */
  readonly waiting: (AbortSignal | undefined)[];
}

/** Keeps the tokens of one session current: tells when to refresh, and lets all callers share one refresh. */
export class TokenKeeper {
  readonly #memory: SessionMemory;
  #refreshing: Refreshing | undefined;
  #cooldowns: Cooldowns = NO_COOLDOWNS;
  /** How many logins and logouts began, and which of them was the last to count: a later one wins. */
  #begun = 0;
  #settled = 0;

  /** @param reread Reads the settings again; gives the keeper of the account that they name. */
  constructor(configuration: Configuration, readonly reread: () => TokenKeeper) {
    this.#memory = new SessionMemory(configuration);
  }

  get configuration(): Configuration {
    return this.#memory.configuration;
  }

  get settings(): Settings {
    return this.configuration.settings;
  }

  get world(): World {
    return this.configuration.world;
  }

  get notices(): Notices {
    return this.#memory.notices;
  }

  /** The state; at first use what the store or the process environment holds. */
  peek(): Holding {
    return this.#memory.peek();
  }

  /** The tokens if they need no attention at all. Fast path: every extra promise shows in the per-call benchmark. */
  fresh(minValidMs = 0): Tokens | undefined {
    const tokens = tokensOf(this.#memory.peek());
    return tokens && isFresh(tokens, this.configuration.world, minValidMs) ? tokens : undefined;
  }

  /**
   * Tokens that are good now, refreshed if it is time.
   *
   * @param minValidMs How long the access token must still be good.
   * @param signal Tells when the caller waits no more.
   */
  async current(minValidMs = 0, signal?: AbortSignal): Promise<Tokens> {
    const { world } = this;
    const held = this.fresh(minValidMs);
    if (held) return held;
    const syncing = this.#refreshing ? undefined : this.#memory.sync();
    if (syncing) await syncing;
    // A refresh that is under way has looked at the store: the many that wait for it need not.
    const holding = this.#refreshing ? this.#memory.peek() : this.#memory.catchUp();
    const { isByCommand } = this.configuration;
    const plan = planFor(holding, world, this.#cooldowns, minValidMs, isByCommand);
    switch (plan.kind) {
      case "use":
        return plan.tokens;
      case "fail":
        throw this.#memory.whyNot();
      case "refresh":
        return await this.#share("due", signal);
      case "refresh-early":
        return await this.#shareEarly(minValidMs, signal);
    }
  }

  /** A refresh now, whatever time is left; joins one under way. */
  async refresh(signal?: AbortSignal): Promise<Tokens> {
    const syncing = this.#memory.sync();
    if (syncing) await syncing;
    this.#memory.catchUp();
    return await this.#share("forced", signal);
  }

  /** Whether the API answered 401 to the access token that is held. */
  get isRejected(): boolean {
    const holding = this.#memory.peek();
    return holding.kind !== "none" && holding.rejected;
  }

  /** Notes that the API answered 401 to these tokens. */
  noteRejection(rejected: Tokens): void {
    this.#memory.change((now) => afterRejection(now, rejected));
  }

  /**
   * Other tokens than those that the API just rejected; `undefined` if there are none to be had now.
   *
   * @throws {AuthError} If the session is over: the refresh token was refused for good, or it was ended elsewhere.
   */
  async replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined> {
    const { world } = this;
    const syncing = this.#refreshing ? undefined : this.#memory.sync();
    if (syncing) await syncing;
    const holding = this.#refreshing ? undefined : this.#memory.catchUp();
    this.noteRejection(rejected);
    if (holding !== undefined) {
      const tokens = tokensOf(holding);
      const isOther = tokens && !sameAccess(tokens, rejected);
      if (isOther && isGoodFor(tokens, world, 0)) return tokens;
      if (holding.kind === "none") throw this.#memory.whyNot();
      if (holding.kind === "access-only" && !this.configuration.isByCommand) return undefined;
      if (!mayReplace(rejected.accessToken, this.#cooldowns, world)) return undefined;
      this.#cooldowns = afterReplacement(rejected.accessToken, this.#cooldowns, world);
    }
    try {
      const tokens = await this.#share("rejected", signal);
      // A command may give the same token again.
      return sameAccess(tokens, rejected) ? undefined : tokens;
    } catch (error) {
      if (error instanceof AuthError && this.#memory.peek().kind === "none") throw error;
      return undefined;
    }
  }

  /** Notes that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void {
    this.#cooldowns = afterHelp(this.#cooldowns);
  }

  /** Makes sure that the store can be used. @throws {ConfigError} */
  async ready(): Promise<void> {
    await this.#memory.store.ready?.();
  }

  /** The place of a login, which begins now, in the order in which they began. */
  beginLogin(): number {
    return ++this.#begun;
  }

  /** Whether a login with this place may still count: no later login or logout has. */
  isWanted(place: number): boolean {
    return place >= this.#settled;
  }

  /**
   * Takes the tokens of a login in place of all others, unless a later login or a logout was first.
   *
   * @param signal If it aborts while the save waits for its turn, the session is as it was.
   */
  async adopt(tokens: Tokens, place: number, signal?: AbortSignal): Promise<void> {
    if (!this.isWanted(place)) return;
    const memory = this.#memory;
    const before = { holding: memory.peek(), settled: this.#settled };
    this.#settled = place;
    const adopted = this.#replace(holdingOf(tokens));
    const undo = () => {
      if (memory.peek() !== adopted) return;
      this.#settled = before.settled;
      memory.become(before.holding);
    };
    signal?.addEventListener("abort", undo);
    const waitMs = this.configuration.settings.timeoutMs / 2;
    await memory.whileSaving(() =>
      memory.store.withLock(waitMs, async (lock) => {
        signal?.removeEventListener("abort", undo);
        await memory.saveNow(lock, true);
      }, { signal })
    );
  }

  /**
   * Forgets the tokens in memory, in the process environment and in the store, then tells the provider.
   *
   * @param remote What the provider is told; a failure of that is a note only.
   * @throws {ConfigError} `ENV_FILE`, `PERMISSION` or `STORE_UNREACHABLE` if they are still in the store.
   */
  async clear(remote: SignOut, signal?: AbortSignal): Promise<void> {
    const memory = this.#memory;
    const { configuration, configuration: { place: kept, settings }, notices } = this;
    const ended = [tokensOf(memory.peek())];
    this.#settled = this.beginLogin();
    this.#replace(signedOut(configuration.isByCommand));
    notices.set("device", undefined);
    const waitMs = settings.timeoutMs;
    const waiting = { signal, reachMs: waitMs / 2 };
    const forget = async (lock: StoreLock) => {
      // A login that came since writes for itself.
      if (memory.peek().kind !== "none") return;
      // What another process saved last ends, too.
      const news = memory.store.news();
      if (news.kind === "tokens") ended.push(news.tokens);
      await memory.store.clear(lock);
    };
    let told: string | undefined;
    try {
      await memory.whileSaving(() => memory.store.withLock(waitMs, forget, waiting));
    } finally {
      // Also if the file cannot be written: what is still in it should be of no use to anybody.
      if (remote !== "keep") {
        // Loaded on demand: few processes log out.
        told = await import("../provider/sign_out.ts").then(
          async ({ endAtProvider, signOutText }) =>
            signOutText(await endAtProvider(configuration, ended, remote === "everywhere", signal)),
          () => "not at the provider: a file of this module could not be loaded",
        );
      }
    }
    if (memory.peek().kind !== "none") return;
    notices.set("stored", undefined);
    const place = kept === undefined ? "this session holds" : `this session and ${kept} hold`;
    notices.set("signed out", `signed out: ${place} no tokens any more${told ? `; ${told}` : ""}`);
  }

  /** Takes over the options of another configuration of the same provider, client and file. */
  replaceConfiguration(configuration: Configuration): void {
    this.#memory.replaceConfiguration(configuration);
  }

  /**
   * Ends the session's part in this process, because it is now another one. The store stays as it is,
   * and a refresh under way ends there: its refresh token may have been replaced.
   */
  detach(): void {
    this.#settled = this.beginLogin();
    this.#memory.leaveEnvironment();
  }

  /** A login or a logout: what was under way or known before counts no more. */
  #replace(next: Holding): Holding {
    this.#refreshing?.abort.abort();
    this.#refreshing = undefined;
    this.#cooldowns = NO_COOLDOWNS;
    const outdated = ["early", "lock", "stored", "environment", "signed out"];
    for (const cause of outdated) this.notices.set(cause, undefined);
    return this.#memory.become(next);
  }

  async #shareEarly(minValidMs: number, signal?: AbortSignal): Promise<Tokens> {
    const { world } = this;
    try {
      const tokens = await this.#share("early", signal);
      // A command that gives the same token again need not be run for each call.
      if (!isFresh(tokens, world)) this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      return tokens;
    } catch (error) {
      const left = tokensOf(this.#memory.peek());
      if (!left || !isGoodFor(left, world, Math.max(minValidMs, 1))) throw error;
      this.#cooldowns = afterEarlyFailure(this.#cooldowns, world);
      const why = error instanceof AuthError ? sentenceOf(error) : "Cannot refresh the session";
      this.notices.set("early", `the access token is still good, but: ${why}`);
      return left;
    }
  }

  #share(reason: Reason, signal?: AbortSignal): Promise<Tokens> {
    if (this.#refreshing) {
      this.#refreshing.waiting.push(signal);
      return this.#refreshing.result;
    }
    const abort = new AbortController();
    const waiting = [signal];
    const isWanted = () => waiting.some((each) => each?.aborted !== true);
    const result = this.#memory.renew(reason, { signal: abort.signal, isWanted });
    const refreshing = { result, abort, waiting };
    this.#refreshing = refreshing;
    const done = () => {
      if (this.#refreshing === refreshing) this.#refreshing = undefined;
    };
    // Every caller may have left: nothing may reject outside a caller's promise.
    result.then(done, done);
    return result;
  }
}
