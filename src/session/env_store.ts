import { grantsOthers, readEnvFile, updateEnvFile } from "../dotenv/file.ts";
import { gitTracking, ignoreAdvice, untrackCommand } from "../files/git.ts";
import { lockBeside } from "../dotenv/lock.ts";
import { AuthError, sentenceOf } from "../errors/errors.ts";
import { Secret } from "../values/secret.ts";
import { linesOf, readStored, TOKEN_KEYS } from "./stored_tokens.ts";
import { makeTokens, type Tokens } from "../values/tokens.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";
import type { SharedStore, StoreLock, Waiting } from "./shared_store.ts";
import type { News } from "./state.ts";

const DENIED =
  "the lock file beside the .env belongs to another user, so this process refreshes on its own; " +
  "remove that file (.env.lock)";

const SAME: News = { kind: "same" };

/** The token lines of the file, and the tokens that they were written from, if this session wrote them. */
interface Seen {
  readonly lines: Secret;
  readonly written?: Tokens | undefined;
}

/** The `.env` as the place that a session shares with other processes. */
export class EnvStore implements SharedStore {
  readonly #path: string;
  readonly #configuration: () => Configuration;
  readonly #notices: Notices;
  /** The token lines as this session last read or wrote them: what differs from these is news. */
  #seen: Seen = { lines: new Secret("") };
  /** The last write: where locks are impossible, the writes of one process follow each other all the same. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(path: string, configuration: () => Configuration, notices: Notices) {
    this.#path = path;
    this.#configuration = configuration;
    this.#notices = notices;
  }

  read(): Tokens | undefined {
    const { problem, values } = this.#configuration().settings.file;
    if (problem) this.#notices.set("file", sentenceOf(problem));
    this.#seen = { lines: tokenLines(values) };
    return this.#tokensIn(values);
  }

  /** A file that is gone or unreadable is no news: memory goes on. */
  news(): News {
    const { exists, problem, values } = readEnvFile(this.#path);
    return exists && !problem ? this.#newsIn(values) : SAME;
  }

  async withLock<T>(
    waitMs: number,
    work: (lock: StoreLock) => Promise<T>,
    { signal }: Waiting = {},
  ): Promise<T> {
    const lock = await lockBeside(this.#path, waitMs, this.#configuration().world, signal);
    this.#notices.set("lock file", lock.held || lock.reason !== "denied" ? undefined : DENIED);
    try {
      return await work(lock);
    } finally {
      lock.release();
    }
  }

  async save(held: () => Tokens | undefined, lock: StoreLock, over: boolean): Promise<News> {
    // Whatever was wrong with the file when it was read, this save tells.
    this.#notices.set("file", undefined);
    try {
      const news = await this.#write(held, lock, over);
      this.#notices.set("save", undefined);
      return news;
    } catch (error) {
      const why = error instanceof AuthError ? sentenceOf(error) : "it cannot be written";
      this.#notices.set("save", `the session is kept in memory only: ${why}`);
      return SAME;
    }
  }

  async clear(lock: StoreLock): Promise<void> {
    await this.#writing;
    const { exists, problem, values } = readEnvFile(this.#path);
    if (problem) throw problem;
    if (exists && TOKEN_KEYS.some((key) => values.has(key))) {
      await this.#write(() => undefined, lock, true);
    }
  }

  async #write(held: () => Tokens | undefined, lock: StoreLock, over: boolean): Promise<News> {
    const written = this.#writing.then(() => this.#writeNow(held(), lock.held, over));
    this.#writing = written.catch(() => {});
    return await written;
  }

  async #writeNow(
    tokens: Tokens | undefined,
    locked: boolean,
    over: boolean,
  ): Promise<News> {
    const path = this.#path;
    const lines = linesOf(tokens);
    // A login during a refresh is saved by both. What others wrote after the first time is newer.
    const isRepeated = tokens !== undefined && tokens === this.#seen.written;
    let news: News = SAME;
    const mode = await updateEnvFile(path, lines, locked, (values) => {
      // What is there now is no news later, also if this write fails.
      if (over && !isRepeated) this.#seen = { lines: tokenLines(values) };
      else news = this.#newsIn(values);
      return news.kind === "same";
    });
    if (news.kind !== "same") return news;
    this.#seen = { lines: tokenLines(lines), written: tokens };
    await this.#warnIfTracked(path, over);
    this.#notices.set(
      "mode",
      grantsOthers(mode)
        ? `${path} could be read by other users of this computer; it is private now`
        : undefined,
    );
    return SAME;
  }

  #newsIn(values: ReadonlyMap<string, string>): News {
    const lines = tokenLines(values);
    if (lines.reveal() === this.#seen.lines.reveal()) return SAME;
    this.#seen = { lines };
    const tokens = this.#tokensIn(values);
    return tokens ? { kind: "tokens", tokens } : { kind: "cleared" };
  }

  async #warnIfTracked(path: string, again: boolean): Promise<void> {
    this.#notices.set(
      "git",
      await gitTracking(path, again) !== "tracked"
        ? undefined
        : `git tracks ${path}, so the next commit would publish your tokens; ` +
          `run: ${untrackCommand(path)}; and ${ignoreAdvice(path)}`,
    );
  }

  #tokensIn(values: ReadonlyMap<string, string>): Tokens | undefined {
    const { settings, world } = this.#configuration();
    const clientId = settings.text("clientId");
    const { parts, note } = readStored((key) => values.get(key), "file", clientId, world.now());
    this.#notices.set("stored", note);
    const tokens = parts && makeTokens(parts, world);
    this.#notices.learnIssued(tokens?.claims.iat, world.now());
    return tokens;
  }
}

function tokenLines(values: ReadonlyMap<string, string | undefined>): Secret {
  return new Secret(TOKEN_KEYS.map((key) => values.get(key) ?? "").join("\n"));
}
