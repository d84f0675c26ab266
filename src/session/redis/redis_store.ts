import { ConfigError, ProviderError } from "../../errors/errors.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { Secret } from "../../platform/secret.ts";
import { linesOf, readStored } from "../stored_tokens.ts";
import {
  accountOf,
  makeTokens,
  REFRESH_DAYS,
  sameAccess,
  type Tokens,
} from "../../provider/tokens.ts";
import type { Configuration } from "../configuration.ts";
import type { Notices } from "../notices.ts";
import {
  type Decide,
  type Lock,
  MAX_ROUNDS,
  NOTHING,
  type Place,
  type Stored,
  type TokenStore,
  type Updated,
  type Wait,
  type Write,
} from "../store.ts";
import { Connection, type Listening, TooLate, Unreachable } from "./connection.ts";
import {
  type Answer,
  channelOf,
  exchange,
  type Kept,
  type Known,
  type Request,
} from "./store_script.ts";
import { Seal } from "./sealing.ts";
import { type StoreAddress, storeAddress } from "./store_address.ts";

/** Time limit of one response: a new connection may find another server. */
const ANSWER_MS = 2_000;
/** How long a call with a valid token waits for the store. */
const BRIEF_MS = 250;
/** The share of its time that a holder of the lock tries again to save. */
const SAVE_SHARE = 0.25;
/** The message that a lock is free can get lost with a connection: so often one looks all the same. */
const LOOK_MS = 2_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** What a probe leaves if its process ends in the middle of it is gone then. */
const PROBE_MS = 1_000;

const NOTHING_KNOWN: Known = { number: 0, id: "", data: "", replacesUpTo: -1 };

/** What the store held when it was last asked, or holds as soon as it is asked again. */
interface Latest extends Known {
  readonly stored: Stored;
}

/** A lock, with the number of what its holder writes first. */
interface NumberedLock extends Lock {
  readonly number: number;
  /** When it ends in the store, by the monotonic clock, if it is held. */
  readonly endsAt: number;
}

/**
 * A Redis or Valkey server as the place that a session shares with other machines. This process keeps
 * the latest that it knows of, and brings it along whenever it asks: so a server that lost its data
 * has it again, and what could not be saved is saved then.
 */
export class RedisStore implements TokenStore {
  readonly place: Place;
  readonly #address: StoreAddress;
  readonly #connection: Connection;
  readonly #seal: Seal | undefined;
  readonly #configuration: () => Configuration;
  readonly #notices: Notices;
  #known: Latest = { ...NOTHING_KNOWN, stored: NOTHING };
  /** The id of what the store held when it was last asked. */
  #keptId = "";
  #looking: Promise<Answer> | undefined;

  private constructor(
    address: StoreAddress,
    connection: Connection,
    seal: Seal | undefined,
    configuration: () => Configuration,
    notices: Notices,
  ) {
    this.place = { store: address.host };
    this.#address = address;
    this.#connection = connection;
    this.#seal = seal;
    this.#configuration = configuration;
    this.#notices = notices;
  }

  /** @throws {ConfigError} `INVALID_SETTING`, `PERMISSION`, `PACKAGE_UNAVAILABLE`: nothing was sent. */
  static async open(configuration: () => Configuration, notices: Notices): Promise<RedisStore> {
    const address = storeAddress(configuration());
    const seal = address.key && await Seal.with(address.key);
    if (address.isOpen) {
      notices.set(
        "STORE_NOT_ENCRYPTED",
        `the tokens are not encrypted in the store at ${address.host}`,
        "set AUTH_STORE_KEY to what platform-auth store-key prints, on all machines",
      );
    } else notices.clear("STORE_NOT_ENCRYPTED");
    const connection = await Connection.to(address.url, configuration().world.timeout);
    return new RedisStore(address, connection, seal, configuration, notices);
  }

  peek(): Stored {
    return this.#known.stored;
  }

  async look({ isNeeded, ms, signal }: Wait): Promise<void> {
    const answer = await this.#look(isNeeded ? ms : BRIEF_MS, signal);
    if (isNeeded && answer instanceof ConfigError) throw answer;
  }

