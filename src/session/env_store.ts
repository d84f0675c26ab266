import {
  type EnvFile,
  grantsOthers,
  lockEnvFile,
  readEnvFile,
  updateEnvFile,
} from "../settings/env_file.ts";
import { AuthError, ConfigError } from "../errors/errors.ts";
import { Secret } from "../platform/secret.ts";
import { makeTokens, type Tokens } from "../provider/tokens.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";
import {
  NOTHING,
  type SessionStore,
  type Stored,
  type Transaction,
  type Wait,
  type Written,
} from "./store.ts";
import { isOtherPrograms, linesOf, readStored, TOKEN_KEYS } from "./stored_tokens.ts";

/** The `.env` as the place that a session shares with other processes. */
export class EnvStore implements SessionStore {
  readonly #path: string;
  readonly #configuration: () => Configuration;
  readonly #notices: Notices;
  /** What the file held when it was last read or written; `undefined`: not read yet. */
  #last: Stored | undefined;
  /** The token lines of that: other lines are news. */
  #lines = new Secret("");

  constructor(path: string, configuration: () => Configuration, notices: Notices) {
    this.#path = path;
    this.#configuration = configuration;
    this.#notices = notices;
  }

  read(): Stored {
    if (this.#last === undefined) {
      // The settings were read from the same file just now.
      const { problem, values } = this.#configuration().settings.file;
      if (problem) this.#notices.set("FILE_UNREADABLE", problem.problem, problem.fix);
      return this.#storedIn(values);
    }
    const { exists, problem, values } = readEnvFile(this.#path);
    // A file that is gone or unreadable is no news: memory goes on.
    return exists && !problem ? this.#storedIn(values) : this.#last;
  }

  async transaction<T>(work: (transaction: Transaction) => Promise<T>, wait: Wait): Promise<T> {
    const { world } = this.#configuration();
    const { file, lock } = await lockEnvFile(this.#path, wait.ms, world, wait.signal);
    if (lock.state === "denied") {
      this.#notices.set(
        "LOCK_DENIED",
        "the lock file beside the .env belongs to another user, so this process refreshes on its own",
        "remove that file (.env.lock)",
      );
    } else this.#notices.clear("LOCK_DENIED");
    let isSaved = false;
    try {
      return await work({
        lock: lock.state,
        write: async (tokens, by) => {
          const isLogin = by === "change";
          const written = await this.#write(file, tokens, lock.state === "held", isLogin);
          isSaved ||= written.kind === "saved" && tokens !== undefined;
          return written;
        },
      });
    } finally {
      lock.release();
      // Git may take its time, so others do not wait for it at the lock.
      if (isSaved) await this.#tellGit();
    }
  }

  async #write(
    file: EnvFile | ConfigError,
    tokens: Tokens | undefined,
    locked: boolean,
    over: boolean,
  ): Promise<Written> {
    const written = await this.#writeNow(file, tokens, locked, over);
    // Whatever was wrong with the file when it was read, this save tells.
    this.#notices.clear("FILE_UNREADABLE");
    if (written.kind === "failed" && tokens !== undefined) {
      const { problem, fix } = written.problem;
      this.#notices.set("NOT_SAVED", `the session is kept in memory only: ${problem}`, fix);
    }
    if (written.kind === "saved") this.#notices.clear("NOT_SAVED");
    return written;
  }

  async #writeNow(
    file: EnvFile | ConfigError,
    tokens: Tokens | undefined,
    locked: boolean,
    over: boolean,
  ): Promise<Written> {
    const before = this.#last ?? this.read();
    let now = before;
    const lines = linesOf(tokens);
    try {
      // A file that holds no tokens need not be writable.
      if (tokens === undefined && holdsNoTokens(this.#path, this.#configuration().settings)) {
        return this.#wrote(tokens, lines);
      }
      if (file instanceof ConfigError) throw file;
      const mode = await updateEnvFile(file, lines, locked, (values) => {
        now = this.#storedIn(values);
        return over || now === before;
      });
      if (!over && now !== before) return { kind: "others wrote", stored: now };
      this.#tellMode(mode);
      return this.#wrote(tokens, lines);
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      return { kind: "failed", problem: error, stored: now };
    }
  }

  #wrote(tokens: Tokens | undefined, lines: ReadonlyMap<string, string | undefined>): Written {
    this.#last = { tokens };
    this.#lines = tokenLines(lines);
    return { kind: "saved", stored: this.#last };
  }

  /** The same object while the token lines are the same. */
  #storedIn(values: ReadonlyMap<string, string>): Stored {
    const lines = tokenLines(values);
    if (this.#last !== undefined && lines.reveal() === this.#lines.reveal()) return this.#last;
    const tokens = this.#tokensIn(values);
    this.#lines = lines;
    return this.#last = tokens === undefined ? { ...NOTHING } : { tokens };
  }

  #tokensIn(values: ReadonlyMap<string, string>): Tokens | undefined {
    const { settings, world } = this.#configuration();
    if (isOtherPrograms(values, settings)) {
      this.#notices.set(
        "STORED_IGNORED",
        `ACCESS_TOKEN in ${this.#path} seems to be another program's and is ignored`,
        "name another file in AUTH_ENV_FILE (envFile), as a login would write over it",
      );
      return undefined;
    }
    const clientId = settings.text("clientId");
    const { parts, note } = readStored((key) => values.get(key), "file", clientId, world.now());
    if (note === undefined) this.#notices.clear("STORED_IGNORED");
    else this.#notices.set("STORED_IGNORED", note.problem, note.fix);
    const tokens = parts && makeTokens(parts, world);
    this.#notices.learnIssued(tokens?.claims.iat, world.now());
    return tokens;
  }

  #tellMode(mode: number | undefined): void {
    if (!grantsOthers(mode)) return this.#notices.clear("FILE_WAS_OPEN");
    this.#notices.set(
      "FILE_WAS_OPEN",
      `${this.#path} could be read by other users of this computer`,
      "it is private now",
    );
  }

  async #tellGit(): Promise<void> {
    const { ignoreAdvice, isTrackedAtSave, untrackCommand } = await import("../platform/git.ts");
    if (!await isTrackedAtSave(this.#path)) return this.#notices.clear("FILE_IN_GIT");
    this.#notices.set(
      "FILE_IN_GIT",
      `git tracks ${this.#path}, so the next commit would publish your tokens`,
      `run: ${untrackCommand(this.#path)}; and ${ignoreAdvice(this.#path)}`,
    );
  }
}

function holdsNoTokens(path: string, settings: Settings): boolean {
  const { problem, values } = readEnvFile(path);
  return problem === undefined &&
    (isOtherPrograms(values, settings) || !TOKEN_KEYS.some((key) => values.has(key)));
}

function tokenLines(values: ReadonlyMap<string, string | undefined>): Secret {
  return new Secret(TOKEN_KEYS.map((key) => values.get(key) ?? "").join("\n"));
}
