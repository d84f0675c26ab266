/**
 * Rethrows an error that only a mistake in a program can cause. Call this function in a `catch`
 * that handles errors of the system, so that the `catch` does not hide mistakes.
 */
export function throwIfBug(error: unknown): void {
  const isOfLanguage = [TypeError, RangeError, ReferenceError].some((type) =>
    error instanceof type
  );
  // The runtime also throws a `TypeError` for a refused system call, but with the system's code.
  if (isOfLanguage && !("code" in Object(error))) throw error;
}
