/** The middle of the values; of two middles their mean. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which that share of the values lies, interpolated. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? NaN;
  const above = sorted[Math.ceil(place)] ?? NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** How a subject did, and how it compares to the reference of its table. */
export interface Summary {
  readonly median: number;
  /** The middle half of the samples. */
  readonly quartiles: readonly [number, number];
  readonly samples: number;
  /** Ratio of the two medians. */
  readonly ratio: number;
  /** The middle half of the ratios of samples that were taken side by side. */
  readonly ratioQuartiles: readonly [number, number];
}

/** Sums samples up beside those of the reference that were taken in the same rounds. */
export function summarize(samples: readonly number[], reference: readonly number[]): Summary {
  const ratios = samples.map((sample, round) => sample / (reference[round] ?? NaN));
  return {
    median: median(samples),
    quartiles: [quantile(samples, 0.25), quantile(samples, 0.75)],
    samples: samples.length,
    ratio: median(samples) / median(reference),
    ratioQuartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
  };
}

/** The exponent b of the power law `cost = a * size^b` that fits best: the slope between logarithms. */
export function fittedExponent(sizes: readonly number[], costs: readonly number[]): number {
  const xs = sizes.map(Math.log);
  const ys = costs.map(Math.log);
  const meanX = mean(xs);
  const meanY = mean(ys);
  const covariance = mean(xs.map((x, i) => (x - meanX) * ((ys[i] ?? NaN) - meanY)));
  return covariance / mean(xs.map((x) => (x - meanX) ** 2));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
