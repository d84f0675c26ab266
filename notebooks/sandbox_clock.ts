/**
 * A sandbox whose clock advances only when a cell advances it, so that each run of a notebook shows the
 * same times, and a token expires without waiting. Your own notebooks do not need such a clock.
 */
import { configure, type SessionOptions } from "../mod.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../src/sandbox/mod.ts";

/** The clock of the notebook. */
export interface Clock {
  /** The current time for the sandbox and the session. */
  readonly now: () => number;
  /** Advances the clock. */
  pass(minutes: number): void;
  /** Options of a session that uses this clock. Its pauses advance the clock instead of waiting. */
  readonly options: SessionOptions;
}

/** Starts a sandbox at 09:00 UTC and configures the default session to use it. */
export async function startAtNine(
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; clock: Clock }> {
  let time = Date.UTC(2026, 0, 15, 9);
  const now = () => time;
  const pass = (minutes: number) => void (time += minutes * 60_000);
  const sleep = async (ms: number) => {
    const end = time + Math.ceil(ms / 1000) * 1000;
    // Other sessions start their pauses meanwhile, so that simultaneous pauses end together.
    await new Promise((resolve) => setTimeout(resolve, 10));
    time = Math.max(time, end);
  };
  const clocked = { now, monotonic: now, sleep };
  const sandbox = await startSandbox({ now, ...options });
  configure({ ...sandbox.settings, ...clocked });
  return { sandbox, clock: { now, pass, options: clocked } };
}
