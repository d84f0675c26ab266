/**
 * Rethrows an error that only a mistake in a program causes. Call this in a `catch` that is meant
 * for errors of the system, so that it does not hide such a mistake.
 */
export function throwIfBug(error: unknown): void {
  const isOfLanguage = [TypeError, RangeError, ReferenceError].some((type) =>
    error instanceof type
  );
  // The runtime also throws a `TypeError` for a refused system call, but with the system's code.
  if (isOfLanguage && !("code" in Object(error))) throw error;
}
