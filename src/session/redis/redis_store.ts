import { ConfigError } from "../../errors/errors.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { Secret } from "../../platform/secret.ts";
import { linesOf, readStored } from "../stored_tokens.ts";
import { accountOf } from "../../platform/claims.ts";
import { makeTokens, REFRESH_DAYS, type Tokens } from "../../provider/tokens.ts";
import { Seal } from "../sealing.ts";
import {
  type Decide,
  type Lock,
  lockBusy,
  MAX_ROUNDS,
  NOTHING,
  type Stored,
  type StoredSession,
  type TokenStore,
  type Updated,
  type WaitOptions,
  type Write,
} from "../store.ts";
import { Connection, Unreachable } from "./connection.ts";
import { type Answer, exchange, type Kept, type Known, type Request } from "./store_script.ts";
import { type StoreAddress, storeAddress } from "./store_address.ts";

/**
 * Time limit of one request. It is short, because a retry opens a new connection, which may reach
 * another server.
 */
const ANSWER_MS = 2_000;
/**
 * Time limit of a request if the token is still valid, and the minimum time that another attempt
 * needs.
 */
const BRIEF_MS = 250;
/**
 * The shortest and the longest pause between two requests while the store is unreachable or its
 * lock is busy.
 */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** Lifetime of an entry after it was last written. A refresh token lives about as long. */
const KEEP_MS = REFRESH_DAYS * 86_400_000;
/** The share of a call's time limit that a probe may use. */
const PROBE_SHARE = 0.25;

const NOTHING_KNOWN: Known = { number: 0, id: "", data: "", replacesUpTo: -1 };

/** The latest entry. Either the store has it, or the next request sends it. */
interface Latest extends Known {
  readonly stored: Stored;
}

/** A lock, and the number of the holder's first write. */
interface NumberedLock extends Lock {
  /** `0` if the store did not respond. */
  readonly number: number;
  /** When the lock expires, by the monotonic clock; `0` if it is not held. */
  readonly endsAt: number;
}

/**
 * Stores a session on a Redis or Valkey server, so that other machines can use it. Each request
 * contains the latest entry that this process knows. This restores the data if the server lost it,
 * and saves tokens that could not be saved earlier.
 */
export class RedisStore implements TokenStore {
  #known: Latest = { ...NOTHING_KNOWN, stored: NOTHING };
  /** The id of the entry in the last response. */
  #storedId = "";
  #looking: Promise<Answer> | undefined;

  private constructor(
    private readonly session: StoredSession,
    private readonly address: StoreAddress,
    private readonly connection: Connection,
    private readonly seal: Seal | undefined,
  ) {}

  /**
   * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION` or `PACKAGE_UNAVAILABLE`; nothing was
   * sent.
   */
  static async open(session: StoredSession): Promise<RedisStore> {
    const { configuration, notices } = session;
    const address = storeAddress(configuration);
    const seal = address.key && await Seal.with(address.key);
    if (address.isOpen) {
      notices.set(
        "STORE_NOT_ENCRYPTED",
        `the tokens are not encrypted in the store at ${address.host}`,
        "set AUTH_STORE_KEY to the output of platform-auth store-key, on all machines",
      );
    }
    const connection = await Connection.to(address.url, configuration.world.timeout);
    return new RedisStore(session, address, connection, seal);
  }

  get place() {
    return { store: this.address.host };
  }

  peek(): Stored {
    return this.#known.stored;
  }

  async look({ isNeeded, ms, signal }: WaitOptions): Promise<void> {
    const answer = await this.#look(isNeeded ? ms : BRIEF_MS, signal);
    if (isNeeded && answer instanceof ConfigError) throw answer;
  }

  async update(wait: WaitOptions, decide: Decide): Promise<Updated> {
    // The lock expires before other processes stop waiting for it, in case its holder is killed.
    const owner = { owner: crypto.randomUUID(), lockMs: Math.ceil(wait.ms * 0.8) };
    const lock = await this.#acquire(owner, wait);
    // A store that accepts no writes grants no lock, but can still be read for the tokens that a
    // logout revokes.
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

  /**
   * Refuses a login with another account. Accounts are compared by `sub`, because user names may be
   * aliases and a portal string may belong to any account.
   */
  refusal(login: string | Tokens): ConfigError | undefined {
    const { account } = this.address;
    const claims = this.peek().tokens?.claims;
    const isByName = typeof login === "string";
    const isOther = isByName
      ? account !== undefined && account !== login
      : login.source === "portal" && claims?.sub !== undefined &&
        login.claims.sub !== undefined && login.claims.sub !== claims.sub;
    if (!isOther) return undefined;
    const kept = isByName ? account : accountOf(claims ?? {});
    return new ConfigError(
      "INVALID_SETTING",
      `Cannot log in: the store of AUTH_STORE keeps the session of ${kept}, and this login is for ` +
        "another account",
      [
        "name that account after the # of AUTH_STORE (store)",
        { inProgram: ", or make a session for it with createSession()" },
      ],
    );
  }

  /**
   * Reads the store, then takes a separate lock, because a successful read does not show that the
   * store accepts writes.
   */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.session.configuration.settings.timeoutMs * PROBE_SHARE;
    await this.look({ ms, isNeeded: true, signal });
    const name = `${this.address.name}:probe`;
    // The lock and the entry expire immediately, so that nothing remains in the store.
    const moment = { owner: crypto.randomUUID(), lockMs: 1, keepMs: 1, known: NOTHING_KNOWN };
    const take = (limitMs: number) => exchange(this.connection, name, moment, limitMs);
    const answer = await this.#untilReached(take, ms, signal);
    if (answer instanceof ConfigError) throw answer;
  }

