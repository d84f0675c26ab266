import { sentenceOf } from "../errors/errors.ts";
import { type Advice, type Fix, fixText } from "../errors/advice.ts";
import { durationText } from "../errors/amounts.ts";

/** A clock that differs by more than this causes a warning. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * The stable code of a {@linkcode Notice}.
 *
 * - `NOT_SAVED`: The tokens could not be saved, so this session is in memory only and ends with the
 *   process.
 * - `FILE_UNREADABLE`: The .env exists but cannot be read, so its settings and tokens are not used.
 * - `FILE_WAS_OPEN`: Other users of this computer could read the .env until this save made it
 *   private.
 * - `FILE_IS_OPEN`: Other users of this computer can read the .env, because its disk cannot make the
 *   file private.
 * - `LOCK_BUSY`: Another process held the lock for too long, so this process refreshed without the
 *   lock.
 * - `STORED_IGNORED`: The .env or the store contains tokens of another app client or user, or text
 *   that is not a token; neither is used. Or other processes will not use this session.
 * - `ENVIRONMENT_IGNORED`: The environment contains tokens of another account or app client; they
 *   are not used.
 * - `ENVIRONMENT_UNREADABLE`: Settings in the environment are not used: the permission to read them
 *   is missing.
 * - `SETTING`: Check the settings and the location of the .env: for example, a name is misspelled or
 *   a line is not used.
 * - `NO_SETTINGS`: There is no session, and no .env with the settings for a login was found.
 * - `EARLY_REFRESH_FAILED`: The access token is still valid, but refreshing it ahead of time
 *   failed; the next call tries again.
 * - `REFRESH_FAILED`: The API rejected the access token, and refreshing it failed, so the call
 *   returned the API's 401.
 * - `CLOCK`: This computer's clock differs from the provider's by more than a minute.
 * - `DEVICE_NOT_CONFIRMED`: The provider did not register this device, so the session may not be
 *   refreshable.
 * - `OLD_PASSWORD`: The settings still contain the password from before it was changed during the
 *   login.
 * - `PORTAL_TOKEN`: A token from the portal cannot be refreshed: copy a new one before it expires.
 * - `STORE_AWAY`: The shared store cannot be reached. Until it responds again, the token in memory
 *   is used.
 * - `STORE_NOT_ENCRYPTED`: The tokens in the shared store are not encrypted: AUTH_STORE_KEY is not
 *   set.
 * - `STORE_UNREAD`: The shared store has not been read yet; the first call reads it.
 * - `STORE_EMPTY`: The shared store contains no session of this account.
 * - `SIGNED_OUT`: A logout ended the session; the notice says where.
 */
export type NoticeCode =
  | "NOT_SAVED"
  | "FILE_UNREADABLE"
  | "FILE_WAS_OPEN"
  | "FILE_IS_OPEN"
  | "LOCK_BUSY"
  | "STORED_IGNORED"
  | "ENVIRONMENT_IGNORED"
  | "ENVIRONMENT_UNREADABLE"
  | "SETTING"
  | "NO_SETTINGS"
  | "EARLY_REFRESH_FAILED"
  | "REFRESH_FAILED"
  | "CLOCK"
  | "DEVICE_NOT_CONFIRMED"
  | "OLD_PASSWORD"
  | "PORTAL_TOKEN"
  | "STORE_AWAY"
  | "STORE_NOT_ENCRYPTED"
  | "STORE_UNREAD"
  | "STORE_EMPTY"
  | "SIGNED_OUT";

/** The meaning of each notice. */
export const NOTICES: Readonly<Record<NoticeCode, string>> = {
  NOT_SAVED:
    "The tokens could not be saved, so this session is in memory only and ends with the process.",
  FILE_UNREADABLE: "The .env exists but cannot be read, so its settings and tokens are not used.",
  FILE_WAS_OPEN:
    "Other users of this computer could read the .env until this save made it private.",
  FILE_IS_OPEN:
    "Other users of this computer can read the .env, because its disk cannot make the file private.",
  LOCK_BUSY:
    "Another process held the lock for too long, so this process refreshed without the lock.",
  STORED_IGNORED:
    "The .env or the store contains tokens of another app client or user, or text that is not a token; neither is used. Or other processes will not use this session.",
  ENVIRONMENT_IGNORED:
    "The environment contains tokens of another account or app client; they are not used.",
  ENVIRONMENT_UNREADABLE:
    "Settings in the environment are not used: the permission to read them is missing.",
  SETTING:
    "Check the settings and the location of the .env: for example, a name is misspelled or a line is not used.",
  NO_SETTINGS: "There is no session, and no .env with the settings for a login was found.",
  EARLY_REFRESH_FAILED:
    "The access token is still valid, but refreshing it ahead of time failed; the next call tries again.",
  REFRESH_FAILED:
    "The API rejected the access token, and refreshing it failed, so the call returned the API's 401.",
  CLOCK: "This computer's clock differs from the provider's by more than a minute.",
  DEVICE_NOT_CONFIRMED:
    "The provider did not register this device, so the session may not be refreshable.",
  OLD_PASSWORD:
    "The settings still contain the password from before it was changed during the login.",
  PORTAL_TOKEN: "A token from the portal cannot be refreshed: copy a new one before it expires.",
  STORE_AWAY:
    "The shared store cannot be reached. Until it responds again, the token in memory is used.",
  STORE_NOT_ENCRYPTED:
    "The tokens in the shared store are not encrypted: AUTH_STORE_KEY is not set.",
  STORE_UNREAD: "The shared store has not been read yet; the first call reads it.",
  STORE_EMPTY: "The shared store contains no session of this account.",
  SIGNED_OUT: "A logout ended the session; the notice says where.",
};

