import { type Advice, type Fix, fixText } from "../errors/advice.ts";
import { AuthError } from "../errors/errors.ts";
import type { Check } from "../show/diagnosis.ts";
import type { Level } from "../show/view.ts";

/** The result of a check, without its name. */
export type Finding = Omit<Check, "name">;

/** The results of several checks, by name. */
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

/** Combines several problems into one warning. */
export function warnOf(problems: readonly Advice[], lead = ""): Finding | undefined {
  if (problems.length === 0) return undefined;
  const fixes = problems.flatMap(({ fix }) => fix ? [fixText(fix)] : []);
  const message = lead + problems.map(({ problem }) => problem).join("; ");
  return warn(message, [...new Set(fixes)].join("; ") || undefined);
}

export function failed({ problem, fix }: AuthError): Finding {
  return fail(problem, fix);
}

/**
 * Returns the result of the work, or the `AuthError` that the work threw. After an abort, throws
 * the signal's reason.
 */
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

/** Lists the checks that have a result. */
export function checksOf(findings: Findings): Check[] {
  return Object.entries(findings).flatMap(([name, finding]) =>
    finding ? [{ name, ...finding }] : []
  );
}
