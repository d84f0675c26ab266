import { randomFrom } from "../tests/support/random.ts";

/** The median of the values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which that share of the values lies, interpolated. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? NaN;
  const above = sorted[Math.ceil(place)] ?? NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** A range. */
export type Interval = readonly [number, number];

/** The result of a subject, also compared with the reference of its table. */
export interface Summary {
  readonly median: number;
  /** The middle half of the samples. */
  readonly quartiles: Interval;
  /** Median of the ratios of samples that were taken side by side. */
  readonly ratio: number;
  /** The 95 % interval of that median. */
  readonly interval: Interval;
}

/** Summarizes samples, compared with those of the reference from the same rounds. */
export function summarize(samples: readonly number[], reference: readonly number[]): Summary {
  const ratios = samples.map((sample, round) => sample / (reference[round] ?? NaN));
  return {
    median: median(samples),
    quartiles: [quantile(samples, 0.25), quantile(samples, 0.75)],
    ratio: median(ratios),
    interval: medianInterval(ratios),
  };
}

const RESAMPLES = 2_000;
/** The range from the smallest to the largest of five values covers less than 95 %. */
const LEAST_VALUES = 6;

/**
 * The 95 % interval of the median, by bootstrap: the medians of many samples drawn from the values.
 * The same values always have the same interval.
 */
export function medianInterval(values: readonly number[]): Interval {
  if (values.length < LEAST_VALUES) return [-Infinity, Infinity];
  const random = randomFrom(1);
  const drawn = new Float64Array(values.length);
  const middle = (values.length - 1) / 2;
  const medians = Array.from({ length: RESAMPLES }, () => {
    for (let i = 0; i < drawn.length; i++) {
      drawn[i] = values[Math.floor(random() * values.length)] ?? NaN;
    }
    drawn.sort();
    return ((drawn[Math.floor(middle)] ?? NaN) + (drawn[Math.ceil(middle)] ?? NaN)) / 2;
  });
  return [quantile(medians, 0.025), quantile(medians, 0.975)];
}
