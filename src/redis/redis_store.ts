import { checkOptions } from "../errors/arguments.ts";
import { ConfigError, missingPermission, typeError } from "../errors/errors.ts";
import { backoffMs } from "../platform/backoff.ts";
import { worldOf } from "../platform/world.ts";
import { REFRESH_DAYS } from "../provider/tokens.ts";
import { DEFAULT_TIMEOUT_MS, parseTimeout } from "../settings/options.ts";
import type { SessionLock, SessionRecord, SessionStore } from "../settings/session_store.ts";
import { notRedis, run, Unreachable } from "./connection.ts";
import { recordIn } from "./record.ts";
import { LOCK, READ, RELEASE, type Script, WRITE } from "./scripts.ts";
import { sealed } from "./sealing.ts";
import { type StoreAddress, storeAddress } from "./store_address.ts";

/** Options of {@linkcode redisStore}. */
export interface RedisStoreOptions {
  /**
   * The key that encrypts the record: 32 bytes in base64 (`openssl rand -base64 32`). Without a key, the
   * server must be on loopback or use TLS.
   */
  key?: string | undefined;
  /**
   * The session's name on this server. Default: the name after the `#` of the address, or
   * `default`.
   */
  name?: string | undefined;
  /**
   * The time limit of the session's logins and refreshes in milliseconds (`timeoutMs`), which
   * determines when a lock expires. It must be the same in all processes. Default 30 000.
   */
  timeoutMs?: number | undefined;
}

const OPTION_TYPES = { key: ["string"], name: ["string"], timeoutMs: ["number"] };

/** Lifetime of a record after it was last written. A refresh token lives about as long. */
const KEEP_MS = REFRESH_DAYS * 86_400_000;
/**
 * Lifetime of the lock, as a share of the session's time limit. A session stops its request to the
 * provider after half of the limit, and waits for the lock for three quarters of it. So the lock of
 * a killed process expires before the others stop waiting.
 */
const LOCK_SHARE = 0.6;
/** Time limit for the release of a lock. If it fails, the lock expires. */
const RELEASE_MS = 1_000;
/**
 * The shortest and the longest pause between two requests while the store is unreachable or its
 * lock is busy.
 */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Keeps a session on a Redis (6.2 or later) or Valkey server. `AUTH_STORE` opens the same store for
 * the default session, with a name made from the provider, the client and the account.
 *
 * Each request opens a connection, so an open session does not keep a script from ending. A request
 * is repeated until its signal aborts, and once more after that. It ends at most half a second
 * after the abort.
 *
 * Requires the permission `--allow-net` for the server. The client package is downloaded at first
 * use.
 *
 * @example
 * ```ts
 * import { createSession } from "@platform-auth/platform-auth";
 * import { redisStore } from "@platform-auth/platform-auth/redis";
 *
 * const session = createSession({ store: redisStore("redis://127.0.0.1:6379/0#ada") });
 * console.log(session.status().state); // none
 * ```
 *
 * @param url Such as `rediss://user:password@host:6379/0#account`.
 * @throws {ConfigError} `INVALID_SETTING` if the address or the key cannot be used. The methods of
 * the store throw `PERMISSION`, `PACKAGE_UNAVAILABLE` or `STORE_UNREACHABLE`.
 */
export function redisStore(url: string | URL, options: RedisStoreOptions = {}): SessionStore {
  checkOptions("redisStore()", options, OPTION_TYPES);
  const { key, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (parseTimeout(`${timeoutMs}`) === undefined) {
    throw typeError(`redisStore() takes a whole number from 1 to 3600000 as "timeoutMs"`);
  }
  const address = storeAddress(`${url}`, key !== undefined);
  const name = options.name ?? address.account ?? "default";
  const store = new RedisStore(address, name, Math.ceil(timeoutMs * LOCK_SHARE));
  return key === undefined ? store : sealed(store, key, name);
}

const { random, sleep, timeout } = worldOf({});

class RedisStore implements SessionStore {
  readonly #address: StoreAddress;
  /** The record and its lock. */
  readonly #keys: readonly [record: string, lock: string];
  readonly #lockMs: number;

  constructor(address: StoreAddress, name: string, lockMs: number) {
    this.#address = address;
    // The 3 is the version of the record's format. The braces make Redis keep both keys on one node
    // of a cluster.
    const record = `platform-auth:3:{${name}}`;
    this.#keys = [record, `${record}:lock`];
    this.#lockMs = lockMs;
  }

  async read(signal: AbortSignal): Promise<SessionRecord | undefined> {
    const text = await this.#repeat(READ, [], signal);
    // Text of another program becomes a record without a session, which the next login replaces.
    return text === null ? undefined : recordIn(text) ?? { TEXT: text };
  }

  async lock(signal: AbortSignal): Promise<SessionLock> {
    const owner = crypto.randomUUID();
    try {
      await this.#repeat(LOCK, [owner, `${this.#lockMs}`], signal, 0);
    } catch (error) {
      // The server may have granted the lock although its reply did not arrive.
      await this.#release(owner, AbortSignal.abort());
      throw error;
    }
    return {
      write: async (record, signal) => {
        const words = [owner, JSON.stringify(record), `${KEEP_MS}`];
        if (await this.#repeat(WRITE, words, signal) === 0) {
          const lost = "the lock expired before the session was saved";
          throw this.#error(lost, "try again; if this happens often, increase AUTH_TIMEOUT_MS");
        }
      },
      [Symbol.asyncDispose]: () => this.#release(owner, timeout(RELEASE_MS)),
    };
  }

  async #release(owner: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#repeat(RELEASE, [owner], signal);
    } catch {
      // The lock expires.
    }
  }

  /**
   * Repeats a request, with pauses, until it has a reply. After the signal has aborted, there is
   * one last, brief attempt, because the process may have been suspended until then.
   *
   * @param busy A reply that means "not yet", so the request is repeated.
   * @throws The signal's reason if the last reply was `busy`.
   */
  async #repeat<Reply>(
    script: Script<Reply>,
    words: readonly string[],
    signal: AbortSignal,
    busy?: Reply,
  ): Promise<Reply> {
    const { host } = this.#address;
    if (Deno.permissions.requestSync({ name: "net", host }).state !== "granted") {
      throw missingPermission(`use the store at ${host}`, `--allow-net=${host}`);
    }
    let problem: Unreachable | undefined;
    for (let attempt = 1;; attempt++) {
      const isLast = signal.aborted;
      try {
        const reply = await run(this.#address, script.text, this.#keys, words, signal);
        if (!script.isReply(reply)) throw notRedis();
        if (reply !== busy) return reply;
        problem = undefined;
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        // The last attempts are cut short, so their failures say less than an earlier outcome.
        if (!signal.aborted || attempt === 1) problem = error;
        if (error.details.isPermanent) throw this.#unreachable(error);
      }
      if (isLast) throw problem ? this.#unreachable(problem) : signal.reason;
      await sleep(backoffMs(attempt, FIRST_PAUSE_MS, random, LONGEST_PAUSE_MS), signal);
    }
  }

  #unreachable({ message, details, cause }: Unreachable): ConfigError {
    const fix = details.fix ?? "start the store, or correct AUTH_STORE, and try again";
    return this.#error(message, fix, cause);
  }

  #error(problem: string, fix: string, cause?: unknown): ConfigError {
    const failed = `Cannot use the session in the store at ${this.#address.host}: ${problem}`;
    return new ConfigError("STORE_UNREACHABLE", failed, fix, cause);
  }
}
