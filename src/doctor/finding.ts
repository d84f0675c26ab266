import { type Fix, fixText } from "../errors/advice.ts";
import type { AuthError } from "../errors/errors.ts";
import type { Check } from "../show/diagnosis.ts";

/** The result of one check, while its fix names calls as values. */
export interface Finding extends Readonly<Omit<Check, "fix">> {
  readonly fix?: Fix | undefined;
}

/** A check that failed with an error. */
export function failedCheck(name: string, { problem, fix }: AuthError): Finding {
  return { name, level: "fail", message: problem, fix };
}

/** Puts what was found into the words of the front end. */
export function checksOf(findings: readonly Finding[]): Check[] {
  return findings.map(({ name, level, message, fix }): Check => {
    const check: Check = { name, level, message };
    if (fix !== undefined) check.fix = fixText(fix);
    return check;
  });
}
