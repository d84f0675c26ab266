import { summarize, type Summary } from "./stats.ts";

/** A subject of a measurement: does its work once and resolves to the cost. */
export interface Subject {
  readonly name: string;
  measure(): Promise<number>;
}

/**
 * Measures subjects in turn, A B C A B C …, so that other load on the machine affects all of them
 * equally. Each round begins with another subject. A first round is discarded.
 *
 * @returns The samples by name, in the order of the rounds.
 */
export async function interleave(
  subjects: readonly Subject[],
  rounds: number,
  warmups = 1,
): Promise<Map<string, number[]>> {
  const samples = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
  for (let round = -warmups; round < rounds; round++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const subject = subjects[(turn + Math.max(round, 0)) % subjects.length];
      if (subject === undefined) continue;
      const cost = await subject.measure();
      if (round >= 0) samples.get(subject.name)?.push(cost);
    }
  }
  return samples;
}

/** Summarizes each subject, compared with the reference. */
export function compare(
  samples: ReadonlyMap<string, readonly number[]>,
  reference: string,
): Map<string, Summary> {
  const beside = samples.get(reference) ?? [];
  return new Map([...samples].map(([name, values]) => [name, summarize(values, beside)]));
}

/** Duration of the work in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
