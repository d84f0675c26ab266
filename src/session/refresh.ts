import { type AuthError, SessionExpiredError } from "../errors/errors.ts";
import type { Hold } from "../provider/hold.ts";
import {
  isGoodFor,
  type RefreshVariant,
  type RenewableTokens,
  sameAccess,
  type Tokens,
} from "../provider/tokens.ts";
import type { Memory } from "./memory.ts";
import { EARLY_DEADLINE_MS, LOCK_WAIT_SHARE, NO_COOLDOWNS, planFor } from "./plan.ts";
import type { Queue } from "./queue.ts";
import { SharedWork } from "./shared_work.ts";
import { isOver, sameRefresh, tokensOf } from "./state.ts";
import type { Lines, Lock, StoredSession, Vault } from "./vaults/vault.ts";
import { areOfTwoAccounts } from "./whose.ts";

/**
 * The reason for a refresh: the token expired (`due`) or is about to expire (`early`), the user
 * asked for it (`forced`), or the API responded with 401 (`rejected`).
 */
export type Reason = "due" | "early" | "forced" | "rejected";

/**
 * A refresh in progress, and the callers waiting for it. Once the refresh has sent a request,
 * callers that give up no longer cancel it.
 */
export class Refresh extends SharedWork<Tokens> {
  /**
   * @param noteReplaced Called with the replaced tokens when the provider responds, if a caller is
   * still waiting.
   */
  constructor(readonly reason: Reason, private readonly noteReplaced: (held: Tokens) => void) {
    super();
  }

  /**
   * Call this when the provider responds. Calls `noteReplaced`, unless every caller has given up.
   */
  noteResponse(held: Tokens): void {
    if (this.isWaitedFor) this.noteReplaced(held);
  }
}

/** The parts of a session that a refresh uses. */
export interface Heart extends StoredSession {
  readonly memory: Memory;
  readonly vault: Vault;
  readonly queue: Queue;
  readonly hold: Hold;
}

/**
 * Refreshes once for all callers in this process and, by means of the vault's lock, in all other
 * processes.
 */
