/** What ends a script from outside, by the number that the exit status tells of. */
const SIGNALS: readonly [Deno.Signal, number][] = Deno.build.os === "windows"
  ? [["SIGINT", 2]]
  : [["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]];

/**
 * Cleans up if a signal ends the script, which then ends as it would have anyway. Signals are heard
 * only while the thread is not blocked.
 *
 * @returns What ends the watch, with `using`.
 */
export function cleanUpOnSignal(cleanUp: () => void): Disposable {
  const listeners = SIGNALS.map(([signal, number]) => {
    const listener = () => {
      cleanUp();
      Deno.exit(128 + number);
    };
    Deno.addSignalListener(signal, listener);
    return [signal, listener] as const;
  });
  return {
    [Symbol.dispose]() {
      for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
    },
  };
}
