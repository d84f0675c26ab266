/** The signals that end a script, with their numbers. The exit status is 128 plus the number. */
const SIGNALS: readonly [Deno.Signal, number][] = Deno.build.os === "windows"
  ? [["SIGINT", 2]]
  : [["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]];

/**
 * Cleans up if `Deno.exit()` or a signal ends the script before the returned object is disposed. A
 * signal is handled only while the thread is not blocked. After the cleanup, the script ends as
 * usual.
 */
export function cleanUpAtExit(cleanUp: () => void): Disposable {
  const listeners = SIGNALS.map(([signal, number]) =>
    [signal, () => Deno.exit(128 + number)] as const
  );
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  globalThis.addEventListener("unload", cleanUp);
  return {
    [Symbol.dispose]() {
      for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
      globalThis.removeEventListener("unload", cleanUp);
    },
  };
}
