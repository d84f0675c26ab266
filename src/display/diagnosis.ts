import { type AuthError, sentenceOf } from "../errors/errors.ts";

/** The result of one check. */
export interface Check {
  /** What was checked. */
  name: string;
  /** `ok`; `warn`: works, with a risk; `fail`: does not work; `skip`: could not be checked. */
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
  /** One entry for each check. */
  checks: Check[];
}

/** A check that failed with an error. The first part of its sentence is the message, the rest the fix. */
export function failedCheck(name: string, error: AuthError): Check {
  const [message = "", ...fix] = sentenceOf(error).split("; ");
  return { name, level: "fail", message, fix: fix.join("; ") };
}
