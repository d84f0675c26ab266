import { isWide, readEnvFile, removeLeftover, updateEnvFile } from "../dotenv/file.ts";
import { AuthError, sentenceOf } from "../values/errors.ts";
import { type FileLock, lockBeside } from "../dotenv/lock.ts";
import { gitTracking } from "../dotenv/git_tracking.ts";
import { Secret } from "../values/secret.ts";
import type { SessionContext } from "./configuration.ts";
import { linesOf, readStored, TOKEN_KEYS } from "../values/stored_tokens.ts";
import { makeTokens, type Tokens } from "../values/tokens.ts";

/** What others did to the file since this session last read or wrote it. */
export type FileNews =
  | { readonly kind: "same" }
  | { readonly kind: "cleared" }
  | { readonly kind: "tokens"; readonly tokens: Tokens };

const SAME: FileNews = { kind: "same" };

/** The `.env` as the place where a session's tokens are kept, shared with other processes. */
export class SessionFile {
  readonly #context: SessionContext;
  /** The token lines as they were when last read or written. */
  #seen = new Secret("");
  #gitChecked = false;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** The tokens that the file held when the settings were read. */
  load(): Tokens | undefined {
    const { settings, warnings } = this.#context;
    const { problem } = settings.file;
    if (problem) warnings.set("file", sentenceOf(problem));
    this.#seen = tokenLines(settings.file.values);
    return this.#tokensIn(settings.file.values);
  }

  /** Looks for what others wrote. A file that is gone or unreadable is no news: memory goes on. */
  news(): FileNews {
    const path = this.#context.envFile;
    if (path === undefined) return SAME;
    const { exists, problem, values } = readEnvFile(path);
    if (!exists || problem) return SAME;
    const lines = tokenLines(values);
    if (lines.reveal() === this.#seen.reveal()) return SAME;
    this.#seen = lines;
    const tokens = this.#tokensIn(values);
    return tokens ? { kind: "tokens", tokens } : { kind: "cleared" };
  }

  /** Writes the tokens. A failure is a warning: they stay in memory. */
  async save(tokens: Tokens | undefined, alone: boolean): Promise<void> {
    const { envFile, warnings } = this.#context;
    if (envFile === undefined) return;
    // Whatever was wrong with the file when it was read, this save tells.
    warnings.delete("file");
    try {
      await this.#write(envFile, tokens, alone);
      warnings.delete("save");
    } catch (error) {
      const why = error instanceof AuthError ? sentenceOf(error) : "it cannot be written";
      warnings.set("save", `the session is kept in memory only: ${why}`);
    }
  }

  /**
   * Takes the tokens out of the file.
   *
   * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if they are still in it.
   */
  async clear(alone: boolean): Promise<void> {
    const { envFile } = this.#context;
    if (envFile === undefined) return;
    const { exists, problem, values } = readEnvFile(envFile);
    if (problem) throw problem;
    if (alone) removeLeftover(envFile);
    if (exists && TOKEN_KEYS.some((key) => values.has(key))) {
      await this.#write(envFile, undefined, alone);
    }
  }

  /** Works under the lock that processes on the same file share, waiting for it at most that long. */
  async withLock<T>(waitMs: number, work: (lock: FileLock) => Promise<T>): Promise<T> {
    const { envFile, world } = this.#context;
    const lock: FileLock = envFile === undefined
      ? { held: false, reason: "impossible", release() {} }
      : await lockBeside(envFile, waitMs, world);
    try {
      return await work(lock);
    } finally {
      lock.release();
    }
  }

  async #write(path: string, tokens: Tokens | undefined, alone: boolean): Promise<void> {
    const lines = linesOf(tokens);
    const mode = await updateEnvFile(path, lines, alone);
    this.#seen = tokenLines(lines);
    this.#warnIfTracked(path);
    if (mode !== undefined && isWide(mode)) {
      this.#context.warnings.set(
        "mode",
        `${path} could be read by other users of this computer; it is private now`,
      );
    } else {
      this.#context.warnings.delete("mode");
    }
  }

  #warnIfTracked(path: string): void {
    if (this.#gitChecked) return;
    this.#gitChecked = true;
    if (gitTracking(path) !== "tracked") return;
    this.#context.warnings.set(
      "git",
      `git tracks ${path}, so the next commit would publish your tokens; run: git rm --cached ${path}, ` +
        "and add .env to .gitignore",
    );
  }

  #tokensIn(values: ReadonlyMap<string, string>): Tokens | undefined {
    const { settings, warnings, world } = this.#context;
    const clientId = settings.text("clientId");
    const { parts, note } = readStored((key) => values.get(key), "file", clientId, world.now());
    if (note) warnings.set("stored", note);
    else warnings.delete("stored");
    const tokens = parts && makeTokens(parts, world);
    this.#context.learnIssued(tokens?.claims.iat);
    return tokens;
  }
}

function tokenLines(values: ReadonlyMap<string, string | undefined>): Secret {
  return new Secret(TOKEN_KEYS.map((key) => values.get(key) ?? "").join("\n"));
}
