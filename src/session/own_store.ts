import { type AuthError, ConfigError } from "../errors/errors.ts";
import { causeOf } from "../errors/cause.ts";
import { onAbort, unlessAborted } from "../platform/abort.ts";
import { Secret } from "../platform/secret.ts";
import { makeTokens, type Tokens } from "../provider/tokens.ts";
import type { SessionRecord, SessionStore } from "../settings/session_store.ts";
import {
  type Change,
  lockBusy,
  NOTHING,
  OWN_PLACE,
  placeText,
  type Stored,
  type StoredSession,
  type TokenStore,
  type Updated,
  type WaitOptions,
  type Write,
} from "./store.ts";
import { linesOf, readStored, TOKEN_KEYS } from "./stored_tokens.ts";

/** Time limit of a read if the token is still valid. */
const BRIEF_MS = 1_000;
/** The share of a call's time limit that each step of a probe may use. */
const PROBE_SHARE = 0.25;

/** Returns the record to store. */
type Answer = (now: SessionRecord | undefined) => SessionRecord | undefined;

/** Stores a session where the program wants it: see `SessionStore`. */
export class OwnStore implements TokenStore {
  readonly place = OWN_PLACE;
  #known = NOTHING;
  /** The lines of the record that was last read or stored, to detect a change. */
  #lines: Secret | undefined;
  /** Whether the last change could not be stored, so that the content in memory is newer. */
  #isAhead = false;
  #reading: Promise<void> | undefined;

  constructor(private readonly store: SessionStore, private readonly session: StoredSession) {}

  peek(): Stored {
    return this.#known;
  }