  async update(wait: Wait, decide: Decide): Promise<Updated> {
    // The lock ends before the wait for it does, so that the next one gets it even if its holder was killed.
    const owner = { owner: crypto.randomUUID(), lockMs: Math.ceil(wait.ms * 0.8) };
    const lock = await this.#acquire(owner, wait);
    // A store that takes no writes gives no lock, but shows what a logout ends.
    if (lock.number === 0) await this.#look(BRIEF_MS, wait.signal);
    try {
      for (let round = 1;; round++) {
        const { number, stored } = this.#known;
        const write = await decide(stored, lock);
        if (write === undefined) return { stored };
        const updated = await this.#write(write, number, lock);
        const isDone = updated.problem || updated.stored.tokens === write.tokens;
        if (isDone || round === MAX_ROUNDS) return updated;
      }
    } finally {
      if (lock.isHeld) await this.#release(owner);
    }
  }

  /** A portal string may belong to anyone. Names may be aliases, `sub` is not. */
  refusal({ claims, source }: Tokens): ConfigError | undefined {
    const held = this.peek().tokens?.claims;
    const isOther = source === "portal" && held?.sub !== undefined && claims.sub !== undefined &&
      held.sub !== claims.sub;
    if (!isOther) return undefined;
    return new ConfigError(
      "INVALID_SETTING",
      `Cannot log in: the store of AUTH_STORE keeps the session of ${accountOf(held)}, and this ` +
        "portal string belongs to another account",
      [
        "run ",
        { call: "logout" },
        " first, or name another entry behind the # of AUTH_STORE (store)",
      ],
    );
  }

  /**
   * Looks, and then takes a lock and gives it back: a store that takes no writes allows a look. The
   * lock is not the session's, so that no one waits for it.
   */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.#configuration().settings.timeoutMs * SAVE_SHARE;
    await this.look({ ms, isNeeded: true, signal });
    const name = `${this.#address.name}:probe`;
    const request = { known: NOTHING_KNOWN, keepMs: PROBE_MS, owner: crypto.randomUUID() };
    const answer = await this.#untilReached(
      async (limitMs) => {
        const all = { ...request, lockMs: PROBE_MS };
        const answer = await exchange(this.#connection, name, all, limitMs);
        await exchange(this.#connection, name, { ...request, lockMs: 0 }, limitMs);
        return answer;
      },
      ms,
      signal,
    );
    if (answer instanceof ConfigError) throw answer;
  }

