const LIMIT_MS = 60_000;

/** Waits for a state that no event announces. Throws after a minute, so that a failure does not hang. */
export async function until(isReached: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!await isReached()) {
    if (performance.now() > end) throw new Error(`not reached in a minute: ${isReached}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
