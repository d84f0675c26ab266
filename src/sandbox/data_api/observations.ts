import {
  DATA_END,
  DATA_START,
  hoursBetween,
  type Observation,
  observe,
  type Station,
} from "./weather.ts";
import type { FileContent } from "./files.ts";

/** The error for a query that the API refuses. Its message says what is wrong with the query. */
export class QueryError extends Error {
  override name = "QueryError";

  constructor(message: string, readonly status = 400, readonly code = "bad_request") {
    super(message);
  }
}

/** One page of observations. */
export interface ObservationPage {
  readonly station: string;
  readonly from: string;
  /** End of the range, exclusive. */
  readonly to: string;
  readonly total: number;
  readonly page: number;
  readonly pages: number;
  /** Path of the next page, or `null` on the last one. */
  readonly next: string | null;
  readonly items: Observation[];
}

interface Range {
  readonly from: number;
  readonly to: number;
}

const COLUMNS = [
  "time",
  "temperatureC",
  "precipitationMm",
  "windSpeedMs",
  "windDirectionDeg",
  "pressureHpa",
] as const satisfies readonly (keyof Observation)[];

const DEFAULT_LIMIT = 1000;
const LARGEST_LIMIT = 5000;

/**
 * Query parameters of observations, listed on the API's start page. The CSV file accepts only the
 * first two.
 */
export const PARAMETERS = {
  from: "first hour, such as 2025-06-01 or 2025-06-01T12:00:00Z",
  to: "end, exclusive",
  limit: `rows per page, 1 to ${LARGEST_LIMIT} (default ${DEFAULT_LIMIT})`,
  page: "number of the page, starting at 1",
};

/**
 * Reads a query. Each error lists the known parameters.
 *
 * @throws {QueryError} If a parameter is unknown, given twice or malformed.
 */
function readQuery<T>(query: URLSearchParams, known: readonly string[], read: () => T): T {
  for (const name of new Set(query.keys())) {
    if (!known.includes(name)) {
      throw new QueryError(`Unknown parameter "${name}"; use one of ${known.join(", ")}.`);
    }
  }
  try {
    const twice = known.find((name) => query.getAll(name).length > 1);
    if (twice !== undefined) throw new QueryError(`"${twice}" is given more than once.`);
    return read();
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    throw new QueryError(`${error.message} The parameters are ${known.join(", ")}.`);
  }
}

/** Reads `from` (included) and `to` (not included). */
function parseRange(query: URLSearchParams): Range {
  const from = instant(query, "from") ?? DATA_START;
  const to = instant(query, "to") ?? DATA_END;
  if (from >= to) {
    throw new QueryError('"from" must be earlier than "to"; "to" itself is not included.');
  }
  return { from, to };
}

/**
 * Returns the observations that a query selects with `from`, `to`, `limit` and `page`.
 *
 * @throws {QueryError} If a parameter is unknown or malformed, or the page does not exist.
 */
export function observationPage(station: Station, url: URL): ObservationPage {
  return readQuery(url.searchParams, Object.keys(PARAMETERS), () => pageOf(station, url));
}

function pageOf(station: Station, url: URL): ObservationPage {
  const query = url.searchParams;
  const { from, to } = parseRange(query);
  const limit = count(query, "limit", DEFAULT_LIMIT, LARGEST_LIMIT);
  const page = count(query, "page", 1, Number.MAX_SAFE_INTEGER);
  const times = [...hoursBetween(from, to)];
  const pages = Math.max(1, Math.ceil(times.length / limit));
  if (page > pages) {
    throw new QueryError(`"page" must be 1 to ${pages} for this query, got ${page}.`);
  }
  const nextQuery = new URLSearchParams(query);
  nextQuery.set("page", String(page + 1));
  return {
    station: station.id,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    total: times.length,
    page,
    pages,
    next: page < pages ? `${url.pathname}?${nextQuery}` : null,
    items: times.slice((page - 1) * limit, page * limit).map((time) => observe(station.id, time)),
  };
}

/**
 * Returns the observations that a query selects with `from` and `to` as comma-separated text.
 *
 * @throws {QueryError} If a parameter is unknown or malformed.
 */
export function observationText(station: Station, query: URLSearchParams): FileContent {
  return csvTable(station, readQuery(query, ["from", "to"], () => parseRange(query)));
}

/** The observations as comma-separated text with a header line. */
export function csvTable(station: Station, range: Range): FileContent {
  const lines = [COLUMNS.join(",")];
  for (const time of hoursBetween(range.from, range.to)) {
    const row = observe(station.id, time);
    lines.push(COLUMNS.map((column) => row[column]).join(","));
  }
  const bytes = new TextEncoder().encode(lines.join("\n") + "\n");
  return { type: "text/csv; charset=utf-8", bytes };
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

function instant(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const [, day, clock, zone] = INSTANT.exec(text) ?? [];
  // A time without a zone is in UTC, not in the zone of this machine.
  const time = Date.parse(clock === undefined || zone !== undefined ? text : `${text}Z`);
  if (day === undefined || Number.isNaN(time) || !exists(day)) {
    throw new QueryError(
      `"${name}" must be a date such as 2025-06-01 or a time such as 2025-06-01T12:00:00Z, ` +
        `got "${text}".`,
    );
  }
  return time;
}

/**
 * Whether a day exists. `Date.parse` accepts a day such as 30 February and returns a day in March.
 */
function exists(day: string): boolean {
  const time = Date.parse(`${day}T00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

function count(query: URLSearchParams, name: string, missing: number, max: number): number {
  const text = query.get(name);
  if (text === null) return missing;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(value >= 1 && value <= max)) {
    const range = max === Number.MAX_SAFE_INTEGER ? "1 or more" : `1 to ${max}`;
    throw new QueryError(`"${name}" must be a whole number, ${range}, got "${text}".`);
  }
  return value;
}
