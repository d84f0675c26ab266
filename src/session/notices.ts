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

/** The general explanation of a notice. A notice itself says what happened in its session. */
interface Explanation {
  readonly meaning: string;
  /** Absent if there is nothing to do. */
  readonly fix?: string;
}

/** What each notice means. */
export const NOTICES: Readonly<Record<NoticeCode, Explanation>> = {
  NOT_SAVED: {
    meaning:
      "The new tokens could not be saved, so they are in memory only and are lost when the process ends.",
    fix: "Do what the notice says. The next save tries again.",
  },
  FILE_UNREADABLE: {
    meaning: "The .env cannot be read, so its settings and tokens are not used.",
    fix: "Do what the notice says, or set AUTH_ENV_FILE to another file.",
  },
  FILE_WAS_OPEN: {
    meaning:
      "Other users of this computer could read or change the .env until this save made it private. " +
      "There is nothing to do, unless one of them may have read it.",
  },
  FILE_IS_OPEN: {
    meaning:
      "Other users of this computer can read the .env, because its disk cannot make the file private.",
    fix: "Set AUTH_ENV_FILE to a file on another disk.",
  },
  STORED_IGNORED: {
    meaning:
      "The .env or the store contains tokens that are not used: for example, those of another app client, user or program, or text that is not a token.",
    fix: "Do what the notice says. A new login may replace these lines.",
  },
  ENVIRONMENT_IGNORED: {
    meaning:
      "The environment contains tokens that are not used: they belong to another account, app client or provider, are not tokens, or may not be sent to the hosts of a .env that was only found.",
    fix: "Unset ACCESS_TOKEN and REFRESH_TOKEN if no other program needs them.",
  },
  SETTING: {
    meaning:
      "Something about the settings needs a check: for example, a line of the .env is not used, or the environment cannot be read.",
    fix: "Do what the notice says.",
  },
  REFRESH_FAILED: {
    meaning:
      "A refresh failed. Either the access token is still valid, and a later call tries again; or the API rejected the token, and the call failed.",
    fix: "Do what the notice says if the next calls fail, too.",
  },
  NOT_REVOKED: {
    meaning:
      "The logout removed the tokens from this computer, but the provider did not end the session, or not on all devices.",
    fix:
      "Delete any copies of the tokens, because they may stay valid. To sign out other devices, log in, " +
      "then log out again.",
  },
  CLOCK: {
    meaning: "This computer's clock differs from the provider's by more than a minute.",
    fix: "Correct the clock.",
  },
  OLD_PASSWORD: {
    meaning: "The settings still contain the password from before it was changed during the login.",
    fix: "Replace it.",
  },
  PORTAL_TOKEN: {
    meaning: "The token of a portal string cannot be refreshed.",
    fix: "When it expires, copy a new portal string or log in with user name and password.",
  },
  STORE_AWAY: {
    meaning: "The shared store cannot be used. Until it can, a valid token in memory is used.",
    fix: "Do what the notice says. See also STORE_UNREACHABLE.",
  },
  STORE_NOT_ENCRYPTED: {
    meaning: "The tokens in the shared store are not encrypted: AUTH_STORE_KEY is not set.",
    fix: "Set AUTH_STORE_KEY on all machines to the same key, from openssl rand -base64 32.",
  },
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
