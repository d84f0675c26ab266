import { type Interval, median, medianInterval, type Summary } from "./stats.ts";

/** A table of one part, as it is printed and saved. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** The method, and whatever was left out. */
  readonly notes?: readonly string[];
}

/** A figure that the project wants to reach. */
export interface Target {
  readonly claim: string;
  readonly measured: number;
  /** The 95 % interval of the figure; absent if it does not vary. */
  readonly interval?: Interval;
  readonly limit: number;
  /** Whether the figure must stay below the limit, or must reach it. */
  readonly wanted: "at most" | "at least";
  readonly unit: string;
}

/** The results of one part of the benchmark. */
export interface PartResult {
  readonly part: string;
  readonly tables: readonly Table[];
  readonly targets: readonly Target[];
}

/** A target is decided when the whole interval is on one side of it. */
export type Verdict = "met" | "missed" | "not decided";

export function verdictOf({ measured, interval, limit, wanted }: Target): Verdict {
  const [low, high] = interval ?? [measured, measured];
  if (wanted === "at most" ? high <= limit : low >= limit) return "met";
  return (wanted === "at most" ? low > limit : high < limit) ? "missed" : "not decided";
}

/** A target for the ratio of a subject to its reference; none if the subject did not run. */
export function ratioTarget(
  claim: string,
  summary: Summary | undefined,
  limit: number,
  wanted: Target["wanted"] = "at most",
): Target[] {
  if (summary === undefined) return [];
  const { ratio: measured, interval } = summary;
  return [{ claim, measured, interval, limit, wanted, unit: " ×" }];
}

/** A target for the median of values; none if there are no values. */
export function valueTarget(
  claim: string,
  values: readonly number[],
  limit: number,
  unit: string,
): Target[] {
  if (values.length === 0) return [];
  const interval = medianInterval(values);
  return [{ claim, measured: median(values), interval, limit, wanted: "at most", unit }];
}

/** A target for a number that does not vary. */
export function countTarget(claim: string, measured: number, limit: number): Target {
  return { claim, measured, limit, wanted: "at most", unit: "" };
}

/** Rows of name, median, middle half, ratio and its interval, for a table of summaries. */
export function summaryRows(
  summaries: ReadonlyMap<string, Summary>,
  unit: string,
): (string | number)[][] {
  return [...summaries].map(([name, one]) => [
    name,
    `${figure(one.median)} ${unit}`,
    rangeText(one.quartiles),
    figure(one.ratio),
    rangeText(one.interval),
  ]);
}

/** The headings of those columns. */
export function summaryColumns(what: string, reference: string): string[] {
  return [what, "median", "middle half", `ratio to ${reference}`, "95 % interval"];
}

/** A range as text. */
export function rangeText([low, high]: Interval): string {
  return `${figure(low)} to ${figure(high)}`;
}

/** Three significant digits, and never an exponent. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return Number(value.toPrecision(3)).toString();
}

/** One part as Markdown, which is also easy to read in a terminal. */
export function markdownOf({ tables, targets }: PartResult): string {
  const blocks = tables.map(tableText);
  if (targets.length > 0) blocks.push(tableText(targetTable(targets)));
  return blocks.join("\n\n");
}

function targetTable(targets: readonly Target[]): Table {
  return {
    title: "Targets",
    columns: ["figure", "wanted", "measured", "95 % interval", ""],
    rows: targets.map((target) => [
      target.claim,
      `${target.wanted} ${figure(target.limit)}${target.unit}`,
      `${figure(target.measured)}${target.unit}`,
      target.interval === undefined ? "" : rangeText(target.interval),
      verdictOf(target),
    ]),
  };
}

function tableText({ title, columns, rows, notes = [] }: Table): string {
  const cells = [columns, ...rows].map((row) =>
    row.map((cell) => typeof cell === "number" ? figure(cell) : cell)
  );
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0), 3));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, at) => (row[at] ?? "").padEnd(width)).join(" | ")} |`;
  const [head = [], ...body] = cells;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  const text = [`**${title}**`, "", line(head), rule, ...body.map(line)];
  if (notes.length > 0) text.push("", ...notes);
  return text.join("\n");
}
