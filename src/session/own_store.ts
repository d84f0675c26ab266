import { ConfigError } from "../errors/errors.ts";
import { onAbort, unlessAborted } from "../platform/abort.ts";
import { Secret } from "../platform/secret.ts";
import { makeTokens } from "../provider/tokens.ts";
import { notSaved } from "./notices.ts";
import type { SessionRecord, SessionStore } from "../settings/session_store.ts";
import {
  type Change,
  type Lock,
  lockBusy,
  NOTHING,
  OWN_PLACE,
  PROBE_SHARE,
  type Stored,
  type StoredSession,
  type TokenStore,
  type Updated,
  type WaitOptions,
} from "./store.ts";
import { readStored, recordOf, TOKEN_KEYS } from "./stored_tokens.ts";

/** Time limit of a read if the token is still valid. */
const BRIEF_MS = 1_000;

/** Stores a session in an object of the program: see `SessionStore`. */
export class OwnStore implements TokenStore {
  readonly place = OWN_PLACE;
  #known = NOTHING;
  /** The lines of the last record that was read or stored; `undefined` before the first. */
  #lines: Secret | undefined;
  #reading: Promise<void> | undefined;

  constructor(private readonly store: SessionStore, private readonly session: StoredSession) {}

  peek(): Stored {
    return this.#known;
  }

  async look({ isNeeded, ms }: WaitOptions): Promise<void> {
    this.#reading ??= this.#read();
    const limit = this.#timeout(isNeeded ? ms : Math.min(ms, BRIEF_MS));
    const failure = await failureOf("read", this.#reading, limit);
    // The next call reads again, even if this read never ends.
    this.#reading = undefined;
    if (failure === undefined) return;
    const { notices } = this.session;
    notices.replace({ STORE_AWAY: failure, STORE_EMPTY: undefined, STORE_UNREAD: undefined });
    if (isNeeded) throw failure;
  }

  /**
   * The program's store takes its lock, calls the function below, and stores the result. The
   * function therefore waits until `change` has decided.
   */
  async update({ ms, signal }: WaitOptions, change: Change): Promise<Updated> {
    signal?.throwIfAborted();
    const turn = Promise.withResolvers<Lock>();
    // The record to store; `undefined` leaves the stored record unchanged.
    const answer = Promise.withResolvers<SessionRecord | undefined>();
    const work = Promise.try(() =>
      this.store.update(async (now) => {
        this.#take(now);
        turn.resolve({ isHeld: true });
        return await answer.promise ?? now;
      })
    );
    // If `update()` ends without calling the function, there is no lock. After a call, `end` has no
    // effect.
    const end = (error: unknown) =>
      turn.resolve({ isHeld: false, problem: failed("update", error) });
    work.then(end, end);
    const busy = { isHeld: false, problem: lockBusy("store") };
    const stopTimer = onAbort(this.#timeout(ms), () => turn.resolve(busy));
    const lock = await unlessAborted(signal, turn.promise).catch((reason) => {
      answer.resolve(undefined);
      throw reason;
    }).finally(stopTimer);

    const deciding = change(this.#known, lock);
    const next = deciding.then((write) => write && recordOf(write.tokens));
    answer.resolve(lock.isHeld ? next : undefined);
    await next.catch(() => {});
    const failure = lock.isHeld
      ? await failureOf("update", work, this.#timeout(ms))
      : failed("update", undefined);
    // An error of the change is thrown here, after the lock was released.
    const write = await deciding;
    if (write) {
      this.#known = { tokens: write.tokens };
      if (!failure) this.#lines = linesIn(await next);
      this.session.notices.replace({
        NOT_SAVED: failure && write.tokens && notSaved(failure),
        STORE_AWAY: undefined,
        STORE_EMPTY: undefined,
        STORE_UNREAD: undefined,
      });
    }
    return { stored: this.#known, problem: failure };
  }

  /** Reads the record, then makes an update that changes nothing. */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.session.configuration.settings.timeoutMs * PROBE_SHARE;
    const wait = { ms, isNeeded: true, signal };
    await this.look(wait);
    const { problem } = await this.update(wait, () => Promise.resolve(undefined));
    if (problem) throw problem;
  }

  async #read(): Promise<void> {
    const before = this.#known;
    const record = await this.store.read();
    // If a change took effect during the read, the record is outdated.
    if (this.#known === before) this.#take(record);
  }

  /** Adopts a record, unless this store has already read or written the same record. */
  #take(record: SessionRecord | undefined): void {
    const { notices, configuration: { issuer, world } } = this.session;
    const lines = linesIn(record);
    // If a login before the first read could not be stored, the record is older than the login and
    // is not adopted.
    const isOlder = this.#lines === undefined && this.#known !== NOTHING;
    const isKnown = isOlder || lines.reveal() === this.#lines?.reveal();
    this.#lines = lines;
    notices.clear("STORE_AWAY", "STORE_UNREAD");
    if (isKnown) return;
    const { parts, note } = readStored((key) => record?.[key], "store", issuer);
    const empty = { problem: `${OWN_PLACE.store} contains no session`, fix: "" };
    notices.replace({
      NOT_SAVED: undefined,
      STORED_IGNORED: note,
      STORE_EMPTY: parts || note ? undefined : empty,
    });
    const tokens = parts && makeTokens(parts, world);
    if (tokens || this.#known.tokens) this.#known = { tokens };
  }

  #timeout(ms: number): AbortSignal {
    return this.session.configuration.world.timeout(ms);
  }
}

function failureOf(
  method: "read" | "update",
  work: Promise<void>,
  limit: AbortSignal,
): Promise<ConfigError | undefined> {
  return unlessAborted(limit, work).then(() => undefined, (error) => failed(method, error));
}

/**
 * @param cause The program's error. Its message may contain a secret, so the message is dropped.
 */
function failed(method: "read" | "update", cause: unknown): ConfigError {
  return new ConfigError(
    "STORE_UNREACHABLE",
    `Cannot use the session in ${OWN_PLACE.store}: ${method}() failed or took too long`,
    "check the object in the option store, for example with checkStore() of the sandbox, and try again",
    cause,
  );
}

function linesIn(record: SessionRecord | undefined): Secret {
  return new Secret(JSON.stringify(TOKEN_KEYS.map((key) => record?.[key])));
}
