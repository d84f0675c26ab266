import { type Advice, type Fix, fixText } from "../errors/advice.ts";
import { AuthError } from "../errors/errors.ts";
import type { Check } from "../show/diagnosis.ts";
import type { Level } from "../show/view.ts";

/** What a check found. */
export type Finding = Omit<Check, "name">;

/** What several checks found, by their names. */
export type Findings = Record<string, Finding | undefined>;

const finding = (level: Level) => (message: string, fix?: Fix): Finding => ({
  level,
  message,
  ...(fix !== undefined && { fix: fixText(fix) }),
});
export const ok: (message: string) => Finding = finding("ok");
export const warn: (message: string, fix?: Fix) => Finding = finding("warn");
export const fail: (message: string, fix: Fix) => Finding = finding("fail");
export const skip: (message: string, fix?: Fix) => Finding = finding("skip");

/** One warning for several problems, if there are any. */
export function warnOf(problems: readonly Advice[], lead = ""): Finding | undefined {
  if (problems.length === 0) return undefined;
  const fixes = problems.flatMap(({ fix }) => fix ? [fixText(fix)] : []);
  const message = lead + problems.map(({ problem }) => problem).join("; ");
  return warn(message, fixes.join("; ") || undefined);
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

/** A check that found nothing worth a line is left out. */
export function checksOf(findings: Findings): Check[] {
  return Object.entries(findings).flatMap(([name, finding]) =>
    finding ? [{ name, ...finding }] : []
  );
}
