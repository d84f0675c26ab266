import { type AuthError, sentenceOf } from "../values/errors.ts";

/** One thing that was looked at. */
export interface Check {
  /** What was looked at. */
  name: string;
  /** `ok`; `warn`: works, but; `fail`: does not work; `skip`: could not be looked at. */
  level: "ok" | "warn" | "fail" | "skip";
  /** What was found. */
  message: string;
  /** What to do about it. */
  fix?: string;
}

/** What a doctor found. */
export interface Diagnosis {
  /** Whether no check failed. */
  ok: boolean;
  /** One entry for each thing that was looked at. */
  checks: Check[];
}

/** A check that failed with an error: what was found, and beside it what the error says to do. */
export function failedCheck(name: string, error: AuthError): Check {
  const [message = "", ...fix] = sentenceOf(error).split("; ");
  return { name, level: "fail", message, fix: fix.join("; ") };
}
