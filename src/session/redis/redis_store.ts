/**
 * Shares a session through a Redis or Valkey server. This folder is loaded only if `AUTH_STORE` is
 * set.
 */
import { ConfigError } from "../../errors/errors.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { Secret } from "../../platform/secret.ts";
import { readStored, recordOf } from "../stored_tokens.ts";
import { accountOf } from "../../platform/claims.ts";
import { parsedJson } from "../../platform/json.ts";
import { makeTokens, type Tokens } from "../../provider/tokens.ts";
import { notSaved } from "../notices.ts";
import { Seal } from "../sealing.ts";
import {
  type Change,
  type Lock,
  lockBusy,
  NOTHING,
  PROBE_SHARE,
  type Stored,
  type StoredSession,
  type TokenStore,
  type Updated,
  type WaitOptions,
  type Write,
} from "../store.ts";
import { Connection, Unreachable } from "./connection.ts";
import { type StoreAddress, storeAddress } from "./store_address.ts";
import {
  type Answer,
  exchange,
  type Kept,
  type LockRequest,
  NOTHING_KEPT,
} from "./store_script.ts";

/**
 * Time limit of one request. The limit is short, because a retry opens a new connection, which may
 * reach another server.
 */
const ANSWER_MS = 2_000;
/**
 * Time limit of a request if the token is still valid. The last attempt always gets this much
 * time, even if the call's time is used up: the process may have been suspended.
 */
const BRIEF_MS = 250;
/**
 * The shortest and the longest pause between two requests while the store is unreachable or its
 * lock is busy.
 */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/** A request without the lock. */
const NO_LOCK: LockRequest = { owner: "", lockMs: 0 };

/** A single attempt, for a request whose reply is not needed. */
const BRIEFLY: Attempts = { ms: 0, isNeeded: false };

/** The time for which a request is repeated. */
type Attempts = Pick<WaitOptions, "ms" | "isNeeded" | "signal">;

/** The latest record. Either the store has this record, or the next request sends it. */
interface Known extends Kept {
  readonly stored: Stored;
}

/**
 * Stores a session on a Redis or Valkey server, so that other machines can use it. Each request
 * contains the latest record that this process knows. The request thereby restores a record that
 * the server lost, and saves tokens that could not be saved earlier.
 */
export class RedisStore implements TokenStore {
  #known: Known = { ...NOTHING_KEPT, stored: NOTHING };
  /**
   * The content of the store that the session last adopted. If the content of `#known` differs,
   * another process wrote in between.
   */
  #adopted = NOTHING;
  /** The data of the record in the server's last reply. Other data in `#known` is not saved yet. */
  #savedData = "";
  /** The server's clock minus this machine's, in milliseconds. */
  #clockOffsetMs = 0;
  #looking: Promise<Answer> | undefined;

  private constructor(
    private readonly session: StoredSession,
    private readonly address: StoreAddress,
    private readonly connection: Connection,
    private readonly seal: Seal | undefined,
  ) {}

  /**
   * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION` or `PACKAGE_UNAVAILABLE` if nothing can
   * be sent.
   */
  static async open(session: StoredSession): Promise<RedisStore> {
    const { configuration, notices } = session;
    const address = storeAddress(configuration.settings);
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
    return this.#adopted = this.#known.stored;
  }

  async look({ isNeeded, ms, signal }: WaitOptions): Promise<void> {
    const answer = await this.#look({ ms, isNeeded, signal });
    if (isNeeded && answer instanceof ConfigError) throw answer;
  }

  async update(wait: WaitOptions, change: Change): Promise<Updated> {
    const { world } = this.session.configuration;
    // If this process is killed, the lock expires before other processes stop waiting for the lock.
    const take = { owner: crypto.randomUUID(), lockMs: Math.ceil(wait.ms * 0.8) };
    const lock = await this.#acquire(take, wait);
    const endsAt = world.monotonic() + take.lockMs;
    let written: Known | undefined;
    let problem: ConfigError | undefined;
    try {
      const write = await change(this.peek(), lock);
      written = write && await this.#write(write);
    } finally {
      // One request saves the record and releases the lock. The request must arrive before the lock
      // expires; a later one would let the next holder use the refresh token that this write
      // replaces.
      const ms = Math.max(written && lock.isHeld ? endsAt - world.monotonic() : 0, ANSWER_MS);
      if (written || lock.isHeld) problem = await this.#release(take, { ms, isNeeded: true });
    }
    const { stored } = this.#known;
    return { stored, problem: stored === written?.stored ? problem : undefined };
  }

