/**
 * A sandbox whose clock stands until a cell moves it, so that each run of a notebook shows the same
 * times, and a token ends without anybody waiting. A notebook of yours needs no such clock.
 */
import { configure } from "../mod.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../src/sandbox/mod.ts";

/** The time of the notebook. */
export interface Clock {
  /** Now, as the sandbox and the session see it. */
  readonly now: () => number;
  /** Lets that many minutes pass. */
  pass(minutes: number): void;
}

/** Starts a sandbox at nine o'clock in the morning (UTC), and has the default session use it. */
export async function startAtNine(
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; clock: Clock }> {
  let time = Date.UTC(2026, 0, 15, 9);
  const now = () => time;
  const sandbox = await startSandbox({ now, ...options });
  configure({ ...sandbox.settings, now, monotonic: now });
  return { sandbox, clock: { now, pass: (minutes) => void (time += minutes * 60_000) } };
}
