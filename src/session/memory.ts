import type { AuthError, ConfigError } from "../errors/errors.ts";
import type { Secret } from "../platform/secret.ts";
import { makeTokens, sameAccess, type Tokens } from "../provider/tokens.ts";
import { clearTokens, firstTokens, showTokens, withdrawTokens } from "./environment_mirror.ts";
import { clockAdvice } from "./provider_clock.ts";
import { next, type SessionEvent, type SessionState, stateOf, tokensOf } from "./state.ts";
import {
  isOtherPrograms,
  linesOf,
  readStored,
  refusalOf,
  sameLines,
  textOf,
} from "./stored_tokens.ts";
import type { Lines, Lock, StoredSession, Vault } from "./vaults/vault.ts";
import { accountOf } from "./whose.ts";
import { whyNot } from "./why_not.ts";

/** An event that is saved in the vault. */
export type SavedEvent = Extract<
  SessionEvent,
  { readonly kind: "login" | "logout" | "refreshed" | "refused" }
>;

/**
 * What this process knows of a session: its state, the lines in the vault that the state came from,
 * and the copy of its tokens in the process environment.
 */
export class Memory {
  /** `undefined` until the first use. */
  #state: SessionState | undefined;
  /**
   * The lines that this process last adopted or saved. Only lines that differ from these are new.
   */
  #known = textOf({});
  /** The lines of a save in progress. */
  #saving: Secret | undefined;
  /**
   * Whether the last save failed and the vault could not be read, either. The first lines that are
   * read afterwards are then older than the tokens in memory.
   */
  #isAhead = false;

  constructor(private readonly session: StoredSession, private readonly vault: () => Vault) {}

  /** The state. At first use, it comes from the vault or the environment. */
  get current(): SessionState {
    if (this.#state === undefined) {
      const { configuration, notices } = this.session;
      const lines = this.vault().peek() ?? {};
      this.#known = textOf(lines);
      const first = firstTokens(configuration, notices, this.#tokensIn(lines));
      this.#state = stateOf(first);
      if (first) showTokens(first, configuration);
    }
    return this.#state;
  }

  /** Changes whenever lines are adopted or saved. */
  get version(): unknown {
    return this.#known;
  }

  /** Applies an event to the state and the process environment. */
  apply(event: SessionEvent): void {
    const { configuration, notices } = this.session;
    const before = this.current;
    const now = this.#state = next(before, event);
    if (before === now) return;
    const tokens = tokensOf(now);
    if (tokens === undefined) return clearTokens(tokensOf(before), configuration);
    showTokens(tokens, configuration);
    notices.set({ NOT_REVOKED: undefined });
    const earlier = tokensOf(before);
    const isKnown = earlier !== undefined && sameAccess(earlier, tokens);
    if (!isKnown) notices.set({ REFRESH_FAILED: undefined });
  }

  /** Adopts lines, unless this process has already adopted or saved them. */
  adopt(lines: Lines | undefined): void {
    // At first use, `current` takes the lines from the vault.
    void this.current;
    if (lines === undefined) return;
    const text = textOf(lines);
    const isAhead = this.#isAhead;
    this.#isAhead = false;
    if ([this.#known, this.#saving].some((own) => own?.reveal() === text.reveal())) return;
    this.#known = text;
    if (isAhead) return;
    const tokens = this.#tokensIn(lines);
    this.session.notices.set({ NOT_SAVED: undefined });
    this.apply({ kind: "written elsewhere", tokens });
  }

  /**
   * Saves and applies an event. The end of a session takes effect before it is saved, so that no
   * call uses the tokens any more; new tokens take effect after they are saved. If another process
   * changed the session meanwhile, its change replaces the result of a refresh.
   *
   * @returns The reason why the event could not be saved.
   */
  async save(lock: Lock, event: SavedEvent): Promise<ConfigError | undefined> {
    const isFinal = event.kind === "login" || event.kind === "logout";
    const isEnding = event.kind === "logout" || event.kind === "refused";
    if (isEnding) this.apply(event);
    if (event.kind === "refused" && !maySaveRefusal(lock, event.held)) return undefined;
    const tokens = isEnding ? tokensOf(this.current) : event.tokens;
    const lines = event.kind === "refused" ? this.#withRefusal(event.held, lock) : linesOf(tokens);
    this.#saving = textOf(lines);
    const { found, problem } = await lock.write(lines, isFinal).finally(() => {
      this.#saving = undefined;
    });
    if (problem === undefined && found && !sameLines(found, lines)) {
      this.adopt(found);
      return undefined;
    }
    if (found) this.#known = textOf(found);
    this.#isAhead = found === undefined;
    this.session.notices.set({
      NOT_SAVED: problem && tokens && {
        problem: `the session is kept in memory only: ${problem.problem}`,
        fix: problem.fix,
      },
      STORE_AWAY: undefined,
    });
    if (!isEnding) this.apply(event);
    return problem;
  }

  /** Applies a new `exportEnv` to the process environment. */
  mirrorAgain(): void {
    withdrawTokens();
    const tokens = this.#state && tokensOf(this.#state);
    if (tokens) showTokens(tokens, this.session.configuration);
  }

  /** Records the difference between the provider's clock and this machine's, in milliseconds. */
  learnClock(offsetMs: number | undefined): void {
    if (offsetMs === undefined) return;
    this.session.notices.set({ CLOCK: clockAdvice(offsetMs) });
  }

  /** Makes the error for a call that finds no usable tokens. */
  whyNot(): AuthError {
    return whyNot(this.session, this.current, this.vault());
  }

  /** The lines after a refusal. In a store, they say which refresh token was refused. */
  #withRefusal({ refreshToken }: Tokens, { now }: Lock): Lines {
    const lines = linesOf(tokensOf(this.current));
    const isInStore = "store" in (this.vault().place ?? {});
    const refused = refreshToken ? refusalOf(refreshToken.reveal()) : now?.REFUSED;
    return isInStore && refused ? { ...lines, REFUSED: refused } : lines;
  }

  #tokensIn(lines: Lines): Tokens | undefined {
    const { configuration: { issuer, settings, world }, notices } = this.session;
    const place = this.vault().place ?? {};
    const isFile = "envFile" in place;
    if (isFile && isOtherPrograms(lines, settings)) {
      notices.set({
        STORED_IGNORED: {
          problem:
            `ACCESS_TOKEN in ${place.envFile} seems to belong to another program and is ignored`,
          fix:
            "set AUTH_ENV_FILE (envFile) to another file, because a login overwrites ACCESS_TOKEN",
        },
      });
      return undefined;
    }
    const { user } = settings.trust;
    // A session that this process obtained for the user may have another name in its token.
    const known = accountOf(this.#state === undefined ? {} : tokensOf(this.#state)?.claims ?? {});
    const names = user === undefined ? undefined : [user, ...(known === undefined ? [] : [known])];
    const { parts, note } = readStored(lines, isFile ? "file" : "store", issuer, names);
    notices.set({ STORED_IGNORED: note });
    return parts && makeTokens(parts, world);
  }
}

/**
 * Whether to save the refusal of these tokens. It is saved only if the vault still contains them,
 * and only under the lock, because another process that holds the lock may still receive new
 * tokens.
 */
function maySaveRefusal({ now, problem }: Lock, { refreshToken }: Tokens): boolean {
  return problem === undefined && now !== undefined &&
    now.REFRESH_TOKEN === refreshToken?.reveal();
}
