import { counted } from "../errors/amounts.ts";
import { displayed } from "./displayable.ts";
import type { View } from "./view.ts";

/** The result of one check. */
export interface Check {
  /** The name of the check, unique in a diagnosis. */
  name: string;
  /**
   * The result.
   *
   * - `ok`: works.
   * - `warn`: works, with a risk that `fix` removes.
   * - `fail`: does not work.
   * - `skip`: could not be checked, or does not apply.
   */
  level: "ok" | "warn" | "fail" | "skip";
  /** The result in words. */
  message: string;
  /** The next step for the user. */
  fix?: string;
}
/** The result of {@linkcode doctor}; shows as a card in a notebook. */
export interface Diagnosis {
  /** Whether no check failed. */
  ok: boolean;
  /** The checks, in the order in which they were made. */
  checks: Check[];
}
/** Makes a diagnosis, which shows as a card in a notebook and as text in a terminal. */
export function diagnosisOf(checks: Check[]): Diagnosis {
  const diagnosis = { ok: checks.every(({ level }) => level !== "fail"), checks };
  return displayed(diagnosis, () => diagnosisView(diagnosis));
}

/** Returns the view of a diagnosis. */
export function diagnosisView({ checks }: Diagnosis): View {
  const failed = checks.filter(({ level }) => level === "fail").length;
  const isWarned = checks.some(({ level }) => level === "warn");
  return {
    tone: failed > 0 ? "red" : isWarned ? "amber" : "good",
    title: failed === 0 ? "Ready" : `${counted(failed, "thing")} to fix`,
    note: counted(checks.length, "check"),
    rows: checks.map(({ message, ...check }) => ({ ...check, value: message })),
  };
}