  /** Sends one request for all simultaneous calls. A caller's signal does not end that request. */
  #look(waitMs: number, signal: AbortSignal | undefined): Promise<Answer | ConfigError> {
    const ask = (limitMs: number) =>
      this.#looking ??= this.#ask({}, limitMs).finally(() => this.#looking = undefined);
    return this.#untilReached(ask, waitMs, signal);
  }

  /**
   * Writes an entry, unless a later one exists.
   *
   * @param seen The number of the entry on which the decision to write was based.
   */
  async #write({ tokens, by }: Write, seen: number, lock: NumberedLock): Promise<Updated> {
    // A refusal gets the lowest possible number, so that valid tokens from a late holder of the
    // lock replace it.
    const number = by === "refusal" ? seen + 1 : this.#nextNumber(lock);
    const replacesUpTo = by === "user" ? number - 1 : by === "refusal" ? seen : seen + 1;
    if (this.#known.number > replacesUpTo) return { stored: this.peek() };
    this.#known = { ...await this.#sealed(tokens, number), replacesUpTo };
    // The write must arrive before the lock expires. Otherwise, the next holder would use the
    // refresh token that this write replaces.
    const lockMs = lock.endsAt - this.session.configuration.world.monotonic();
    const answer = await this.#untilReached((ms) => this.#ask({}, ms), Math.max(lockMs, ANSWER_MS));
    const stored = this.peek();
    return answer instanceof ConfigError ? { stored, problem: answer } : { stored };
  }

  /** Returns a number that is higher than all known numbers. */
  #nextNumber({ number }: NumberedLock): number {
    // If the store issued no number, the time is used. It is rounded, because the store accepts
    // only whole numbers.
    const given = number || Math.ceil(this.session.configuration.world.now() * 1_000);
    return Math.max(given, this.#known.number + 1);
  }

  async #acquire(
    owner: Required<Pick<Request, "owner" | "lockMs">>,
    { ms: waitMs, isNeeded, signal, isServed }: WaitOptions,
  ): Promise<NumberedLock> {
    const { settings, world } = this.session.configuration;
    const started = world.monotonic();
    const leftMs = () => waitMs - (world.monotonic() - started);
    const reachMs = isNeeded ? settings.timeoutMs / 2 : BRIEF_MS;
    const ask = (limitMs: number) => this.#ask(owner, limitMs);
    const logWait = (isHeld: boolean) =>
      world.log?.({ event: "lock", waitedMs: Math.round(world.monotonic() - started), isHeld });
    for (let attempt = 1;; attempt++) {
      // Even the last request gets enough time for its response. Otherwise, a busy lock would look
      // like an unreachable store. The signal does not end a request, because the store might still
      // grant the lock, and no one would release it.
      const limitMs = Math.min(reachMs, Math.max(leftMs(), BRIEF_MS));
      const answer = await this.#untilReached(ask, limitMs, signal);
      const mayHold = answer instanceof ConfigError || answer.isHolder;
      if (mayHold && signal?.aborted) await this.#release(owner);
      signal?.throwIfAborted();
      if (answer instanceof ConfigError) {
        return { isHeld: false, problem: answer, number: 0, endsAt: 0 };
      }
      const { isHolder, number } = answer;
      if (isHolder) {
        if (attempt > 1) logWait(true);
        return { isHeld: true, number, endsAt: world.monotonic() + owner.lockMs };
      }
      if (leftMs() <= 0 || isServed?.()) {
        logWait(false);
        return { isHeld: false, problem: lockBusy("store"), number, endsAt: 0 };
      }
      await world.sleep(Math.min(this.#pauseMs(attempt), leftMs()), signal);
    }
  }

  #pauseMs(attempt: number): number {
    const { random } = this.session.configuration.world;
    return backoffMs(attempt, FIRST_PAUSE_MS, random, LONGEST_PAUSE_MS);
  }

  /** Releases the lock. If the request fails, the lock expires by itself. */
  async #release(owner: Pick<Request, "owner">): Promise<void> {
    await this.#ask({ ...owner, lockMs: 0 }, ANSWER_MS).catch((error) => {
      if (!(error instanceof Unreachable)) throw error;
    });
  }

  /**
   * Repeats a request until there is a response or the time limit is reached.
   *
   * @param ask Sends the request with a time limit.
   * @param signal Ends a pause, but not a request.
   * @returns The response, or an error, which also becomes a notice.
   */
  async #untilReached(
    ask: (limitMs: number) => Promise<Answer>,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Answer | ConfigError> {
    const { world } = this.session.configuration;
    const started = world.monotonic();
    for (let attempt = 1;; attempt++) {
      const leftMs = limitMs - (world.monotonic() - started);
      try {
        return await ask(Math.max(1, Math.min(leftMs, ANSWER_MS)));
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        const problem = this.#setAway(error);
        const pauseMs = this.#pauseMs(attempt);
        if (error.details.isPermanent || leftMs - pauseMs < BRIEF_MS) return problem;
        await world.sleep(pauseMs, signal);
        if (signal?.aborted) return problem;
      }
    }
  }

  async #ask(
    request: Pick<Request, "owner" | "lockMs">,
    limitMs: number,
  ): Promise<Answer> {
    const known = this.#known;
    const all = { ...request, known, keepMs: KEEP_MS };
    const answer = await exchange(this.connection, this.address.name, all, limitMs);
    const { kept } = answer;
    this.#storedId = kept.id;
    const isNews = () => {
      const { id, number, replacesUpTo } = this.#known;
      return kept.number > replacesUpTo && (kept.number !== number || kept.id !== id);
    };
    if (isNews()) {
      const tokens = await this.#opened(kept);
      // Meanwhile, the response to another request may have contained a later entry.
      if (isNews()) {
        this.#known = { ...kept, replacesUpTo: kept.number - 1, stored: { tokens } };
      }
    }
    this.session.notices.clear("STORE_AWAY", "NOT_SAVED", "STORE_UNREAD", "STORE_EMPTY");
    if (this.#known.id === "") {
      const { account, host } = this.address;
      const whose = account === undefined ? "without an account name" : `of ${account}`;
      this.session.notices.set("STORE_EMPTY", `the store at ${host} contains no session ${whose}`);
    }
    return answer;
  }

  #setAway(unreachable: Unreachable): ConfigError {
    const error = new ConfigError(
      "STORE_UNREACHABLE",
      `Cannot use the session in the store at ${this.address.host}: ${unreachable.message}`,
      unreachable.details.fix ?? "start the store, or correct AUTH_STORE, and try again",
      unreachable.cause,
    );
    const { problem, fix } = error;
    this.session.notices.clear("STORE_UNREAD", "STORE_EMPTY");
    const { id, stored: { tokens } } = this.#known;
    const next = tokens === undefined ? fix : `${fix}; until then the tokens in memory are used`;
    const isUnsaved = tokens !== undefined && id !== this.#storedId;
    const inMemory = `the session is kept in memory only: ${problem}`;
    this.session.notices.replace({
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
    const text = serialized(tokens);
    const place = { name: this.address.name, number, id };
    const data = await this.seal?.close(text, place) ?? text.reveal();
    return { number, id, data, stored };
  }

  async #opened({ number, id, data }: Kept): Promise<Tokens | undefined> {
    this.session.notices.clear("STORED_IGNORED");
    if (data === "") return undefined;
    const { issuer, world } = this.session.configuration;
    const place = { name: this.address.name, number, id };
    const text = this.seal ? await this.seal.open(data, place) : new Secret(data);
    const lines = linesIn(text?.reveal() ?? "");
    if (lines === undefined) {
      this.session.notices.set(
        "STORED_IGNORED",
        `the session in the store at ${this.address.host} was saved with another AUTH_STORE_KEY ` +
          "or by an earlier version, or was changed since, and is ignored",
        [
          "set the same key on all machines, or run ",
          { call: "login" },
          "; machines with the other key cannot read the new session",
        ],
      );
      return undefined;
    }
    const { parts, note } = readStored((key) => lines[key], "store", issuer);
    if (note) this.session.notices.set("STORED_IGNORED", note.problem, note.fix);
    return parts && makeTokens(parts, world);
  }
}

/** Returns tokens as JSON. Its members are the lines that a `.env` would contain. */
function serialized(tokens: Tokens): Secret {
  return new Secret(JSON.stringify(Object.fromEntries(linesOf(tokens))));
}

/** Reads such JSON. Returns `undefined` for any other text. */
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
