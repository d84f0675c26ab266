import type { ProviderSettings } from "../provider/protocol.ts";
import type { SendResult } from "../provider/send.ts";
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
import type { Keeper, Step } from "./keeper.ts";
import { next, sameRefresh, type SessionEvent, tokensOf } from "./state.ts";
import type { Lock, Wait } from "./store.ts";

/** Why a refresh is made: the token expired, is about to expire, the user wants it, the API said 401. */
export type Reason = "due" | "early" | "forced" | "rejected";

/** A refresh in progress, and the callers waiting for it. */
export class Refresh {
  /** Aborted when a login replaces this refresh, or when every caller gave up before the request. */
  readonly abort = new AbortController();
  /** The response of the provider, once it was asked: a logout revokes the tokens it brings. */
  response: Promise<TokenResult> | undefined;
  readonly #result = Promise.withResolvers<Tokens>();
  readonly #callers: (AbortSignal | undefined)[] = [];

  constructor(readonly reason: Reason) {}

  get result(): Promise<Tokens> {
    return this.#result.promise;
  }

  /** Everything it remembers, for tests. */
  get memory(): unknown {
    const { abort, reason, response } = this;
    return [reason, abort.signal.aborted, response !== undefined, this.#callers];
  }

  get isWaitedFor(): boolean {
    return this.#callers.some((signal) => signal?.aborted !== true);
  }

  /** @param onGivenUp Called when every caller gave up before the provider was asked. */
  join(signal: AbortSignal | undefined, onGivenUp: () => void): void {
    this.#callers.push(signal);
    const stopListening = onAbort(signal, () => {
      // The provider may have replaced the refresh token, so its response is needed.
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

/** A decision to let a login or a logout that was called meanwhile go first. */
export const OVERTAKEN = Symbol("overtaken");

/** A session as a refresh uses it. */
export interface Refreshing {
  readonly keeper: Keeper;
  /** Updates the store, unless a login or a logout takes over. */
  update(
    wait: Wait,
    decide: (lock: Lock) => Promise<Step | typeof OVERTAKEN | undefined>,
  ): Promise<void>;
  /** Waits for the response to a refresh; `undefined` if a login or a logout comes first. */
  unlessOvertaken(response: Promise<TokenResult>): Promise<TokenResult | undefined>;
  /** Enters refreshed tokens into the state. */
  saved(event: SessionEvent): void;
  /** Whether no login or logout replaced this refresh. */
  isCurrent(refresh: Refresh): boolean;
  /** After a refresh for a 401: no other is made for these tokens, and for any tokens only after a pause. */
  noteReplacement(refresh: Refresh, held: Tokens): void;
}

/**
 * Makes one refresh for all callers in this process and, by the lock of the store, in all processes:
 * take the lock, look, send the request, save, use. A login or a logout that is called meanwhile
 * takes over the lock.
 */
export async function renew(session: Refreshing, refresh: Refresh): Promise<Tokens> {
  const { keeper } = session;
  const { notices, settings, world } = keeper;
  const { reason, abort: { signal } } = refresh;
  const first = renewable(session);
  const { options } = keeper.configuration;
  // Everything is loaded before the lock is taken and the request is sent.
  const { refusalError, requestRefresh, resolveProvider } = await import(
    "../provider/token_request.ts"
  );
  const provider = await resolveProvider("refresh the session", options, settings);
  const started = world.monotonic();
  const totalMs = Math.min(provider.timeoutMs, reason === "early" ? EARLY_DEADLINE_MS : Infinity);

  /** Valid tokens that another process saved instead of these. */
  const savedInsteadOf = (held: Tokens): boolean => {
    const plan = planFor(keeper.current, world, NO_COOLDOWNS, 0);
    return plan.kind === "use" && !sameAccess(plan.tokens, held);
  };
  // A user who asks for a refresh wants a newer token than the one another process just saved.
  const isServed = () => reason !== "forced" && savedInsteadOf(first);
  const isServedNow = () => {
    keeper.readStore();
    return isServed();
  };

  let held = first;
  let endMs = 0;
  let refusal: AuthError | undefined;

  // Repeated if another process writes without the lock, or if a login was canceled.
  async function decide(lock: Lock): Promise<Step | typeof OVERTAKEN | undefined> {
    if (refresh.response === undefined) {
      signal.throwIfAborted();
      if (isServed()) return undefined;
      held = renewable(session);
      goWithout(lock);
      // A process that was suspended while it waited still has a quarter of its time: if the response
      // comes too late, the refresh token is lost.
      endMs = Math.max(started + totalMs, world.monotonic() + totalMs / 4);
    }
    for (;;) {
      refresh.response ??= request(lock);
      const response = await session.unlessOvertaken(refresh.response);
      if (response === undefined) return OVERTAKEN;
      const { clockOffsetMs, tokens } = response;
      notices.learnClock(clockOffsetMs);
      if (tokens) return kept(tokens, lock);
      // A late holder of the lock may just have saved what it received for this refresh token.
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
      if (!endsSession(response, reason)) throw error;
      refusal = error;
      return ended(error, lock);
    }
  }

  /** Another process may never release the lock. Until it expires, the current token is used. */
  function goWithout({ problem, isOptional }: Lock): void {
    if (problem === undefined) return;
    if (!isOptional || isGoodFor(held, world, 0)) throw problem;
    const text = "another process has held the lock for too long";
    notices.set("LOCK_BUSY", text, "the session was refreshed without it");
  }

  /** A holder of the lock stops after half the time, so that others have their turn. */
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
        const learned = learnedFrom(variant, sent, provider);
        return { ...result, tokens: tokens && { ...tokens, learned } };
      });
    // It may be left to a logout, which waits for it only briefly.
    response.catch(() => {});
    return response;
  }

  /** Refreshed tokens are saved before anyone uses them. */
  function kept(fresh: Tokens, { isHeld: isAlone }: Lock): Step | undefined {
    notices.clear("EARLY_REFRESH_FAILED");
    const event = { kind: "refreshed", held, fresh, isAlone } as const;
    if (tokensOf(next(keeper.current, event)) !== fresh) return undefined;
    const saved = () => {
      noteReplacement();
      session.saved(event);
    };
    return { tokens: fresh, by: "refresh", saved };
  }

  /** Only for a response that a caller is still waiting for. */
  function noteReplacement(): void {
    if (refresh.isWaitedFor) session.noteReplacement(refresh, held);
  }

  /** A refresh token that was refused for good is forgotten here before it leaves the store. */
  function ended(error: AuthError, lock: Lock): Step | undefined {
    const code = error.code === "REFRESH_WINDOW_OVER" ? error.code : "REFRESH_REJECTED";
    const because = { code, problem: error.problem, fix: error.fix } as const;
    keeper.apply({ kind: "refused", held, because, isValid: isGoodFor(held, world, 0) });
    // Another process that holds the lock may still get a response, so it decides.
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

/** The tokens held, if they can be refreshed. */
function renewable({ keeper }: Refreshing): RenewableTokens {
  const now = keeper.current;
  if (now.kind !== "renewable") throw keeper.whyNot();
  return now.tokens;
}

/** The form of the request that the provider accepted, and what was learned before. */
function learnedFrom(
  variant: RefreshVariant,
  { learned }: RenewableTokens,
  { clientSecret }: ProviderSettings,
): Tokens["learned"] {
  // Without a secret there is no hash to omit, so nothing was learned.
  const isPlain = variant === "omit" && clientSecret === undefined;
  return { ...learned, refreshVariant: isPlain ? undefined : variant };
}

/** Whether a refusal ends the session. If the API rejected the access token too, any refusal does. */
function endsSession({ outcome }: SendResult, reason: Reason): boolean {
  return outcome.kind === "refused" &&
    (outcome.isFinal || (reason === "rejected" && outcome.code === "REFRESH_REJECTED"));
}