  /** One question for all calls of this moment, so that no caller's signal ends it. */
  #look(waitMs: number, signal: AbortSignal | undefined): Promise<Answer | ConfigError> {
    const ask = (limitMs: number) =>
      this.#looking ??= this.#ask({}, limitMs).finally(() => this.#looking = undefined);
    return this.#untilReached(ask, waitMs, signal);
  }

  /**
   * Makes this the latest, unless something later was written.
   *
   * @param seen The number of what it was decided for.
   */
  async #write({ tokens, by }: Write, seen: number, lock: NumberedLock): Promise<Updated> {
    // A refusal gets the lowest number, so that the number of a late holder, who may have got valid
    // tokens, is higher.
    const number = by === "refusal" ? seen + 1 : this.#nextNumber(lock);
    const replacesUpTo = by === "user" ? number - 1 : by === "refusal" ? seen : seen + 1;
    if (this.#known.number > replacesUpTo) return { stored: this.peek() };
    this.#known = { ...await this.#sealed(tokens, number), replacesUpTo };
    const { settings, world } = this.#configuration();
    // No one else may write while the lock is held, so this is tried for longer.
    const usualMs = lock.isHeld ? settings.timeoutMs * SAVE_SHARE : ANSWER_MS;
    // Once the lock has ended, the next holder uses the refresh token that was replaced.
    const lockMs = by === "refresh" ? lock.endsAt - world.monotonic() : 0;
    const answer = await this.#untilReached((ms) => this.#ask({}, ms), Math.max(usualMs, lockMs));
    const stored = this.peek();
    return answer instanceof ConfigError ? { stored, problem: answer } : { stored };
  }

  /** The number of a write, later than all that is known. */
  #nextNumber({ number }: NumberedLock): number {
    // Without a number from the store, the time. The store takes whole numbers only.
    const given = number || Math.ceil(this.#configuration().world.now() * 1_000);
    return Math.max(given, this.#known.number + 1);
  }

  async #acquire(
    owner: Pick<Request, "owner" | "lockMs">,
    { ms: waitMs, isNeeded, signal, isServed }: Wait,
  ): Promise<NumberedLock> {
    const { settings, world } = this.#configuration();
    const started = world.monotonic();
    const leftMs = () => waitMs - (world.monotonic() - started);
    const reachMs = isNeeded ? settings.timeoutMs / 2 : BRIEF_MS;
    let listening: Listening | undefined;
    try {
      for (;;) {
        // From before the question, so that no message is missed while it is asked.
        const heard = listening?.next();
        // The last question has time for a response, too: otherwise a busy lock looks like an
        // unreachable store. The signal does not end it: a lock that was given unheard would stay.
        const limitMs = Math.min(reachMs, Math.max(leftMs(), BRIEF_MS));
        const ask = (ms: number) => this.#ask(owner, ms);
        const answer = await this.#untilReached(ask, limitMs, signal);
        const mayHold = answer instanceof ConfigError || answer.isHolder;
        if (mayHold && signal?.aborted) await this.#release(owner);
        signal?.throwIfAborted();
        if (answer instanceof ConfigError) {
          return { isHeld: false, problem: answer, number: 0, endsAt: 0 };
        }
        const { number } = answer;
        if (answer.isHolder) {
          return { isHeld: true, number, endsAt: world.monotonic() + (owner.lockMs ?? 0) };
        }
        if (leftMs() <= 0 || isServed?.()) {
          return { isHeld: false, problem: lockBusy(), number, endsAt: 0 };
        }
        if (heard === undefined) {
          // It may have been freed before this process listened.
          listening = await this.#listen(signal);
        } else {
          await this.#pause(heard, Math.min(LOOK_MS, answer.freeInMs + 1, leftMs()), signal);
        }
      }
    } finally {
      listening?.[Symbol.dispose]();
    }
  }

  /** If that fails the lock ends by itself. */
  async #release(owner: Pick<Request, "owner">): Promise<void> {
    await this.#ask({ ...owner, lockMs: 0 }, ANSWER_MS).catch(() => {});
  }

  async #listen(signal: AbortSignal | undefined): Promise<Listening> {
    const channel = channelOf(this.#address.name);
    try {
      return await this.#connection.listen(channel, ANSWER_MS, signal);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      // Nothing is heard: the lock's end is waited for.
      return { next: () => new Promise(() => {}), [Symbol.dispose]() {} };
    }
  }

  async #pause(heard: Promise<void>, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const awake = new AbortController();
    const either = signal ? AbortSignal.any([signal, awake.signal]) : awake.signal;
    await Promise.race([heard, this.#configuration().world.sleep(ms, either)]);
    awake.abort();
  }

  /**
   * Asks until there is an answer or the time is over.
   *
   * @param ask One question, with how long it may take.
   * @param signal Ends the pauses. A question is not ended by it.
   * @returns An error: there was no answer, and a notice tells.
   */
  async #untilReached(
    ask: (limitMs: number) => Promise<Answer>,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Answer | ConfigError> {
    const { world } = this.#configuration();
    const started = world.monotonic();
    let cause: Unreachable | undefined;
    for (let attempt = 1;; attempt++) {
      const leftMs = limitMs - (world.monotonic() - started);
      try {
        return await ask(Math.max(1, Math.min(leftMs, ANSWER_MS)));
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        // The last try may have too little time to fail as the others did.
        cause = error instanceof TooLate ? cause ?? error : error;
        const problem = this.#setAway(cause);
        if (cause.stays) return problem;
        const pause = backoffMs(attempt, FIRST_PAUSE_MS, world.random, LONGEST_PAUSE_MS);
        // A call whose token is good does not wait for another try.
        if (limitMs <= BRIEF_MS || leftMs - pause <= 0) return problem;
        await world.sleep(pause, signal);
        if (signal?.aborted) return problem;
      }
    }
  }

  async #ask(
    request: Pick<Request, "owner" | "lockMs">,
    limitMs: number,
  ): Promise<Answer> {
    const known = this.#known;
    const { name } = this.#address;
    const keepMs = keepMsOf(known.stored.tokens, this.#configuration().world.now());
    const all = { ...request, known, keepMs };
    const answer = await exchange(this.#connection, name, all, limitMs);
    const { kept } = answer;
    this.#keptId = kept.id;
    const isNews = () => {
      const { id, number, replacesUpTo } = this.#known;
      return kept.number > replacesUpTo && (kept.number !== number || kept.id !== id);
    };
    if (isNews()) {
      const tokens = await this.#opened(kept);
      // Another answer may have been later.
      if (isNews()) {
        const { stored } = this.#known;
        const replacesUpTo = kept.number - 1;
        this.#known = {
          ...kept,
          replacesUpTo,
          stored: isSame(stored.tokens, tokens) ? stored : { tokens },
        };
      }
    }
    this.#notices.clear("STORE_AWAY", "NOT_SAVED", "STORE_UNREAD", "STORE_EMPTY");
    if (this.#known.id === "") {
      const { account, host } = this.#address;
      const whose = account === undefined ? "without an account name" : `of ${account}`;
      this.#notices.set("STORE_EMPTY", `the store at ${host} holds no session ${whose}`);
    }
    return answer;
  }

  #setAway(unreachable: Unreachable): ConfigError {
    const error = new ConfigError(
      "STORE_UNREACHABLE",
      `Cannot use the session in the store at ${this.#address.host}: ${unreachable.message}`,
      unreachable.fix ?? "start it, or correct AUTH_STORE, and try again",
      unreachable.cause,
    );
    const { problem, fix } = error;
    this.#notices.clear("STORE_UNREAD", "STORE_EMPTY");
    const { id, stored: { tokens } } = this.#known;
    const next = tokens === undefined ? fix : `${fix}; until then the tokens in memory count`;
    const isUnsaved = tokens !== undefined && id !== this.#keptId;
    const inMemory = `the session is kept in memory only: ${problem}`;
    this.#notices.replace({
      NOT_SAVED: isUnsaved ? { problem: inMemory, fix: next } : undefined,
      STORE_AWAY: isUnsaved ? undefined : { problem, fix: next },
    });
    return error;
  }

  async #sealed(
    tokens: Tokens | undefined,
    number: number,
  ): Promise<Kept & { readonly stored: Stored }> {
    const id = crypto.randomUUID();
    const stored: Stored = { tokens };
    if (tokens === undefined) return { number, id, data: "", stored };
    const text = textOf(tokens);
    const place = { name: this.#address.name, number, id };
    const data = await this.#seal?.close(text, place) ?? text.reveal();
    return { number, id, data, stored };
  }

  async #opened({ number, id, data }: Kept): Promise<Tokens | undefined> {
    this.#notices.clear("STORED_IGNORED");
    if (data === "") return undefined;
    const { settings, world } = this.#configuration();
    const place = { name: this.#address.name, number, id };
    const text = this.#seal ? await this.#seal.open(data, place) : new Secret(data);
    const lines = linesIn(text?.reveal() ?? "");
    if (lines === undefined) {
      this.#notices.set(
        "STORED_IGNORED",
        `the session in the store at ${this.#address.host} was saved with another AUTH_STORE_KEY ` +
          "or an earlier version, or changed since, and is ignored",
        [
          "set the same key on all machines, or run ",
          { call: "login" },
          ": machines with the other key cannot read that session then",
        ],
      );
      return undefined;
    }
    const clientId = settings.text("clientId");
    const { parts, note } = readStored((key) => lines[key], "store", clientId);
    if (note) this.#notices.set("STORED_IGNORED", note.problem, note.fix);
    return parts && makeTokens(parts, world);
  }
}