  /**
   * Refuses a login with another account. User names may be aliases, and a portal string may belong
   * to any account, so accounts are compared by `sub`.
   */
  refusal(login: string | Tokens): ConfigError | undefined {
    const { account } = this.address;
    const claims = this.#known.stored.tokens?.claims;
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
        "in AUTH_STORE (store), write that account after the # sign",
        { inProgram: ", or make a session for it with createSession()" },
      ],
    );
  }

  /**
   * Reads the store, then takes a separate lock: a successful read does not show that the store
   * accepts writes.
   */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.session.configuration.settings.timeoutMs * PROBE_SHARE;
    await this.look({ ms, isNeeded: true, signal });
    const name = `${this.address.name}:probe`;
    // The lock expires immediately, so that nothing remains in the store.
    const take = { owner: crypto.randomUUID(), lockMs: 1 };
    const answer = await this.#repeat(
      (limitMs) => exchange(this.connection, name, NOTHING_KEPT, take, limitMs),
      { ms, isNeeded: true, signal },
    );
    if (answer instanceof ConfigError) throw answer;
  }

  /** Sends one request for all simultaneous calls. A caller's signal does not end that request. */
  #look(attempts: Attempts): Promise<Answer | ConfigError> {
    return this.#repeat(
      (ms) => this.#looking ??= this.#ask(NO_LOCK, ms).finally(() => this.#looking = undefined),
      attempts,
    );
  }

  /**
   * Remembers a record as the latest one, so that the next request saves it. Returns `undefined` if
   * the write is not final and another process changed the content.
   */
  async #write({ tokens, isFinal }: Write): Promise<Known | undefined> {
    // A login or a logout uses the server's time in milliseconds as its number. A refresh adds 1 to
    // the number, so a later login or logout has a higher number. A refusal adds less than a
    // refresh, so that the tokens of a late holder of the lock replace the refusal, and even a
    // second refusal. A refusal that leaves no token replaces one that left the access token.
    const { number } = this.#known;
    const serverNow = Math.round(this.session.configuration.world.now() + this.#clockOffsetMs);
    const next = isFinal
      ? Math.max(serverNow, number + 1)
      : Math.floor(number) + (tokens?.refreshToken ? 1 : tokens ? 0.5 : 0.6);
    const data = tokens ? await this.#sealed(tokens, next) : "";
    if (!isFinal && this.#known.stored !== this.#adopted) return undefined;
    return this.#known = { number: next, data, stored: { tokens } };
  }

  async #acquire(take: LockRequest, { isServed, ...wait }: WaitOptions): Promise<Lock> {
    const { world } = this.session.configuration;
    const started = world.monotonic();
    let wasBusy = false;
    const answer = await this.#repeat((ms) => this.#ask(take, ms), wait, ({ isHeld }) => {
      wasBusy ||= !isHeld;
      return isHeld || isServed?.() === true;
    });
    const isUnreachable = answer instanceof ConfigError;
    // The store may have granted the lock although its response did not arrive. The reply to the
    // release also contains the record, even if the store accepts no writes, so that a logout can
    // revoke the tokens in the record.
    if (isUnreachable || wait.signal?.aborted) await this.#release(take, BRIEFLY);
    wait.signal?.throwIfAborted();
    const isHeld = !isUnreachable && answer.isHeld;
    if (wasBusy) {
      world.log?.({ event: "lock", waitedMs: Math.round(world.monotonic() - started), isHeld });
    }
    return isHeld ? { isHeld } : { isHeld, problem: isUnreachable ? answer : lockBusy("store") };
  }

  async #release({ owner }: LockRequest, attempts: Attempts): Promise<ConfigError | undefined> {
    const answer = await this.#repeat((ms) => this.#ask({ owner, lockMs: 0 }, ms), attempts);
    return answer instanceof ConfigError ? answer : undefined;
  }

  /**
   * Repeats a request, with pauses, until the reply is sufficient or the time is over.
   *
   * @param ask Sends the request with a time limit. The signal does not end a request: the store
   * might still grant the lock, and no one would release it.
   * @returns The last reply, or an error, which also becomes a notice.
   */
  async #repeat(
    ask: (limitMs: number) => Promise<Answer>,
    { ms, isNeeded, signal }: Attempts,
    isEnough: (answer: Answer) => boolean = () => true,
  ): Promise<Answer | ConfigError> {
    const { world } = this.session.configuration;
    const started = world.monotonic();
    const leftMs = () => ms - (world.monotonic() - started);
    let outcome: Answer | ConfigError | undefined;
    for (let attempt = 1;; attempt++) {
      const isLast = leftMs() <= 0;
      const limitMs = Math.min(Math.max(leftMs(), BRIEF_MS), isNeeded ? ANSWER_MS : BRIEF_MS);
      try {
        outcome = await ask(limitMs);
        if (isEnough(outcome)) return outcome;
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        // The last attempt is short, so its failure says less than an earlier outcome.
        outcome = isLast && outcome || this.#setAway(error);
        if (error.details.isPermanent || !isNeeded) return outcome;
      }
      if (isLast || signal?.aborted) return outcome;
      const pauseMs = backoffMs(attempt, FIRST_PAUSE_MS, world.random, LONGEST_PAUSE_MS);
      await world.sleep(Math.max(0, Math.min(pauseMs, leftMs())), signal);
      if (signal?.aborted) return outcome;
    }
  }

  /** Sends one request, and adopts the record in the reply if another process wrote it. */
  async #ask(lock: LockRequest, limitMs: number): Promise<Answer> {
    const { name, account, host } = this.address;
    const answer = await exchange(this.connection, name, this.#known, lock, limitMs);
    const { kept, now } = answer;
    this.#clockOffsetMs = now - this.session.configuration.world.now();
    this.#savedData = kept.data;
    // Two processes that wrote without the lock may have used the same number. The record that
    // arrived first is in the store and stays there, so the other process adopts it.
    const isNews = () => {
      const { number, data } = this.#known;
      return kept.number > number || kept.number === number && kept.data !== data;
    };
    if (isNews()) {
      const tokens = await this.#opened(kept);
      // In the meantime, the reply to another request may have contained a later record.
      if (isNews()) this.#known = { ...kept, stored: { tokens } };
    }
    this.session.notices.clear("STORE_AWAY", "NOT_SAVED", "STORE_UNREAD", "STORE_EMPTY");
    if (this.#known.stored === NOTHING) {
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
    const { data, stored: { tokens } } = this.#known;
    const next = tokens === undefined ? fix : `${fix}; until then the tokens in memory are used`;
    const isUnsaved = tokens !== undefined && data !== this.#savedData;
    this.session.notices.replace({
      NOT_SAVED: isUnsaved ? notSaved({ problem, fix: next }) : undefined,
      STORE_AWAY: isUnsaved ? undefined : { problem, fix: next },
    });
    return error;
  }

  async #sealed(tokens: Tokens, number: number): Promise<string> {
    const text = serialized(tokens);
    return await this.seal?.close(text, { name: this.address.name, number }) ?? text.reveal();
  }

  async #opened({ number, data }: Kept): Promise<Tokens | undefined> {
    this.session.notices.clear("STORED_IGNORED");
    if (data === "") return undefined;
    const { issuer, world } = this.session.configuration;
    const { name } = this.address;
    const text = this.seal ? await this.seal.open(data, { name, number }) : new Secret(data);
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

/** Returns tokens as a JSON object, whose members are the lines that a `.env` would contain. */
function serialized(tokens: Tokens): Secret {
  return new Secret(JSON.stringify(recordOf(tokens)));
}

/** Reads the JSON that `serialized()` makes. Returns `undefined` for any other text. */
function linesIn(text: string): Record<string, string | undefined> | undefined {
  const value = parsedJson(text);
  const isLines = typeof value === "object" && value !== null &&
    Object.values(value).every((each) => typeof each === "string");
  return isLines ? value as Record<string, string> : undefined;
}
