import { type AuthError, type ConfigError, sentenceOf } from "../errors/errors.ts";
import type { Secret } from "../platform/secret.ts";
import { makeTokens, sameAccess, type Tokens } from "../provider/tokens.ts";
import { loginAfter, whyNoSettings } from "../settings/no_settings.ts";
import { EnvironmentMirror, firstTokens } from "./environment_mirror.ts";
import { notSaved } from "./notices.ts";
import { whyNot } from "./plan.ts";
import {
  type Ending,
  next,
  type SessionEvent,
  type SessionState,
  stateOf,
  tokensOf,
} from "./state.ts";
import {
  isOtherPrograms,
  linesOf,
  readStored,
  refusalOf,
  sameLines,
  textOf,
} from "./stored_tokens.ts";
import { type Lines, type Lock, placeText, type StoredSession, type Vault } from "./vault.ts";
import { accountOf } from "./whose.ts";

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
  readonly #mirror = new EnvironmentMirror();
  /** `undefined` until the first use. */
  #state: SessionState | undefined;
  /** The lines that this process last adopted or saved. Only other lines are news. */
  #known = textOf({});
  /** The lines of a save in progress. */
  #saving: Secret | undefined;
  /**
   * Whether the tokens could not be saved in a vault that could not be read, either. The first
   * lines that are read afterwards are older than the tokens.
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
      if (first) this.#mirror.show(first, configuration);
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
    if (tokens === undefined) return this.#mirror.clear(tokensOf(before), configuration);
    this.#mirror.show(tokens, configuration);
    notices.clear("SIGNED_OUT");
    const earlier = tokensOf(before);
    const isOther = earlier === undefined || !sameAccess(earlier, tokens);
    if (isOther) notices.clear("EARLY_REFRESH_FAILED");
    if (isOther || event.kind === "accepted") notices.clear("REFRESH_FAILED");
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
    this.session.notices.clear("NOT_SAVED");
    this.apply({ kind: "written elsewhere", tokens, because: this.#endedElsewhere() });
  }

  /**
   * Saves and applies an event. The end of a session takes effect before it is saved, so that no
   * call uses the tokens any more; new tokens take effect afterwards. If another process changed the
   * session meanwhile, a refresh is dropped and the other change adopted.
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
    this.session.notices.replace({
      NOT_SAVED: problem && tokens && notSaved(problem),
      STORE_AWAY: undefined,
      STORE_EMPTY: undefined,
      STORE_UNREAD: undefined,
    });
    if (!isEnding) this.apply(event);
    return problem;
  }

  /** Applies a new `exportEnv` to the process environment. */
  mirrorAgain(): void {
    this.#mirror.withdraw();
    if (this.#state !== undefined) {
      this.#mirror.show(tokensOf(this.#state), this.session.configuration);
    }
  }

  /** Makes the error for a call that finds no usable tokens. */
  whyNot(): AuthError {
    const { notices, configuration: { settings, world } } = this.session;
    const { file, portalText } = settings;
    const note = file.problem
      ? sentenceOf(file.problem)
      : notices.text("STORED_IGNORED", "ENVIRONMENT_IGNORED", "STORE_EMPTY");
    const unfound = note === undefined ? whyNoSettings(settings) : undefined;
    return whyNot(
      this.current,
      world,
      note ?? unfound?.problem,
      portalText,
      unfound && loginAfter(unfound),
    );
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
      notices.set(
        "STORED_IGNORED",
        `ACCESS_TOKEN in ${place.envFile} seems to belong to another program and is ignored`,
        "set AUTH_ENV_FILE (envFile) to another file, because a login overwrites ACCESS_TOKEN",
      );
      return undefined;
    }
    const { user } = settings.trust;
    // A session that this process obtained for the user may have another name in its token.
    const known = accountOf(this.#state === undefined ? {} : tokensOf(this.#state)?.claims ?? {});
    const names = user === undefined ? undefined : [user, ...(known === undefined ? [] : [known])];
    const { parts, note } = readStored(lines, isFile ? "file" : "store", issuer, names);
    notices.replace({ STORED_IGNORED: note });
    return parts && makeTokens(parts, world);
  }

  #endedElsewhere(): Ending {
    const ignored = this.session.notices.text("STORED_IGNORED");
    const place = placeText(this.vault().place) ?? "the store";
    const problem = ignored === undefined
      ? "There is no session any more: it was ended outside this process, by a logout or by " +
        `removing its lines from ${place}`
      : `There is no session (${ignored})`;
    return { code: "NO_SESSION", problem, fix: ["run ", { call: "login" }] };
  }
}

/**
 * Whether the refusal of these tokens is saved: only in their place, and not while another process,
 * which may still receive tokens, holds the lock.
 */
function maySaveRefusal({ now, problem }: Lock, { refreshToken }: Tokens): boolean {
  return problem === undefined && now !== undefined &&
    now.REFRESH_TOKEN === refreshToken?.reveal();
}
