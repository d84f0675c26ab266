import { type AuthError, ConfigError, sentenceOf } from "../../errors/errors.ts";
import { Secret } from "../../values/secret.ts";
import { readStored } from "../stored_tokens.ts";
import { makeTokens, sameAccess, type Tokens } from "../../values/tokens.ts";
import type { Configuration } from "../configuration.ts";
import type { Notices } from "../notices.ts";
import { GOOD_MS } from "../plan.ts";
import type { SharedStore, StoreLock, Waiting } from "../shared_store.ts";
import type { News } from "../state.ts";
import { Connection, type Listening, Unreachable } from "./connection.ts";
import { type Answer, channelOf, exchange, type Kept, type Request } from "./exchange.ts";
import { keepMsOf, linesIn, textOf } from "./kept_tokens.ts";
import { Seal } from "./sealing.ts";
import { type StoreAddress, storeAddress } from "./store_address.ts";

const SAME: News = { kind: "same" };

/** One answer must not take longer: a new connection may find another server. */
const ANSWER_MS = 2_000;
/** What is said of a lock may be lost with a connection. */
const LOOK_MS = 2_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** What the store held when it was last asked, or holds as soon as it is asked again. */
interface Known extends Kept {
  readonly tokens: Tokens | undefined;
}

/** A lock with the number of what its holder writes; each write takes the next one. */
interface NumberedLock extends StoreLock {
  number: number;
}

/**
 * A Redis or Valkey server as the place that a session shares with other machines. This process keeps
 * the latest that it knows of, and brings it along whenever it asks: so a server that lost its data
 * has it again, and what could not be saved is saved then.
 */
