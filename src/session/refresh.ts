import type { ProviderSettings } from "../provider/protocol.ts";
import { checkProviderSettings } from "../provider/provider_settings.ts";
import { deliveryError, requestRefresh, type Waiters } from "../provider/token_request.ts";
import { type AuthError, ProviderError, sentenceOf } from "../errors/errors.ts";
import {
  isGoodFor,
  issuedOffsetMs,
  type RenewableTokens,
  sameAccess,
  type Tokens,
} from "../values/tokens.ts";
import { EARLY_DEADLINE_MS, GOOD_MS, NO_COOLDOWNS, planFor } from "./plan.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";
import type { SharedStore, StoreLock } from "./shared_store.ts";
import { afterRefresh, afterRefusal, type Holding, sameRefresh, tokensOf } from "./state.ts";

/** Why a refresh is made: it is time, it is nearly time, the user wants it, the API rejected the token. */
export type Reason = "due" | "early" | "forced" | "rejected";

/** What a refresh needs of the session that it renews. */
export interface RefreshingSession {
  readonly configuration: Configuration;
  readonly notices: Notices;
  readonly store: SharedStore;
  /** The state as memory knows it; at first use what the store or the process environment holds. */
  peek(): Holding;
  /** The state after a look at what other processes wrote. */
  catchUp(): Holding;
  /** Goes to another state. */
  change(transition: (now: Holding) => Holding): Holding;
  /**
   * Saves the state as it is when the save's turn comes.
   *
   * @param over Whether to write over what others wrote meanwhile.
   * @returns `false` if others wrote: their news are the state now.
   */
  saveNow(lock: StoreLock, over: boolean): Promise<boolean>;
  /**
   * Saves the state that a transition leads to, then goes there: nobody uses tokens that are not saved.
   *
   * @returns `false` if others wrote: their news are the state now.
   */
  saveThen(transition: (now: Holding) => Holding, lock: StoreLock): Promise<boolean>;
  /** The error of a call that finds no tokens. */
  whyNot(): AuthError;
}

/**
 * One refresh, for all callers in this process and, by the lock, for all processes on the store.
 *
 * @param waiters `signal`: aborted by a login or a logout, whose outcome counts, whatever becomes of this.
 */
