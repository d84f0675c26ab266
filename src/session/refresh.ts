import type { ProviderSettings } from "../provider/protocol.ts";
import type { TokenResult } from "../provider/token_request.ts";
import type { AuthError } from "../errors/errors.ts";
import { onAbort } from "../platform/abort.ts";
import {
  isGoodFor,
  type RefreshVariant,
  type RenewableTokens,
  sameAccess,
  type Tokens,
} from "../provider/tokens.ts";
import { EARLY_DEADLINE_MS, NO_COOLDOWNS, planFor } from "./plan.ts";
import type { Keeper, PlannedWrite } from "./keeper.ts";
import { next, sameRefresh, type SessionEvent, tokensOf } from "./state.ts";
import type { Lock, WaitOptions } from "./store.ts";

/**
 * The reason for a refresh: the token expired (`due`) or is about to expire (`early`), the user
 * asked for it (`forced`), or the API responded with 401 (`rejected`).
 */
export type Reason = "due" | "early" | "forced" | "rejected";

/** A refresh in progress, and the callers waiting for it. */
export class Refresh {
  /**
   * Aborted when a login replaces this refresh, or when every caller gives up before the request is
   * sent.
   */
  readonly abort = new AbortController();
  /**
   * The provider's response; `undefined` until the request is sent. A logout revokes the tokens in
   * it.
   */
  response: Promise<TokenResult> | undefined;
  /** Whether this refresh obtained the tokens. If not, another process or a login did. */
  isOwn = false;
  readonly #result = Promise.withResolvers<Tokens>();
  readonly #callers: (AbortSignal | undefined)[] = [];

  constructor(readonly reason: Reason) {}

  get result(): Promise<Tokens> {
    return this.#result.promise;
  }

