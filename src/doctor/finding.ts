import { type Advice, type Fix, fixText } from "../errors/advice.ts";
import { AuthError } from "../errors/errors.ts";
import type { Check } from "../show/diagnosis.ts";
import type { Level } from "../show/view.ts";

/** What a check found. Its fix names calls as values. */
export interface Finding {
  readonly level: Level;
  readonly message: string;
  readonly fix?: Fix | undefined;
}

/** What several checks found, by their names. */
export type Findings = Record<string, Finding | undefined>;

export function ok(message: string): Finding {
  return { level: "ok", message };
}

export function warn(message: string, fix?: Fix): Finding {
  return { level: "warn", message, fix };
}

export function fail(message: string, fix: Fix): Finding {
  return { level: "fail", message, fix };
}

export function skip(message: string, fix?: Fix): Finding {
  return { level: "skip", message, fix };
}

/** One warning for several problems, if there are any. */
export function warnOf(problems: readonly Advice[], lead = ""): Finding | undefined {
  if (problems.length === 0) return undefined;
  const fixes = problems.flatMap(({ fix }) => fix ? [fixText(fix)] : []);
  const message = lead + problems.map(({ problem }) => problem).join("; ");
  return warn(message, fixes.length === 0 ? undefined : fixes.join("; "));
}

export function failed({ problem, fix }: AuthError): Finding {
  return fail(problem, fix);
}

/** The result of the work, or the error that it threw; an abort is thrown. */
export async function attempt<T>(
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T | AuthError> {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof AuthError) return error;
    throw error;
  }
}

/** Findings in the words of the front end. A check that found nothing worth a line is left out. */
export function checksOf(findings: Findings): Check[] {
  return Object.entries(findings).flatMap(([name, finding]) => {
    if (finding === undefined) return [];
    const { level, message, fix } = finding;
    return [{ name, level, message, ...(fix !== undefined && { fix: fixText(fix) }) }];
  });
}
