import { AuthError, ConfigError } from "../../errors/errors.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { Secret } from "../../platform/secret.ts";
import { linesOf, readStored } from "../stored_tokens.ts";
import { makeTokens, REFRESH_DAYS, sameAccess, type Tokens } from "../../provider/tokens.ts";
import type { Configuration } from "../configuration.ts";
import type { Notices } from "../notices.ts";
import { STORE_ANSWER_SHARE, STORE_WAIT_WITH_VALID_TOKEN_MS } from "../plan.ts";
import {
  type LockState,
  NOTHING,
  type Stored,
  type Transaction,
  type Wait,
  type Written,
  type WrittenBy,
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

/** One answer must not take longer: a new connection may find another server. */
const ANSWER_MS = 2_000;
/** The message that a lock is free can get lost with a connection: so often one looks all the same. */
const LOOK_MS = 2_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** What a probe leaves if its process ends in the middle of it is gone then. */
const PROBE_MS = 1_000;

const NOTHING_KNOWN: Known = { number: 0, id: "", data: "", replacesUpTo: -1 };

/** How often a login or a logout is written where others write at the same time. */
const MOST_WRITES = 5;

/** What the store held when it was last asked, or holds as soon as it is asked again. */
interface Latest extends Known {
  readonly stored: Stored;
}

/** A lock, with the number of what its holder writes first. */
interface NumberedLock {
  readonly state: LockState;
  /** Why the store is away. */
  readonly problem?: AuthError;
  readonly number: number;
  /** When it ends in the store, by the monotonic clock, if it is held. */
  readonly endsAt?: number;
}

/**
 * A Redis or Valkey server as the place that a session shares with other machines. This process keeps
 * the latest that it knows of, and brings it along whenever it asks: so a server that lost its data
 * has it again, and what could not be saved is saved then.
 */
export class RedisStore {
  readonly #address: StoreAddress;
  readonly #connection: Connection;
  readonly #seal: Seal | undefined;
  readonly #configuration: () => Configuration;
  readonly #notices: Notices;
  #known: Latest = { ...NOTHING_KNOWN, stored: NOTHING };
  /** The id of what the store held when it was last asked. */
  #keptId = "";
  /** The number of what the session knows. */
  #seenNumber = 0;
  #looking: Promise<Answer> | undefined;
  #problem: AuthError | undefined;
  #stays = false;

  private constructor(
    address: StoreAddress,
    connection: Connection,
    seal: Seal | undefined,
    configuration: () => Configuration,
    notices: Notices,
  ) {
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

  /** Why the store did not answer when it was last asked. */
  get problem(): AuthError | undefined {
    return this.#problem;
  }

  get stays(): boolean {
    return this.#stays;
  }

  read(): Stored {
    this.#seenNumber = this.#known.number;
    return this.#known.stored;
  }

  async look(waitMs: number, signal?: AbortSignal): Promise<void> {
    // One question for all calls of this moment, so that no one's signal ends it.
    const ask = (limitMs: number) =>
      this.#looking ??= this.#ask({}, limitMs).finally(() => this.#looking = undefined);
    await this.#untilReached(ask, waitMs, signal);
  }

  /**
   * Looks, and then takes a lock and gives it back: a store that takes no writes answers a look all the
   * same. The lock is beside the session's, so that nobody waits for it, and no trace of it stays.
   */
  async probe(waitMs: number, signal?: AbortSignal): Promise<void> {
    await this.look(waitMs, signal);
    if (this.#problem) return;
    const name = `${this.#address.name}:probe`;
    const request = { known: NOTHING_KNOWN, keepMs: PROBE_MS, owner: crypto.randomUUID() };
    const ask = async (limitMs: number) => {
      const all = { ...request, lockMs: PROBE_MS };
      const answer = await exchange(this.#connection, name, all, limitMs);
      await exchange(this.#connection, name, { ...request, lockMs: 0 }, limitMs);
      return answer;
    };
    await this.#untilReached(ask, waitMs, signal);
  }

  async transaction<T>(work: (transaction: Transaction) => Promise<T>, wait: Wait): Promise<T> {
    // The lock ends before the wait for it does: who waits gets it even if the holder was killed.
    const owner = { owner: crypto.randomUUID(), lockMs: Math.ceil(wait.ms * 0.8) };
    const lock = await this.#acquire(owner, wait);
    try {
      return await work({
        lock: lock.state,
        problem: lock.problem,
        write: (tokens, by) => this.#write(tokens, by, lock),
      });
    } finally {
      if (lock.state === "held") await this.#release(owner);
    }
  }

  async #write(
    tokens: Tokens | undefined,
    by: WrittenBy,
    lock: NumberedLock,
  ): Promise<Written> {
    for (let writes = 1;; writes++) {
      const written = await this.#writeOnce(tokens, by, lock);
      // The lock was over, and another holder wrote.
      const isBehind = by === "change" && written.kind === "others wrote";
      if (!isBehind || writes === MOST_WRITES) return written;
    }
  }

  /** Makes this the latest, unless what others wrote is later. */
  async #writeOnce(
    tokens: Tokens | undefined,
    by: WrittenBy,
    lock: NumberedLock,
  ): Promise<Written> {
    const seen = this.#seenNumber;
    // Just above what was refused: the number of a late holder, who may have got good tokens, is higher.
    const number = by === "refusal" ? seen + 1 : this.#nextNumber(lock);
    const replacesUpTo = by === "change" ? number - 1 : by === "refusal" ? seen : seen + 1;
    if (this.#known.number > replacesUpTo) return { kind: "others wrote", stored: this.read() };
    const known = { ...await this.#sealed(tokens, number), replacesUpTo };
    this.#known = known;
    // Nobody else may write while the lock is held: worth some patience. A login goes on without it.
    const { settings, world } = this.#configuration();
    const usualMs = lock.state === "held" ? settings.timeoutMs * STORE_ANSWER_SHARE : ANSWER_MS;
    // Once the lock has ended, the next holder uses the refresh token that was replaced.
    const lockMs = by === "refresh" ? (lock.endsAt ?? 0) - world.monotonic() : 0;
    const limitMs = Math.max(usualMs, lockMs);
    const answer = await this.#untilReached((ms) => this.#ask({}, ms), limitMs);
    const stored = this.read();
    if (answer instanceof AuthError) return { kind: "failed", problem: answer, stored };
    return { kind: stored === known.stored ? "saved" : "others wrote", stored };
  }

  /** The number of a write, later than all that is known. */
  #nextNumber({ state, number }: NumberedLock): number {
    // The store takes whole numbers only.
    const now = () => Math.ceil(this.#configuration().world.now() * 1_000);
    const given = state === "away" ? now() : number;
    return Math.max(given, this.#known.number + 1);
  }

  async #acquire(
    owner: Pick<Request, "owner" | "lockMs">,
    { ms: waitMs, signal, reachMs = waitMs, isServed }: Wait,
  ): Promise<NumberedLock> {
    const { world } = this.#configuration();
    const started = world.monotonic();
    const leftMs = () => waitMs - (world.monotonic() - started);
    let listening: Listening | undefined;
    try {
      for (;;) {
        // From before the question: what is said while it is asked must not be missed.
        const heard = listening?.next();
        // Not ended by the signal: a lock that was given and not heard of would stay.
        // The last question has time for an answer, too: else a busy lock looks like a store that is away.
        const limitMs = Math.min(reachMs, Math.max(leftMs(), STORE_WAIT_WITH_VALID_TOKEN_MS));
        const ask = (ms: number) => this.#ask(owner, ms);
        const answer = await this.#untilReached(ask, limitMs, signal);
        const mayHold = answer instanceof AuthError || answer.isHolder;
        if (mayHold && signal?.aborted) await this.#release(owner);
        signal?.throwIfAborted();
        if (answer instanceof AuthError) return { state: "away", problem: answer, number: 0 };
        if (answer.isHolder) {
          const endsAt = world.monotonic() + (owner.lockMs ?? 0);
          return { state: "held", number: answer.number, endsAt };
        }
        if (leftMs() <= 0 || isServed?.()) return { state: "busy", number: answer.number };
        if (heard === undefined) {
          // It may have been freed before somebody listened.
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
  ): Promise<Answer | AuthError> {
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
        if (limitMs <= STORE_WAIT_WITH_VALID_TOKEN_MS || leftMs - pause <= 0) return problem;
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
    this.#problem = undefined;
    this.#stays = false;
    this.#notices.clear("STORE_AWAY", "NOT_SAVED", "STORE_UNREAD", "STORE_EMPTY");
    if (this.#known.id === "") {
      const { account, host } = this.#address;
      const whose = account === undefined ? "without an account name" : `of ${account}`;
      this.#notices.set("STORE_EMPTY", `the store at ${host} holds no session ${whose}`);
    }
    return answer;
  }

  #setAway(unreachable: Unreachable): AuthError {
    const error = new ConfigError(
      "STORE_UNREACHABLE",
      `Cannot use the session in the store at ${this.#address.host}: ${unreachable.message}`,
      unreachable.fix ?? "start it, or correct AUTH_STORE, and try again",
      unreachable.cause,
    );
    const { problem, fix } = this.#problem = error;
    this.#stays = unreachable.stays;
    this.#notices.clear("STORE_UNREAD");
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
    const { parts, note } = readStored((key) => lines[key], "store", clientId, world.now());
    if (note) this.#notices.set("STORED_IGNORED", note.problem, note.fix);
    return parts && makeTokens(parts, world);
  }
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