export class RedisStore implements SharedStore {
  readonly #address: StoreAddress;
  readonly #connection: Connection;
  readonly #seal: Seal | undefined;
  readonly #configuration: () => Configuration;
  readonly #notices: Notices;
  #known: Known = { number: 0, id: "", data: "", tokens: undefined };
  /** What the session was told last, or wrote. */
  #told: Tokens | undefined;
  #syncing: Promise<unknown> | undefined;
  #problem: AuthError | undefined;

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
    notices.set("store key", address.warning);
    const connection = await Connection.to(address.url);
    return new RedisStore(address, connection, seal, configuration, notices);
  }

  /** Why the store did not answer when it was last asked. */
  get problem(): AuthError | undefined {
    return this.#problem;
  }

  read(): Tokens | undefined {
    return this.#told = this.#known.tokens;
  }

  news(): News {
    const before = this.#told;
    const tokens = this.read();
    if (isSame(before, tokens)) return SAME;
    return tokens ? { kind: "tokens", tokens } : { kind: "cleared" };
  }

  async sync(isPatient: boolean): Promise<void> {
    const limitMs = isPatient ? this.#configuration().settings.timeoutMs / 4 : GOOD_MS;
    // Shared by all callers, so that nobody's signal ends it.
    this.#syncing ??= this.#untilReached({}, limitMs).finally(() => this.#syncing = undefined);
    await this.#syncing;
  }

  async withLock<T>(
    waitMs: number,
    work: (lock: StoreLock) => Promise<T>,
    waiting: Waiting = {},
  ): Promise<T> {
    // Whoever waits outlasts a holder that was killed, and a holder's work, which gives up before.
    const owner = { owner: crypto.randomUUID(), lockMs: Math.ceil(waitMs * 0.8) };
    const lock = await this.#acquire(owner, waitMs, waiting);
    try {
      return await work(lock);
    } finally {
      if (lock.held) await this.#release(owner);
    }
  }

  async save(held: () => Tokens | undefined, lock: StoreLock): Promise<News> {
    const tokens = held();
    const known = await this.#sealed(tokens, this.#nextNumber(lock));
    return await this.#bring(known, lock) ? this.news() : SAME;
  }

  async clear(lock: StoreLock): Promise<void> {
    const known = await this.#sealed(undefined, this.#nextNumber(lock));
    if (!await this.#bring(known, lock) && this.#problem) throw this.#problem;
  }

  /** Makes this the latest, unless what others wrote is later. @returns Whether the store answered. */
  async #bring(known: Known, lock: StoreLock): Promise<boolean> {
    this.#known = known;
    this.#told = known.tokens;
    // Nobody else may write while the lock is held: worth some patience. A login goes on without it.
    const limitMs = lock.held ? this.#configuration().settings.timeoutMs / 4 : ANSWER_MS;
    return await this.#untilReached({}, limitMs) !== undefined;
  }

  /** The number of a write. Without the lock it is later than all that is known. */
  #nextNumber(lock: StoreLock): number {
    const numbered = lock as NumberedLock;
    if (lock.held) return numbered.number++;
    const { world } = this.#configuration();
    const now = lock.reason === "away" ? world.now() * 1_000 : numbered.number;
    return Math.max(now, this.#known.number + 1);
  }

  async #acquire(
    owner: Pick<Request, "owner" | "lockMs">,
    waitMs: number,
    { signal, reachMs = waitMs, isServed }: Waiting,
  ): Promise<NumberedLock> {
    const { world } = this.#configuration();
    const started = world.monotonic();
    const leftMs = () => waitMs - (world.monotonic() - started);
    let listening: Listening | undefined;
    try {
      for (;;) {
        // From before the question: what is said while it is asked must not be missed.
        const heard = listening?.next();
        const answer = await this.#untilReached(owner, Math.min(reachMs, leftMs()), signal);
        if (answer === undefined) return { held: false, reason: "away", number: 0 };
        if (answer.isHolder && signal?.aborted) await this.#release(owner);
        signal?.throwIfAborted();
        if (answer.isHolder) return { held: true, number: answer.number };
        if (leftMs() <= 0 || isServed?.()) {
          return { held: false, reason: "busy", number: answer.number };
        }
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

  /** Asks until there is an answer or the time is over. @returns `undefined`: there was none, and that is said. */
  async #untilReached(
    request: Pick<Request, "owner" | "lockMs">,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Answer | undefined> {
    const { world } = this.#configuration();
    const started = world.monotonic();
    for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const leftMs = limitMs - (world.monotonic() - started);
      try {
        return await this.#ask(request, Math.max(1, Math.min(leftMs, ANSWER_MS)), signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof Unreachable)) throw error;
        this.#setAway(error);
        // A call whose token is good does not wait for another try.
        if (limitMs <= GOOD_MS || leftMs - pause <= 0) return undefined;
        await world.sleep(pause * (0.5 + Math.random() / 2), signal);
        signal?.throwIfAborted();
      }
    }
  }

  async #ask(
    request: Pick<Request, "owner" | "lockMs">,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const known = this.#known;
    const { name } = this.#address;
    const keepMs = keepMsOf(known.tokens, this.#configuration().world.now());
    const all = { ...request, known, keepMs };
    const answer = await exchange(this.#connection, name, all, limitMs, signal);
    const { kept } = answer;
    if (kept.id !== this.#known.id && kept.number >= this.#known.number) {
      const opened = { ...kept, tokens: await this.#opened(kept.data) };
      // Another answer may have been later.
      if (kept.number >= this.#known.number) this.#known = opened;
    }
    this.#problem = undefined;
    for (const cause of ["store", "store unread"]) this.#notices.set(cause, undefined);
    const { account, host } = this.#address;
    const whose = account === undefined ? "without an account name" : `of ${account}`;
    this.#notices.set(
      "store empty",
      this.#known.id === "" ? `the store at ${host} holds no session ${whose}` : undefined,
    );
    return answer;
  }

  #setAway({ message }: Unreachable): void {
    this.#problem = new ConfigError(
      "STORE_UNREACHABLE",
      `Cannot use the session in the store at ${this.#address.host}: ${message}; start it, or ` +
        "correct AUTH_STORE, and try again",
    );
    this.#notices.set(
      "store",
      `${sentenceOf(this.#problem)}; until then the tokens in memory count`,
    );
  }

  async #sealed(tokens: Tokens | undefined, number: number): Promise<Known> {
    const id = crypto.randomUUID();
    if (tokens === undefined) return { number, id, data: "", tokens };
    const text = textOf(tokens);
    const data = await this.#seal?.close(text, this.#address.name) ?? text.reveal();
    return { number, id, data, tokens };
  }

  async #opened(data: string): Promise<Tokens | undefined> {
    this.#notices.set("stored", undefined);
    if (data === "") return undefined;
    const { settings, world } = this.#configuration();
    const text = this.#seal ? await this.#seal.open(data, this.#address.name) : new Secret(data);
    const lines = linesIn(text?.reveal() ?? "");
    if (lines === undefined) {
      this.#notices.set(
        "stored",
        `the session in the store at ${this.#address.host} was saved with another AUTH_STORE_KEY, ` +
          "or changed since, and is ignored; set the same key on all machines, or run login()",
      );
      return undefined;
    }
    const clientId = settings.text("clientId");
    const { parts, note } = readStored((key) => lines[key], "store", clientId, world.now());
    this.#notices.set("stored", note);
    return parts && makeTokens(parts, world);
  }
}

function isSame(a: Tokens | undefined, b: Tokens | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return sameAccess(a, b) && a.refreshToken?.reveal() === b.refreshToken?.reveal();
}