  /** The complete state, for tests. */
  get memory(): unknown {
    const { abort, reason, response } = this;
    return [reason, abort.signal.aborted, response !== undefined, this.#callers];
  }

  get isWaitedFor(): boolean {
    return this.#callers.some((signal) => signal?.aborted !== true);
  }

  /** @param onGivenUp Called if every caller gives up before the request is sent. */
  join(signal: AbortSignal | undefined, onGivenUp: () => void): void {
    this.#callers.push(signal);
    const stopListening = onAbort(signal, () => {
      // Once the request has been sent, the response is needed, because the provider may have
      // replaced the refresh token.
      if (this.response !== undefined || this.isWaitedFor) return;
      onGivenUp();
      this.abort.abort();
    });
    this.result.then(stopListening, stopListening);
  }

  settle(work: Promise<Tokens>): void {
    this.#result.resolve(work);
  }
}

/** The decision to wait, because a login or a logout was called in the meantime and goes first. */
export const OVERTAKEN = Symbol("overtaken");

/** The parts of a session that a refresh uses. */
export interface Refreshing {
  readonly keeper: Keeper;
  /** Updates the store, unless a login or a logout takes over. */
  update(
    wait: WaitOptions,
    decide: (lock: Lock) => Promise<PlannedWrite | typeof OVERTAKEN | undefined>,
  ): Promise<void>;
  /** Waits for the response to a refresh; `undefined` if a login or a logout comes first. */
  unlessOvertaken(response: Promise<TokenResult>): Promise<TokenResult | undefined>;
  /** Updates the state with refreshed tokens. */
  saved(event: SessionEvent): void;
  /** Whether no login or logout replaced this refresh. */
  isCurrent(refresh: Refresh): boolean;
  /**
   * Records that tokens were refreshed after a 401. The same tokens are not refreshed again. After
   * a 401, other tokens are refreshed only if a pause is over.
   */
  noteReplacement(refresh: Refresh, held: Tokens): void;
}

/**
 * Refreshes once for all callers in this process and, by means of the store's lock, in all other
 * processes. Takes the lock, reads the store, sends the request, and saves the tokens before they
 * are used. A login or a logout that is called in the meantime takes over the lock.
 */
export async function renew(session: Refreshing, refresh: Refresh): Promise<Tokens> {
  const { keeper } = session;
  const { notices, settings, world } = keeper;
  const { reason, abort: { signal } } = refresh;
  const first = renewable(session);
  const { options } = keeper.configuration;
  // All code is loaded before the lock is taken and the request is sent.
  const { refusalError, requestRefresh, resolveProvider } = await import(
    "../provider/token_request.ts"
  );
  const provider = await resolveProvider("refresh", options, settings);
  const started = world.monotonic();
  const totalMs = Math.min(provider.timeoutMs, reason === "early" ? EARLY_DEADLINE_MS : Infinity);

  /** Whether another process saved valid tokens that replace these. */
  const savedInsteadOf = (held: Tokens): boolean => {
    const plan = planFor(keeper.current, world, NO_COOLDOWNS, 0);
    return plan.kind === "use" && !sameAccess(plan.tokens, held);
  };
  // A user who calls refresh() wants a newer token than the one that another process just saved.
  const isServed = () => reason !== "forced" && savedInsteadOf(first);
  const isServedNow = () => {
    keeper.readStore();
    return isServed();
  };

  let held = first;
  let endMs = 0;
  let refusal: AuthError | undefined;

  // Called again if another process writes without the lock, or if a login was canceled.
  async function decide(lock: Lock): Promise<PlannedWrite | typeof OVERTAKEN | undefined> {
    if (refresh.response === undefined) {
      signal.throwIfAborted();
      if (isServed()) return undefined;
      held = renewable(session);
      goWithout(lock);
      // A process that was suspended while it waited still gets a quarter of the time. If it gave
      // up before the response arrived, the new refresh token would be lost.
      endMs = Math.max(started + totalMs, world.monotonic() + totalMs / 4);
    }
    for (;;) {
      refresh.response ??= request(lock);
      const response = await session.unlessOvertaken(refresh.response);
      if (response === undefined) return OVERTAKEN;
      const { clockOffsetMs, tokens } = response;
      notices.learnClock(clockOffsetMs);
      if (tokens) return kept(tokens, lock);
      // A late holder of the lock may just have saved the tokens that it received for this refresh
      // token.
      await keeper.lookAgain();
      refusal = undefined;
      if (savedInsteadOf(held)) return undefined;
      const now = keeper.current;
      if (now.kind === "renewable" && !sameRefresh(now.tokens, held) && leftMs(lock) > 0) {
        held = now.tokens;
        refresh.response = undefined;
        continue;
      }
      noteReplacement();
      const error = refusalError("refresh", response, held);
      // The provider's other refusals may pass.
      if (response.outcome.kind !== "refused" || !response.outcome.isFinal) throw error;
      refusal = error;
      return ended(error, lock);
    }
  }

  /** Continues without the lock if possible, because another process may never release it. */
  function goWithout({ problem, isOptional }: Lock): void {
    if (problem === undefined) return;
    if (!isOptional || isGoodFor(held, world, 0)) throw problem;
    const text = "another process held the lock for too long";
    notices.set("LOCK_BUSY", text, "the session was refreshed without the lock");
  }

  /** The holder of the lock stops after half the time, so that other processes get their turn. */
  function leftMs(lock: Lock): number {
    const ms = endMs - world.monotonic();
    return lock.isHeld ? Math.min(ms, totalMs / 2) : ms;
  }

  function request(lock: Lock): Promise<TokenResult> {
    const waiters = { signal, isWanted: () => refresh.isWaitedFor };
    const username = settings.text("username");
    const sent = held;
    const response = requestRefresh(provider, sent, username, world, leftMs(lock), waiters)
      .then(({ variant, ...result }) => {
        const { tokens } = result;
        if (tokens === undefined) return result;
        return {
          ...result,
          tokens: { ...tokens, learned: learnedFrom(variant, tokens, provider) },
        };
      });
    // A rejection is handled here, because a logout may take over the response and stop waiting for
    // it.
    response.catch(() => {});
    return response;
  }

  /** Refreshed tokens are saved before anyone uses them. */
  function kept(fresh: Tokens, { isHeld: isAlone }: Lock): PlannedWrite | undefined {
    notices.clear("EARLY_REFRESH_FAILED");
    const event = { kind: "refreshed", held, fresh, isAlone } as const;
    if (tokensOf(next(keeper.current, event)) !== fresh) return undefined;
    const saved = () => {
      refresh.isOwn = true;
      noteReplacement();
      session.saved(event);
    };
    return { tokens: fresh, by: "refresh", saved };
  }

  /** A pause starts only if a caller is still waiting for the response. */
  function noteReplacement(): void {
    if (refresh.isWaitedFor) session.noteReplacement(refresh, held);
  }

  /**
   * Removes a refresh token that was refused for good, first from memory and then from the store.
   */
  function ended(error: AuthError, lock: Lock): PlannedWrite | undefined {
    const code = error.code === "REFRESH_WINDOW_OVER" ? error.code : "REFRESH_REJECTED";
    const because = { code, problem: error.problem, fix: error.fix } as const;
    keeper.apply({ kind: "refused", held, because, isValid: isGoodFor(held, world, 0) });
    // Without the lock, the store is not changed, because the process that holds the lock may still
    // receive tokens.
    return lock.problem ? undefined : { tokens: tokensOf(keeper.current), by: "refusal" };
  }

  try {
    // A token that the API rejected is as useless as an expired one.
    const isNeeded = reason !== "early";
    const wait = { ...keeper.wait(isNeeded, signal, totalMs), isServed: isServedNow };
    await session.update(wait, decide);
    if (session.isCurrent(refresh) && refusal) throw refusal;
  } catch (error) {
    if (session.isCurrent(refresh) || !refresh.isWaitedFor) throw error;
  }
  // A login or a logout wins, regardless of the outcome of this refresh.
  const tokens = tokensOf(keeper.current);
  if (tokens === undefined) throw keeper.whyNot();
  return tokens;
}

/** Returns the tokens of the session if they can be refreshed. */
function renewable({ keeper }: Refreshing): RenewableTokens {
  const now = keeper.current;
  if (now.kind !== "renewable") throw keeper.whyNot();
  return now.tokens;
}

/** Records which form of the request the provider accepted, and keeps what was learned before. */
function learnedFrom(
  variant: RefreshVariant,
  { learned }: Tokens,
  { clientSecret }: ProviderSettings,
): Tokens["learned"] {
  // A client without a secret never sends a hash, so nothing was learned.
  const isPlain = variant === "omit" && clientSecret === undefined;
  return { ...learned, refreshVariant: isPlain ? undefined : variant };
}
