import { clearEnvironment, exportTokens, newerOf, withdrawTokens } from "./environment_mirror.ts";
import type { AuthError } from "../values/errors.ts";
import type { FileLock } from "../dotenv/lock.ts";
import { timeoutOf } from "../provider/provider_settings.ts";
import type { SessionContext } from "./configuration.ts";
import { cannotRefresh, noSession } from "./session_ended.ts";
import { SessionFile } from "./session_file.ts";
import { isGoodFor, sameAccess, type Tokens } from "../values/tokens.ts";

/**
 * The tokens of a session in memory, kept in step with the `.env` and the process environment. All
 * that replaces them goes through here, so that nothing older ever replaces anything newer.
 */
export class TokenStore {
  readonly #context: SessionContext;
  readonly #file: SessionFile;
  #loaded = false;
  /** Logins and logouts that the file does not know of yet: what it holds is older. */
  #unwritten = 0;
  #tokens: Tokens | undefined;
  #era = new AbortController();
  /** Why the session ended, for the calls that come after. */
  #ended: AuthError | undefined;

  constructor(context: SessionContext) {
    this.#context = context;
    this.#file = new SessionFile(context);
  }

  /** The tokens in memory; on first use those of the file or the environment. */
  peek(): Tokens | undefined {
    if (!this.#loaded) {
      this.#loaded = true;
      this.#tokens = newerOf(this.#context, this.#file.load());
      if (this.#tokens) exportTokens(this.#context, this.#tokens);
    }
    return this.#tokens;
  }

  /** Aborted by the next login or logout: an answer asked for before it is dropped. */
  get era(): AbortSignal {
    return this.#era.signal;
  }

  /** The error of a call that finds no tokens. */
  whyNone(): AuthError {
    return this.#ended ?? noSession(this.#context);
  }

  /** The error of a call that finds an access token that ended, and no refresh token. */
  whyNotRefreshable(tokens: Tokens): AuthError {
    return this.#ended ?? cannotRefresh(tokens, this.#context.world.now());
  }

  /** Takes over what other processes wrote to the file since it was last looked at. */
  catchUp(): Tokens | undefined {
    this.peek();
    if (this.#unwritten > 0) return this.#tokens;
    const news = this.#file.news();
    if (news.kind === "same") return this.#tokens;
    this.#ended = undefined;
    if (news.kind === "cleared") {
      // Logged out there, or the lines were taken out by hand.
      this.#tokens = undefined;
      clearEnvironment(this.#context);
    } else if ((news.tokens.claims.iat ?? 0) >= (this.#tokens?.claims.iat ?? 0)) {
      this.#tokens = news.tokens;
      exportTokens(this.#context, news.tokens);
    }
    return this.#tokens;
  }

  /** Takes the tokens of a login, in place of all others. */
  async adopt(tokens: Tokens): Promise<void> {
    this.#supersede(tokens);
    exportTokens(this.#context, tokens);
    await this.#write(timeoutOf(this.#context.settings) / 2, async (lock) => {
      if (this.#tokens === tokens) await this.#file.save(tokens, lock.held);
    });
  }

  /**
   * Takes refreshed tokens in place of those they were got with, unless the file tells of a logout or
   * a newer login meanwhile.
   */
  async renew(held: Tokens, tokens: Tokens, alone: boolean): Promise<Tokens> {
    this.#tokens = tokens;
    const found = this.catchUp();
    if (found === undefined) throw this.whyNone();
    if (found !== tokens && !sameAccess(found, held)) return found;
    this.#tokens = tokens;
    exportTokens(this.#context, tokens);
    await this.#file.save(tokens, alone);
    return tokens;
  }

  /** Gives up a refresh token that will never work again; an access token that is good stays. */
  async giveUp(held: Tokens, reason: AuthError, alone: boolean): Promise<void> {
    if (this.#tokens?.refreshToken?.reveal() !== held.refreshToken?.reveal()) return;
    this.#ended = reason;
    this.#tokens = isGoodFor(held, this.#context.world, 0)
      ? { ...held, refreshToken: undefined, authenticatedAt: undefined }
      : undefined;
    if (this.#tokens) exportTokens(this.#context, this.#tokens);
    else withdrawTokens(this.#context);
    await this.#file.save(this.#tokens, alone);
  }

  /** Forgets the tokens in memory, in the process environment and in the file. */
  async clear(): Promise<void> {
    this.#supersede(undefined);
    clearEnvironment(this.#context);
    const era = this.#era;
    await this.#write(timeoutOf(this.#context.settings), async (lock) => {
      if (era === this.#era) await this.#file.clear(lock.held);
    });
  }

  /**
   * Takes the tokens out of the environment, because the session is now another one. Those in the file
   * stay, and a refresh under way ends there: its refresh token may have been replaced.
   */
  leave(): void {
    withdrawTokens(this.#context);
    this.#context.retire();
  }

  /** Mirrors the tokens anew, because the session's options are others now. */
  mirrorAnew(): void {
    withdrawTokens(this.#context);
    if (this.#tokens) exportTokens(this.#context, this.#tokens);
  }

  /** Works under the lock that processes on the same file share, waiting for it at most that long. */
  withLock<T>(waitMs: number, work: (lock: FileLock) => Promise<T>): Promise<T> {
    return this.#file.withLock(waitMs, work);
  }

  async #write(waitMs: number, work: (lock: FileLock) => Promise<void>): Promise<void> {
    this.#unwritten++;
    try {
      await this.withLock(waitMs, work);
    } finally {
      this.#unwritten--;
    }
  }

  #supersede(tokens: Tokens | undefined): void {
    // What the file holds until now is no news, even if it cannot be written.
    if (!this.#loaded) this.#file.load();
    this.#loaded = true;
    this.#tokens = tokens;
    this.#ended = undefined;
    this.#era.abort();
    this.#era = new AbortController();
    for (const key of ["early", "lock", "stored"]) this.#context.warnings.delete(key);
  }
}
