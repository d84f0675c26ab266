/** Clocks that only move when a test, or a pause of the client, moves them. */
export interface FakeTime {
  now(): number;
  monotonic(): number;
  /** Moves both clocks at once, without waiting. */
  sleep(ms: number): Promise<void>;
  /** The pauses so far, in milliseconds. */
  readonly pauses: number[];
}

export function fakeTime(start = Date.UTC(2030, 0, 1)): FakeTime {
  let passed = 0;
  const pauses: number[] = [];
  return {
    now: () => start + passed,
    monotonic: () => 5_000 + passed,
    sleep: (ms) => {
      pauses.push(ms);
      passed += ms;
      return Promise.resolve();
    },
    pauses,
  };
}
