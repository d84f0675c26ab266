import type { AuthError } from "../errors/errors.ts";
import { type Fix, fixText } from "../errors/advice.ts";

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

/** The result of one check, while its fix names calls as values. */
export interface Finding extends Readonly<Omit<Check, "fix">> {
  readonly fix?: Fix | undefined;
}

/** A check that failed with an error. */
export function failedCheck(name: string, { problem, fix }: AuthError): Finding {
  return { name, level: "fail", message: problem, fix };
}

/** Puts what was found into the words of the front end. */
export function diagnosisOf(findings: readonly Finding[]): Diagnosis {
  const checks = findings.map(({ name, level, message, fix }): Check => {
    const check: Check = { name, level, message };
    if (fix !== undefined) check.fix = fixText(fix);
    return check;
  });
  return { ok: checks.every(({ level }) => level !== "fail"), checks };
}