/**
 * A lock in a store ends by itself, so other processes are at work, one after another. A refresh without
 * it would end the session for all if refresh tokens rotate.
 */
function lockBusy(): ProviderError {
  return new ProviderError(
    "TIMEOUT",
    "Cannot refresh the session: another process has held the lock in the store for too long",
    "try again, or end that process",
  );
}

function isSame(a: Tokens | undefined, b: Tokens | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return sameAccess(a, b) && a.refreshToken?.reveal() === b.refreshToken?.reveal();
}

const DAY_MS = 86_400_000;
const DAYS_MS = REFRESH_DAYS * DAY_MS;

/** Tokens as they are kept: what a `.env` has as lines, as JSON. */
function textOf(tokens: Tokens): Secret {
  return new Secret(JSON.stringify(Object.fromEntries(linesOf(tokens))));
}

/**
 * Until when tokens are kept: about as long as the refresh token is good; an access token alone, as
 * long as that is.
 */
function keepMsOf(tokens: Tokens | undefined, now: number): number {
  const { authenticatedAt = now, expiresAt, refreshToken } = tokens ?? {};
  const leftMs = (refreshToken ? authenticatedAt + DAYS_MS : expiresAt ?? Infinity) - now;
  // The 30 days are an estimate, and over only if the provider says so.
  const isKept = leftMs === Infinity || (refreshToken && leftMs < DAY_MS);
  return Math.ceil(isKept ? DAYS_MS : Math.max(leftMs, 60_000));
}

/** The lines that were kept as JSON; `undefined` if it is something else. */
function linesIn(text: string): Record<string, string | undefined> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isLines = typeof value === "object" && value !== null &&
      Object.values(value).every((each) => typeof each === "string");
    return isLines ? value as Record<string, string> : undefined;
  } catch {
    return undefined;
  }
}