export async function refreshOnce(
  session: RefreshingSession,
  reason: Reason,
  waiters: Waiters & { readonly signal: AbortSignal },
): Promise<Tokens> {
  const { signal } = waiters;
  const { options, settings, world } = session.configuration;
  try {
    const before = renewable(session, session.peek());
    const provider = await checkProviderSettings("refresh the session", options, settings);
    const totalMs = Math.min(provider.timeoutMs, reason === "early" ? EARLY_DEADLINE_MS : Infinity);
    const started = world.monotonic();
    const waitMs = totalMs * 0.75;
    // Whoever has a token that may still do does not wait for a store that is away.
    const reachMs = reason === "due" || reason === "forced" ? waitMs : GOOD_MS;
    const saved = () => reason === "forced" ? undefined : savedElsewhere(session, before);
    const isServed = () => {
      session.catchUp();
      return saved() !== undefined;
    };
    return await session.store.withLock(
      waitMs,
      async (lock) => {
        try {
          const holding = session.catchUp();
          signal.throwIfAborted();
          const found = saved();
          if (found) return found;
          const held = renewable(session, holding);
          if (!lock.held && lock.reason === "busy") goWithoutLock(session, held);
          // Others may have refreshed meanwhile: a second one could end the session for all.
          if (lock.reason === "away" && session.store.problem) throw session.store.problem;
          const leftMs = () => totalMs - (world.monotonic() - started);
          // A holder gives up after half the deadline, so that those who wait have their turn.
          const budgetMs = () => lock.held ? Math.min(leftMs(), totalMs / 2) : leftMs();
          return await askProvider(session, held, { provider, reason, lock, budgetMs, waiters });
        } finally {
          // The lock goes to another process next: what it finds must not be older than this login or logout.
          if (signal.aborted && lock.held) await session.saveNow(lock, true);
        }
      },
      { signal, reachMs, isServed },
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    const winner = tokensOf(session.peek());
    if (winner === undefined) throw session.whyNot();
    return winner;
  }
}

/** How the provider is asked. */
interface Inquiry {
  readonly provider: ProviderSettings;
  readonly reason: Reason;
  readonly lock: StoreLock;
  readonly waiters: Waiters & { readonly signal: AbortSignal };
  /** How long it may still take, in milliseconds. */
  budgetMs(): number;
}

/** Asks until there are new tokens, also with a refresh token that another process saved meanwhile. */
async function askProvider(
  session: RefreshingSession,
  held: RenewableTokens,
  inquiry: Inquiry,
): Promise<Tokens> {
  const { provider, reason, lock, waiters, budgetMs } = inquiry;
  const { settings, world } = session.configuration;
  const { loginName = settings.text("username"), refreshVariant: known } = held.learned;
  const { delivery, tokens, variant } = await requestRefresh(
    provider,
    held,
    loginName,
    known,
    world,
    budgetMs(),
    waiters,
  );
  waiters.signal.throwIfAborted();
  session.notices.learnClock(delivery.clockOffsetMs ?? issuedOffsetMs(tokens));
  if (tokens) {
    const { clockOffsetMs } = delivery;
    // Without a secret there is no hash to leave out, and so nothing to learn.
    const isPlain = variant === "omit" && provider.clientSecret === undefined;
    const refreshVariant = isPlain ? undefined : variant;
    const learned = { ...held.learned, clockOffsetMs, refreshVariant };
    return await renew(session, held, { ...tokens, learned }, lock);
  }
  // A holder that was late may have saved just now what this refresh token was given for.
  await session.store.sync?.(false);
  const found = session.catchUp();
  const saved = savedElsewhere(session, held);
  if (saved) return saved;
  if (found.kind === "renewable" && !sameRefresh(found.tokens, held) && budgetMs() > 0) {
    return await askProvider(session, found.tokens, inquiry);
  }
  const error = deliveryError("refresh", delivery, world.now(), held.authenticatedAt);
  const { outcome } = delivery;
  if (outcome.kind === "refused" && isFinal(outcome, reason)) {
    await giveUp(session, held, error, lock);
  }
  throw error;
}

/** Whether a refusal ends the session. Where the API rejected the access token too, any refusal of the refresh token does. */
function isFinal(refused: { code: string; isFinal: boolean }, reason: Reason): boolean {
  return refused.isFinal || (reason === "rejected" && refused.code === "REFRESH_REJECTED");
}

/** Other tokens than these, which another process saved and which can be used as they are. */
function savedElsewhere(session: RefreshingSession, held: Tokens): Tokens | undefined {
  const plan = planFor(session.peek(), session.configuration.world, NO_COOLDOWNS, 0);
  return plan.kind === "use" && !sameAccess(plan.tokens, held) ? plan.tokens : undefined;
}

/** The tokens held, if they can be refreshed. */
function renewable(session: RefreshingSession, holding: Holding): RenewableTokens {
  if (holding.kind !== "renewable") throw session.whyNot();
  return holding.tokens;
}

/** Takes over refreshed tokens, and saves them before anybody uses them. */
async function renew(
  session: RefreshingSession,
  held: RenewableTokens,
  fresh: Tokens,
  lock: StoreLock,
): Promise<Tokens> {
  session.notices.set("early", undefined);
  session.catchUp();
  const next = (now: Holding) => afterRefresh(now, held, fresh, lock.held);
  while (tokensOf(next(session.peek())) === fresh) {
    if (await session.saveThen(next, lock)) break;
  }
  const tokens = tokensOf(session.peek());
  if (tokens === undefined) throw session.whyNot();
  return tokens;
}

/**
 * The refresh token will never work again. Without the lock that another process holds the store stays
 * as it is: that process may have got an answer that this one was too late for.
 */
async function giveUp(
  session: RefreshingSession,
  held: RenewableTokens,
  error: AuthError,
  lock: StoreLock,
): Promise<void> {
  const code = error.code === "REFRESH_WINDOW_OVER" ? error.code : "REFRESH_REJECTED";
  const because = { code, sentence: sentenceOf(error) } as const;
  const isGood = isGoodFor(held, session.configuration.world, 0);
  session.change((now) => afterRefusal(now, held, because, isGood));
  if (lock.held || lock.reason !== "busy") await session.saveNow(lock, false);
}

/** Another process holds the lock for too long: a token that is still good is used as it is. */
function goWithoutLock(session: RefreshingSession, held: Tokens): void {
  const place = session.configuration.isInStore ? "in the store" : "beside the .env";
  const text = `another process holds the lock ${place} for too long`;
  if (isGoodFor(held, session.configuration.world, 0)) {
    throw new ProviderError(
      "TIMEOUT",
      `Cannot refresh the session: ${text}; try again, or end that process`,
    );
  }
  session.notices.set("lock", `${text}; the session was refreshed without it`);
}