export async function renew(
  { memory, vault, queue, hold, configuration: { settings, world } }: Heart,
  refresh: Refresh,
): Promise<Tokens> {
  const { reason, signal } = refresh;
  const first = renewable(memory);
  const started = world.monotonic();
  using _turn = await queue.turn(signal);

  // All code is loaded before the lock is taken and the request is sent, so that a failed import
  // cannot stop the refresh halfway.
  const { refusalError, requestRefresh, resolveProvider } = await import(
    "../provider/token_request.ts"
  );
  const provider = await resolveProvider("refresh", settings);
  const totalMs = Math.min(provider.timeoutMs, reason === "early" ? EARLY_DEADLINE_MS : Infinity);

  /** Whether the session now has valid tokens that replace `held`. */
  const replaced = (held: Tokens, isSame = sameAccess) => {
    const plan = planFor(memory.current, world, NO_COOLDOWNS, 0);
    return plan.kind === "use" && !isSame(plan.tokens, held);
  };
  /** Adopts what another process saved. Returns whether that makes this refresh superfluous. */
  const isServedBy = (lines: Lines | undefined) => {
    memory.adopt(lines);
    // A user who calls refresh() wants a newer token than the one that another process just saved,
    // so only the tokens of a new login make that refresh superfluous.
    return replaced(first, reason === "forced" ? sameLogin : sameAccess);
  };
  if (isServedBy(vault.peek())) return usable(memory);

  await using lock = await vault.lock({
    ms: totalMs * LOCK_WAIT_SHARE,
    signal,
    isServedBy,
  });
  signal.throwIfAborted();
  if (isServedBy(lock.now)) return usable(memory);
  let held = renewable(memory);
  // If the access token has expired, the refresh proceeds without an optional lock, because another
  // process may never release that lock.
  if (lock.problem && (!lock.isOptional || isGoodFor(held, world, 0))) throw lock.problem;

  // A process that was suspended while it waited still gets a quarter of the time limit. If it gave
  // up before the response arrived, the new refresh token would be lost.
  const now = world.monotonic();
  const endMs = Math.max(started + totalMs, now + totalMs / 4);
  // The holder of the lock stops after half the time limit, so that other processes get their turn.
  const lastMs = lock.isHeld ? Math.min(endMs, now + totalMs / 2) : endMs;
  const leftMs = () => lastMs - world.monotonic();
  const options = { signal, hold, isWanted: () => refresh.isWaitedFor };
  const username = settings.text("username");
  refresh.commit();
  for (;;) {
    const response = await requestRefresh(provider, held, username, world, leftMs(), options);
    const { outcome, tokens, variant } = response;
    memory.learnClock(response.clockOffsetMs);
    if (tokens) {
      refresh.noteResponse(held);
      if (areOfTwoAccounts(held.claims, tokens.claims)) {
        return await end(memory, lock, held, mixedAccounts(), false);
      }
      const learned = learnedFrom(variant, tokens, provider.clientSecret !== undefined);
      await memory.save(lock, { kind: "refreshed", tokens: { ...tokens, learned } });
      return usable(memory);
    }
    // Another process whose lock expired may have used this refresh token and just saved the new
    // tokens. The provider then refuses the old one.
    memory.adopt(await lock.read());
    if (replaced(held)) return usable(memory);
    const { current } = memory;
    if (current.kind === "renewable" && !sameRefresh(current.tokens, held)) {
      held = current.tokens;
      continue;
    }
    refresh.noteResponse(held);
    const error = refusalError("refresh", response, held);
    // A refusal that is not final may be temporary, so the session is kept.
    if (outcome.kind !== "refused" || !outcome.isFinal) throw error;
    return await end(memory, lock, held, error, isGoodFor(held, world, 0));
  }
}

/**
 * Ends the session, whose refresh token is useless, unless another process has meanwhile saved
 * other tokens.
 *
 * @param isValid Whether the access token is still valid.
 * @throws {AuthError} `error`, if the session is over.
 */
async function end(
  memory: Memory,
  lock: Lock,
  held: RenewableTokens,
  error: AuthError,
  isValid: boolean,
): Promise<Tokens> {
  const code = error.code === "REFRESH_WINDOW_OVER" ? error.code : "REFRESH_REJECTED";
  const because = { code, problem: error.problem, fix: error.fix } as const;
  await memory.save(lock, { kind: "refused", held, because, isValid });
  if (isOver(memory.current)) throw error;
  return usable(memory);
}

/** Makes the error for a stored refresh token that did not belong to the stored access token. */
function mixedAccounts(): SessionExpiredError {
  return new SessionExpiredError(
    "REFRESH_REJECTED",
    "Cannot refresh the session: its refresh token and its access token belong to different accounts",
    ["run ", { call: "login" }],
  );
}

/** Returns the tokens of the session if they can be refreshed. */
function renewable(memory: Memory): RenewableTokens {
  const now = memory.current;
  if (now.kind !== "renewable") throw memory.whyNot();
  return now.tokens;
}

/** Returns the tokens of the session. */
function usable(memory: Memory): Tokens {
  const tokens = tokensOf(memory.current);
  if (tokens === undefined) throw memory.whyNot();
  return tokens;
}

function sameLogin(a: Tokens, b: Tokens): boolean {
  return a.authenticatedAt === b.authenticatedAt;
}

/** Records which form of the request the provider accepted, and keeps what was learned before. */
function learnedFrom(
  variant: RefreshVariant,
  { learned }: Tokens,
  hasSecret: boolean,
): Tokens["learned"] {
  // A client without a secret never sends a hash, so nothing was learned.
  return { ...learned, refreshVariant: variant === "omit" && !hasSecret ? undefined : variant };
}