  async look({ isNeeded, ms }: WaitOptions): Promise<void> {
    const reading = this.#reading ??= this.#read();
    const failure = await this.#failureOf("read", reading, isNeeded ? ms : Math.min(ms, BRIEF_MS));
    // After a failure, too, the next call reads again.
    if (this.#reading === reading) this.#reading = undefined;
    if (failure && isNeeded) throw failure;
  }

  async update({ ms, signal }: WaitOptions, change: Change): Promise<Updated> {
    signal?.throwIfAborted();
    const turn = Promise.withResolvers<"held" | "busy" | "canceled" | ConfigError | undefined>();
    const answer = Promise.withResolvers<Answer>();
    const work = Promise.try(() =>
      this.store.update(async (now) => {
        this.#take(now);
        turn.resolve("held");
        return (await answer.promise)(now);
      })
    );
    work.then(() => turn.resolve(undefined), (error) => turn.resolve(failed("update", error)));
    const stopTimer = onAbort(this.#timeout(ms), () => turn.resolve("busy"));
    const stopListening = onAbort(signal, () => turn.resolve("canceled"));
    const state = await turn.promise;
    stopTimer();
    stopListening();
    const isHeld = state === "held";
    // If the store calls its function later, the record stays as it is.
    if (!isHeld) answer.resolve((now) => now);
    if (state === "canceled") signal?.throwIfAborted();
    const problem = isHeld ? undefined : problemOf(state);
    if (problem instanceof ConfigError) this.#report(problem);

    let write: Write | undefined;
    try {
      write = await change(this.#known, { isHeld, problem });
    } catch (error) {
      answer.reject(error);
      // The next change must find the lock released.
      if (isHeld) await unlessAborted(this.#timeout(ms), work).catch(() => {});
      throw error;
    }
    const record = write && recordOf(write.tokens);
    answer.resolve((now) => record ?? now);
    const failure = isHeld
      ? await this.#failureOf("update", work, ms)
      : write && (problem instanceof ConfigError ? problem : unreachable(BUSY));
    if (write) {
      this.#known = { tokens: write.tokens };
      this.#isAhead = failure !== undefined;
      if (!failure) this.#lines = linesIn(record);
      this.session.notices.clear("NOT_SAVED", "STORE_EMPTY");
    }
    if (failure) this.#report(failure);
    return { stored: this.#known, problem: failure };
  }

  /** Reads the record, then updates it without a change. */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.session.configuration.settings.timeoutMs * PROBE_SHARE;
    const wait = { ms, isNeeded: true, signal };
    await this.look(wait);
    const { problem } = await this.update(wait, (_, lock) => {
      if (lock.problem) throw lock.problem;
      return Promise.resolve(undefined);
    });
    if (problem) throw problem;
  }

  async #read(): Promise<void> {
    const before = this.#known;
    const record = await this.store.read();
    // A record that was read before a change is outdated.
    if (this.#known === before) this.#take(record);
  }

  /** Adopts a record that was read, unless it is the one already known. */
  #take(record: SessionRecord | undefined): void {
    const { notices, configuration: { issuer, world } } = this.session;
    const lines = linesIn(record);
    const isKnown = lines.reveal() === this.#lines?.reveal();
    // If the store could not be read before a change, its content is older than that change.
    const isOlder = this.#isAhead && this.#lines === undefined;
    this.#lines = lines;
    notices.clear("STORE_AWAY", "STORE_UNREAD");
    if (isKnown || isOlder) return;
    const { parts, note } = readStored((key) => record?.[key], "store", issuer);
    const isEmpty = parts === undefined && note === undefined;
    notices.replace({
      NOT_SAVED: undefined,
      STORED_IGNORED: note,
      STORE_EMPTY: isEmpty ? { problem: `${PLACE} contains no session`, fix: "" } : undefined,
    });
    this.#isAhead = false;
    const tokens = parts && makeTokens(parts, world);
    if (tokens || this.#known.tokens) this.#known = { tokens };
  }

  /** Waits for the program's code. Its error is not thrown, because it may contain a secret. */
  async #failureOf(
    method: "read" | "update",
    work: Promise<void>,
    ms: number,
  ): Promise<ConfigError | undefined> {
    try {
      await unlessAborted(this.#timeout(ms), work);
      return undefined;
    } catch (error) {
      const failure = failed(method, error);
      this.#report(failure);
      return failure;
    }
  }

  #report({ problem, fix }: ConfigError): void {
    const isUnsaved = this.#isAhead && this.#known.tokens !== undefined;
    const inMemory = { problem: `the session is kept in memory only: ${problem}`, fix };
    this.session.notices.replace({
      STORE_UNREAD: undefined,
      STORE_EMPTY: undefined,
      NOT_SAVED: isUnsaved ? inMemory : undefined,
      STORE_AWAY: isUnsaved ? undefined : { problem, fix },
    });
  }

  #timeout(ms: number): AbortSignal {
    return this.session.configuration.world.timeout(ms);
  }
}

const PLACE = placeText(OWN_PLACE);
const BUSY = "another process held its lock for too long";

/** The reason why a change is made without the lock. */
function problemOf(state: string | ConfigError | undefined): AuthError {
  if (state instanceof ConfigError) return state;
  return state === "busy" ? lockBusy("store") : unreachable("update() did not call its function");
}

function failed(method: "read" | "update", error: unknown): ConfigError {
  const { name = "a value that is not an Error", code } = causeOf(error) ?? {};
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  const why = isLate ? "took too long" : `failed with ${[name, code].filter(Boolean).join(" ")}`;
  return unreachable(`${method}() ${why}`, error);
}

function unreachable(why: string, cause?: unknown): ConfigError {
  return new ConfigError(
    "STORE_UNREACHABLE",
    `Cannot use the session in ${PLACE}: ${why}`,
    "check the object in the option store (checkStore() of the sandbox tests it), and try again",
    cause,
  );
}

/** A logout stores a record without members. */
function recordOf(tokens: Tokens | undefined): SessionRecord {
  return Object.fromEntries(
    [...linesOf(tokens)].flatMap(([key, value]) => value === undefined ? [] : [[key, value]]),
  );
}

function linesIn(record: SessionRecord | undefined): Secret {
  return new Secret(JSON.stringify(TOKEN_KEYS.map((key) => record?.[key])));
}
