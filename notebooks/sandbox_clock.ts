/**
 * A sandbox whose clock stands until a cell moves it, so that each run of a notebook shows the same
 * times, and a token ends without anybody waiting. A notebook of yours needs no such clock.
 */
import { configure, type SessionOptions } from "../mod.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../src/sandbox/mod.ts";

/** The time of the notebook. */
export interface Clock {
  /** Now, as the sandbox and the session see it. */
  readonly now: () => number;
  /** Lets that many minutes pass. */
  pass(minutes: number): void;
  /** What a session takes that goes by this clock. Its pauses move the clock, and nobody waits. */
  readonly options: SessionOptions;
}

/** Starts a sandbox at nine o'clock in the morning (UTC), and has the default session use it. */
export async function startAtNine(
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; clock: Clock }> {
  let time = Date.UTC(2026, 0, 15, 9);
  const now = () => time;
  const pass = (minutes: number) => void (time += minutes * 60_000);
  const sleep = async (ms: number) => {
    const end = time + Math.ceil(ms / 1000) * 1000;
    // Others begin their pauses meanwhile: who pauses together wakes together.
    await new Promise((resolve) => setTimeout(resolve, 10));
    time = Math.max(time, end);
  };
  const clocked = { now, monotonic: now, sleep };
  const sandbox = await startSandbox({ now, ...options });
  configure({ ...sandbox.settings, ...clocked });
  return { sandbox, clock: { now, pass, options: clocked } };
}
