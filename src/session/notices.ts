import { sentenceOf } from "../errors/errors.ts";
import { type Fix, fixText } from "../errors/advice.ts";
import { spanText } from "../errors/amounts.ts";

/** From this difference on, a wrong clock is worth a warning. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * What a session can have to tell, by its code. A `warning` asks for an action; a `note` tells what
 * happened.
 */
const LEVELS: Readonly<Record<NoticeCode, "warning" | "note">> = {
  /** The session is kept in memory only. */
  NOT_SAVED: "warning",
  /** The `.env` cannot be read. */
  FILE_UNREADABLE: "warning",
  /** Others could read the `.env` until now. */
  FILE_WAS_OPEN: "note",
  /** Git tracks the `.env`. */
  FILE_IN_GIT: "warning",
  /** Another user's lock file is beside the `.env`. */
  LOCK_DENIED: "warning",
  /** Another process held the lock for too long. */
  LOCK_BUSY: "warning",
  /** The store holds something that is no token of this session. */
  STORED_IGNORED: "warning",
  /** The environment holds tokens that are not this session's. */
  ENVIRONMENT_IGNORED: "warning",
  /** The environment cannot be read. */
  ENVIRONMENT_UNREADABLE: "warning",
  /** A setting, or the place of the `.env`, needs attention. */
  SETTING: "warning",
  /** The token is good, but could not be refreshed in time. */
  EARLY_REFRESH_FAILED: "warning",
  /** This computer's clock differs from the provider's. */
  CLOCK: "warning",
  /** The provider did not confirm this device. */
  DEVICE_NOT_CONFIRMED: "warning",
  /** The password in the settings is the old one. */
  OLD_PASSWORD: "warning",
  /** A portal token ends without a refresh. */
  PORTAL_TOKEN: "warning",
  /** The store does not answer. */
  STORE_AWAY: "warning",
  /** Tokens lie in the store as they are. */
  STORE_NOT_ENCRYPTED: "warning",
  /** The store was not asked yet. */
  STORE_UNREAD: "note",
  /** The store holds no session of this account. */
  STORE_EMPTY: "note",
  /** A logout ended the session. */
  SIGNED_OUT: "note",
};

/** The stable code of a {@linkcode Notice}. */
export type NoticeCode =
  | "NOT_SAVED"
  | "FILE_UNREADABLE"
  | "FILE_WAS_OPEN"
  | "FILE_IN_GIT"
  | "LOCK_DENIED"
  | "LOCK_BUSY"
  | "STORED_IGNORED"
  | "ENVIRONMENT_IGNORED"
  | "ENVIRONMENT_UNREADABLE"
  | "SETTING"
  | "EARLY_REFRESH_FAILED"
  | "CLOCK"
  | "DEVICE_NOT_CONFIRMED"
  | "OLD_PASSWORD"
  | "PORTAL_TOKEN"
  | "STORE_AWAY"
  | "STORE_NOT_ENCRYPTED"
  | "STORE_UNREAD"
  | "STORE_EMPTY"
  | "SIGNED_OUT";

/** Something that a session has to tell its user. */
export interface Notice {
  /** Stable name, for programs. */
  readonly code: NoticeCode;
  /** `warning`: something is to be done. `note`: something happened. */
  readonly level: "warning" | "note";
  /** What was seen. */
  readonly problem: string;
  /** What to do, if anything. */
  readonly fix?: string;
}

/** Makes a notice. */
export function noticeOf(code: NoticeCode, problem: string, fix: Fix = ""): Notice {
  const next = fixText(fix);
  return { code, level: LEVELS[code], problem, ...(next !== "" && { fix: next }) };
}

/** What notices say, by code; `undefined`: no longer. */
export type NoticeTexts = Readonly<
  Partial<Record<NoticeCode, { readonly problem: string; readonly fix?: Fix } | undefined>>
>;

/** What a session has to tell its user, each code once, and how far the clock is off. */
export class Notices {
  readonly #notices = new Map<NoticeCode, Notice>();
  #clockOffsetMs: number | undefined;

  /** The provider's clock minus this machine's, in milliseconds, once an answer told. */
  get clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs;
  }

  /** All that are in force. */
  get all(): Notice[] {
    return [...this.#notices.values()];
  }

  /** The text of a notice, if it is in force. */
  text(code: NoticeCode): string | undefined {
    const notice = this.#notices.get(code);
    return notice && sentenceOf(notice);
  }

  has(code: NoticeCode): boolean {
    return this.#notices.has(code);
  }

  set(code: NoticeCode, problem: string, fix?: Fix): void {
    this.#notices.set(code, noticeOf(code, problem, fix));
  }

  /** Says these things in the place of what was said of the same codes. */
  replace(texts: NoticeTexts): void {
    for (const [code, text] of Object.entries(texts) as [NoticeCode, NoticeTexts[NoticeCode]][]) {
      if (text === undefined) this.clear(code);
      else this.set(code, text.problem, text.fix);
    }
  }

  clear(...codes: readonly NoticeCode[]): void {
    for (const code of codes) this.#notices.delete(code);
  }

  /** Learns how far this machine's clock is from the provider's, and warns from a minute on. */
  learnClock(offsetMs: number | undefined): void {
    if (offsetMs === undefined || Number.isNaN(offsetMs)) return;
    this.#clockOffsetMs = offsetMs;
    if (Math.abs(offsetMs) <= CLOCK_TOLERANCE_MS) return this.clear("CLOCK");
    const side = offsetMs < 0 ? "ahead of" : "behind";
    const span = spanText(Math.abs(offsetMs));
    this.set("CLOCK", `this computer's clock is ${span} ${side} the provider's`, "set it right");
  }

  /**
   * If iat lies ahead of this clock, this clock is slow. The provider's own time, once known, counts more.
   *
   * @param iat When the token was issued by the provider's clock, seconds since 1970.
   * @param now This machine's wall clock, milliseconds since 1970.
   */
  learnIssued(iat: number | undefined, now: number): void {
    if (this.#clockOffsetMs === undefined) this.learnClock(offsetByIssue(iat, now));
  }
}

/**
 * The provider's clock minus this machine's, in milliseconds, if a token was issued ahead of this clock.
 *
 * @param iat When the token was issued by the provider's clock, seconds since 1970.
 * @param now This machine's wall clock, milliseconds since 1970.
 */
export function offsetByIssue(iat: number | undefined, now: number): number | undefined {
  const aheadMs = (iat ?? 0) * 1_000 - now;
  return aheadMs > CLOCK_TOLERANCE_MS ? aheadMs : undefined;
}