/** The notices that need no action. */
const NOTES: readonly NoticeCode[] = [
  "NO_SETTINGS",
  "FILE_WAS_OPEN",
  "STORE_UNREAD",
  "STORE_EMPTY",
  "SIGNED_OUT",
];

/** Something that the user of a session should know. */
export interface Notice {
  /** Stable name, for programs. */
  readonly code: NoticeCode;
  /** `warning`: something needs to be done. `note`: for information. */
  readonly level: "warning" | "note";
  /** The problem, as a sentence. */
  readonly problem: string;
  /** The next step, if there is one. */
  readonly fix?: string;
}

export function noticeOf(code: NoticeCode, problem: string, fix: Fix = ""): Notice {
  const next = fixText(fix);
  const level = NOTES.includes(code) ? "note" : "warning";
  return { code, level, problem, ...(next !== "" && { fix: next }) };
}

/** The text of `NOT_SAVED`, with the reason why the session could not be saved. */
export function notSaved({ problem, fix }: Advice): Advice {
  return { problem: `the session is kept in memory only: ${problem}`, fix };
}

/** Texts of notices by code; `undefined` clears a notice. */
export type NoticeTexts = Readonly<
  Partial<Record<NoticeCode, Advice | undefined>>
>;

/**
 * The notices of a session, one per code, and the difference between the provider's clock and this
 * machine's.
 */
export class Notices {
  readonly #notices = new Map<NoticeCode, Notice>();
  #clockOffsetMs: number | undefined;

  /**
   * The provider's clock minus this machine's, in milliseconds; `undefined` until a response shows
   * the provider's time.
   */
  get clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs;
  }

  get all(): Notice[] {
    return [...this.#notices.values()];
  }

  /** The text of the first of these notices that is set. */
  text(...codes: readonly NoticeCode[]): string | undefined {
    const notice = codes.map((code) => this.#notices.get(code)).find((it) => it !== undefined);
    return notice && sentenceOf(notice);
  }

  get(code: NoticeCode): Notice | undefined {
    return this.#notices.get(code);
  }

  set(code: NoticeCode, problem: string, fix?: Fix): void {
    this.#notices.set(code, noticeOf(code, problem, fix));
  }

  /** Sets or clears the notices with these codes. */
  replace(texts: NoticeTexts): void {
    for (const [code, text] of Object.entries(texts) as [NoticeCode, NoticeTexts[NoticeCode]][]) {
      if (text === undefined) this.clear(code);
      else this.set(code, text.problem, text.fix);
    }
  }

  clear(...codes: readonly NoticeCode[]): void {
    for (const code of codes) this.#notices.delete(code);
  }

  /**
   * Records the difference between the provider's clock and this machine's. Warns if the difference
   * exceeds a minute.
   */
  learnClock(offsetMs: number | undefined): void {
    if (offsetMs === undefined || Number.isNaN(offsetMs)) return;
    this.#clockOffsetMs = offsetMs;
    if (Math.abs(offsetMs) <= CLOCK_TOLERANCE_MS) return this.clear("CLOCK");
    const side = offsetMs < 0 ? "ahead of" : "behind";
    const span = durationText(Math.abs(offsetMs));
    this.set(
      "CLOCK",
      `this computer's clock is ${span} ${side} the provider's`,
      "correct the clock",
    );
  }
}

/**
 * How far the provider's clock is ahead of this machine's, in milliseconds; `undefined` unless
 * the token was issued in the future by this machine's clock.
 *
 * @param iat When the token was issued, by the provider's clock, in seconds since 1970.
 * @param now The time by this machine's wall clock, in milliseconds since 1970.
 */
export function offsetByIssue(iat: number | undefined, now: number): number | undefined {
  const aheadMs = (iat ?? 0) * 1_000 - now;
  return aheadMs > CLOCK_TOLERANCE_MS ? aheadMs : undefined;
}
