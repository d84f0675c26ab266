import { AuthError, ProviderError, sentenceOf } from "../values/errors.ts";
import { checkProviderSettings } from "../provider/provider_settings.ts";
import { RefreshRests } from "./refresh_rests.ts";
import type { Secret } from "../values/secret.ts";
import type { SessionContext } from "./configuration.ts";
import type { RefreshVariant } from "../provider/token_request.ts";
import { TokenStore } from "./store.ts";
import { isGoodFor, issuedOffsetMs, sameAccess, type Tokens } from "../values/tokens.ts";

/** An early refresh must not keep a call waiting for long: its token is still good. */
const EARLY_DEADLINE_MS = 10_000;

/** Why a refresh is made: it is time, it is nearly time, the user wants it, the API rejected the token. */
type Reason = "due" | "early" | "forced" | "rejected";

/** Keeps the tokens of a session current: decides when to refresh, and lets all callers share one. */
export class TokenKeeper {
  readonly #context: SessionContext;
  readonly #store: TokenStore;
  readonly #rests: RefreshRests;
  #refreshing: Promise<Tokens> | undefined;
  #variant: RefreshVariant | undefined;
  /** The token that the API last answered 401 to. */
  #refused: Tokens | undefined;
  #turn = 0;
  #settled = 0;

  constructor(context: SessionContext) {
    this.#context = context;
    this.#store = new TokenStore(context);
    this.#rests = new RefreshRests(() => context.world.monotonic());
  }

  /** The tokens in memory; on first use those of the file or the environment. */
  peek(): Tokens | undefined {
    return this.#store.peek();
  }

  /** The tokens if they need no attention at all: the way of nearly every call. */
  fresh(minValidMs = 0): Tokens | undefined {
    const tokens = this.#store.peek();
    return tokens && this.#isFresh(tokens, minValidMs) ? tokens : undefined;
  }

