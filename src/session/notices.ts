import { type Advice, fixText } from "../errors/advice.ts";

/** The stable code of a {@linkcode Notice}, which `platform-auth explain CODE` explains. */
export type NoticeCode =
  | "NOT_SAVED"
  | "FILE_UNREADABLE"
  | "FILE_WAS_OPEN"
  | "FILE_IS_OPEN"
  | "STORED_IGNORED"
  | "ENVIRONMENT_IGNORED"
  | "SETTING"
  | "REFRESH_FAILED"
  | "NOT_REVOKED"
  | "CLOCK"
  | "OLD_PASSWORD"
  | "PORTAL_TOKEN"
  | "STORE_AWAY"
  | "STORE_NOT_ENCRYPTED";

/** What each notice means. */
export const NOTICES: Readonly<Record<NoticeCode, string>> = {
  NOT_SAVED:
    "The tokens could not be saved, so this session is in memory only and ends with the process.",
  FILE_UNREADABLE: "The .env exists but cannot be read, so its settings and tokens are not used.",
  FILE_WAS_OPEN:
    "Other users of this computer could read the .env until this save made it private.",
  FILE_IS_OPEN:
    "Other users of this computer can read the .env, because its disk cannot make the file private.",
  STORED_IGNORED:
    "The .env or the store contains tokens of another app client or user, or text that is not a token; neither is used.",
  ENVIRONMENT_IGNORED:
    "The environment contains tokens of another account or app client; they are not used.",
  SETTING:
    "Check the settings and the location of the .env: for example, a line is not used, or the environment cannot be read.",
  REFRESH_FAILED:
    "A refresh failed. The access token is still valid, and a later call tries again; or the API rejected it, and the call returned the API's 401.",
  NOT_REVOKED:
    "The logout removed the tokens from this computer, but the provider did not end the session, or not on all devices.",
  CLOCK: "This computer's clock differs from the provider's by more than a minute.",
  OLD_PASSWORD:
    "The settings still contain the password from before it was changed during the login.",
  PORTAL_TOKEN: "A portal string cannot be refreshed: copy a new one before it expires.",
  STORE_AWAY:
    "The shared store cannot be reached. Until it responds again, the token in memory is used.",
  STORE_NOT_ENCRYPTED:
    "The tokens in the shared store are not encrypted: AUTH_STORE_KEY is not set.",
};

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

/** Makes a notice. */
export function noticeOf(code: NoticeCode, { problem, fix = "" }: Advice): Notice {
  const level = code === "FILE_WAS_OPEN" ? "note" : "warning";
  const next = fixText(fix);
  return { code, level, problem, ...(next !== "" && { fix: next }) };
}

/** Texts of notices by code; `undefined` removes a notice. */
export type NoticeTexts = Readonly<Partial<Record<NoticeCode, Advice | undefined>>>;

/** The notices of a session, one per code. */
export class Notices {
  readonly #notices = new Map<NoticeCode, Notice>();

  get all(): Notice[] {
    return [...this.#notices.values()];
  }

  get(code: NoticeCode): Notice | undefined {
    return this.#notices.get(code);
  }

  /** Replaces or removes the notices with these codes. */
  set(texts: NoticeTexts): void {
    for (const [code, text] of Object.entries(texts) as [NoticeCode, Advice | undefined][]) {
      if (text) this.#notices.set(code, noticeOf(code, text));
      else this.#notices.delete(code);
    }
  }
}