  /**
   * Tokens that are good now, refreshed if it is time.
   *
   * @param minValidMs How long the access token must still be good.
   */
  async current(minValidMs = 0): Promise<Tokens> {
    const { world, warnings } = this.#context;
    const held = this.fresh(minValidMs);
    if (held) return held;
    // A refresh that is under way has looked at the file: the many that wait for it need not.
    const tokens = this.#refreshing ? this.#store.peek() : this.#store.catchUp();
    if (!tokens) throw this.#store.whyNone();
    if (this.#isFresh(tokens, minValidMs)) return tokens;
    const good = isGoodFor(tokens, world, 0);
    if (!tokens.refreshToken) {
      if (good) return tokens;
      throw this.#store.whyNotRefreshable(tokens);
    }
    if (good && isGoodFor(tokens, world, minValidMs) && this.#rests.afterFailure) return tokens;
    try {
      return await this.#share(good ? "early" : "due");
    } catch (error) {
      const left = this.#store.peek();
      if (!left || !isGoodFor(left, world, Math.max(minValidMs, 1))) throw error;
      this.#rests.noteFailure();
      const why = error instanceof AuthError ? sentenceOf(error) : "Cannot refresh the session";
      warnings.set("early", `the access token is still good, but: ${why}`);
      return left;
    }
  }

  /** Whether the API answered 401 to these, whatever their time. */
  isRefused(tokens: Tokens): boolean {
    return this.#refused !== undefined && sameAccess(tokens, this.#refused);
  }

  /** A refresh now, whatever time is left; joins one under way. */
  async refresh(): Promise<Tokens> {
    this.#store.catchUp();
    return await this.#share("forced");
  }

  /** Other tokens than those that the API just rejected; `undefined` if there are none to be had. */
  async replaceRejected(rejected: Tokens): Promise<Tokens | undefined> {
    const { world } = this.#context;
    this.#refused = rejected;
    if (!this.#refreshing) {
      const tokens = this.#store.catchUp();
      if (tokens && !sameAccess(tokens, rejected)) {
        return isGoodFor(tokens, world, 0) ? tokens : undefined;
      }
      if (!tokens?.refreshToken || !this.#rests.mayReplace(rejected.accessToken)) return undefined;
    }
    try {
      return await this.#share("rejected");
    } catch {
      return undefined;
    }
  }

  /** Says that the API took the tokens that replaced rejected ones. */
  replacementHelped(): void {
    this.#rests.noteHelp();
  }

  /** The place of a login, which begins now, in the order in which they began. */
  takeTurn(): number {
    return ++this.#turn;
  }

  /** Takes the tokens of a login in place of all others, unless a later login or a logout was first. */
  async adopt(tokens: Tokens, turn: number): Promise<void> {
    if (turn < this.#settled) return;
    this.#settled = turn;
    this.#reset();
    await this.#store.adopt(tokens);
  }

  /** Forgets the tokens in memory, in the process environment and in the file. */
  async clear(): Promise<void> {
    this.#settled = this.takeTurn();
    this.#reset();
    await this.#store.clear();
  }

  /** Mirrors the tokens anew, because the session's options are others now. */
  mirrorAnew(): void {
    this.#store.mirrorAnew();
  }

  /** Ends the session's life in this process, because it is now another one; the file stays. */
  leave(): void {
    this.#settled = this.takeTurn();
    this.#store.leave();
  }

  #reset(): void {
    this.#refreshing = undefined;
    this.#rests.end();
  }

  #share(reason: Reason): Promise<Tokens> {
    if (this.#refreshing === undefined) {
      const refreshing = this.#refreshOnce(reason);
      const done = () => {
        if (this.#refreshing === refreshing) this.#refreshing = undefined;
      };
      this.#refreshing = refreshing;
      // Every caller may have left: nothing may reject outside a caller's promise.
      refreshing.then(done, done);
    }
    return this.#refreshing;
  }

  async #refreshOnce(reason: Reason): Promise<Tokens> {
    const { options, settings, world } = this.#context;
    const store = this.#store;
    const era = store.era;
    const before = this.#refreshable(store.peek());
    // What only a refresh needs is no part of every start.
    const [{ requestRefresh }, { deliveryError }] = await Promise.all([
      import("../provider/token_request.ts"),
      import("../provider/errors.ts"),
    ]);
    const provider = await checkProviderSettings("refresh the session", options, settings);
    const longest = reason === "early" ? EARLY_DEADLINE_MS : Infinity;
    const totalMs = Math.min(provider.timeoutMs, longest);
    const started = world.monotonic();
    return await store.withLock(totalMs * 0.75, async (lock) => {
      if (era.aborted) return this.#winner();
      const held = this.#refreshable(store.catchUp());
      const taken = !sameAccess(held, before);
      if (taken && reason !== "forced" && this.#isFresh(held, 0)) return held;
      if (!lock.held && lock.reason === "busy") this.#goWithoutLock(held);
      const leftMs = totalMs - (world.monotonic() - started);
      // A holder gives up after half the deadline, so that those who wait have their turn.
      const budgetMs = lock.held ? Math.min(leftMs, totalMs / 2) : leftMs;
      const loginName = this.#context.loginName ?? settings.text("username");
      const { delivery, tokens, variant } = await requestRefresh(
        provider,
        held,
        loginName,
        this.#variant,
        world,
        budgetMs,
        era,
      );
      if (era.aborted) return this.#winner();
      this.#context.learnClock(delivery.clockOffsetMs ?? issuedOffsetMs(tokens));
      if (tokens) {
        this.#variant = variant;
        this.#context.warnings.delete("early");
        return await store.renew(held, tokens, lock.held);
      }
      const found = store.catchUp();
      if (found && !sameAccess(found, held) && this.#isFresh(found, 0)) return found;
      const error = deliveryError("refresh", delivery, world.now(), held.authenticatedAt);
      const { outcome } = delivery;
      if (outcome.kind === "refused" && outcome.definitive) {
        await store.giveUp(held, error, lock.held);
      }
      throw error;
    }).catch((error) => {
      // A login or a logout came in between: its outcome counts, whatever became of this one.
      if (era.aborted) return this.#winner();
      throw error;
    });
  }

  #refreshable(tokens: Tokens | undefined): Tokens & { readonly refreshToken: Secret } {
    if (!tokens) throw this.#store.whyNone();
    const { refreshToken } = tokens;
    if (!refreshToken) throw this.#store.whyNotRefreshable(tokens);
    return { ...tokens, refreshToken };
  }

  /** What a refresh that was overtaken by a login or a logout gives its callers. */
  #winner(): Tokens {
    const tokens = this.#store.peek();
    if (tokens === undefined) throw this.#store.whyNone();
    return tokens;
  }

  #goWithoutLock(held: Tokens): void {
    const text = "another process holds the lock beside the .env for too long";
    if (isGoodFor(held, this.#context.world, 0)) {
      throw new ProviderError(
        "TIMEOUT",
        `Cannot refresh the session: ${text}; try again, or end that process`,
      );
    }
    this.#context.warnings.set("lock", `${text}; the session was refreshed without it`);
  }

  #isFresh(tokens: Tokens, minValidMs: number): boolean {
    return isGoodFor(tokens, this.#context.world, Math.max(minValidMs, tokens.leadMs));
  }
}
