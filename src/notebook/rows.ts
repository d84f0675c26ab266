import { typeError } from "../errors/errors.ts";
import { closest } from "../errors/closest.ts";

/** Rows in a common form. */
export interface Rows {
  readonly columns: readonly string[];
  /** The first rows, with one cell per column. */
  readonly cells: readonly (readonly unknown[])[];
  readonly rowCount: number;
  /** Number of all columns, including columns that are not shown. */
  readonly columnCount: number;
}

/** Maximum number of columns shown. A matrix, for example, may have thousands. */
const MOST_COLUMNS = 100;
/** Maximum number of columns that an error lists. */
const MOST_NAMED = 30;
/** The only column of rows that are plain values. */
const VALUE = "value";

/**
 * Reads rows.
 *
 * @param limit Maximum number of rows to read; further rows are only counted.
 * @param wanted The columns to read, in this order. For rows that are arrays, these names are given
 * to the columns by position.
 * @throws {TypeError} If the value does not consist of rows, or a column does not exist.
 */
export function readRows(given: unknown, limit: number, wanted?: readonly string[]): Rows {
  // A data frame is converted with `toRecords()`, because iterating over a frame of nodejs-polars
  // returns its columns.
  const rows = isFrame(given)
    ? given.toRecords()
    : isIterable(given)
    ? Array.from(given)
    : rowsOfColumns(given);
  if (rows.length > 0 && rows.every(isList)) {
    const width = rows.reduce((most, { length }) => Math.max(most, length), wanted?.length ?? 0);
    const columns = wanted ??
      Array.from({ length: Math.min(width, MOST_COLUMNS) }, (_, at) => String(at));
    const cells = rows.slice(0, limit).map((row) => columns.map((_, at) => row[at]));
    return { columns, cells, rowCount: rows.length, columnCount: width };
  }
  const names = new Set<string>();
  for (const row of rows) {
    for (const name of isRecord(row) ? Object.keys(row) : [VALUE]) names.add(name);
  }
  const columns = wanted ?? [...names].slice(0, MOST_COLUMNS);
  const missing = columns.find((name) => !names.has(name));
  // An empty list has no columns, so any column name is accepted.
  if (missing !== undefined && names.size > 0) throw noColumn("table()", missing, [...names]);
  const cells = rows.slice(0, limit).map((row) => {
    const record = isRecord(row) ? row : { [VALUE]: row };
    return columns.map((name) => record[name]);
  });
  const columnCount = Math.max(names.size, columns.length);
  return { columns, cells, rowCount: rows.length, columnCount };
}

/** Reads an object with a list of values for each column, the format of some APIs. */
function rowsOfColumns(given: unknown): Record<string, unknown>[] {
  const columns = Object.entries(Object(given));
  const isColumns = columns.length > 0 &&
    columns.every(([, values]) => isList(values) && !holdsRows(values));
  if (!isColumns) throw noRows(given);
  const lists = columns as [string, ArrayLike<unknown>][];
  const length = lists.reduce((most, [, { length }]) => Math.max(most, length), 0);
  return Array.from(
    { length },
    (_, at) => Object.fromEntries(lists.map(([name, list]) => [name, list[at]])),
  );
}

function isFrame(given: unknown): given is { toRecords(): Record<string, unknown>[] } {
  return typeof Object(given).toRecords === "function";
}

export function isIterable(given: unknown): given is Iterable<unknown> {
  return typeof given === "object" && given !== null && Symbol.iterator in given;
}

function isList(given: unknown): given is ArrayLike<unknown> {
  return Array.isArray(given) || ArrayBuffer.isView(given) && !(given instanceof DataView);
}

/** Whether a row is an object with columns. Dates and URLs are not: they are single values. */
export function isRecord(row: unknown): row is Record<string, unknown> {
  if (typeof row !== "object" || row === null) return false;
  return Object.keys(row).length > 0 || Object.getPrototypeOf(row) === Object.prototype;
}

function holdsRows(given: unknown): boolean {
  return isList(given) && isRecord(given[0]);
}

function noRows(given: unknown): TypeError {
  const takes =
    "table() takes rows: a list of objects or of lists, an object of columns, or a data " +
    "frame of Arquero or nodejs-polars";
  if (given instanceof Promise) return typeError(`${takes}; this is a promise: await it first`);
  if (given === null || typeof given !== "object") {
    return typeError(`${takes}, not ${given === null ? "null" : typeof given}`);
  }
  const [inside] = Object.entries(given).find(([, value]) => holdsRows(value)) ?? [];
  if (inside === undefined) return typeError(`${takes}; to see one object, use show()`);
  return typeError(`${takes}; the rows of this object are in its member "${inside}"`);
}

/** The error for a column that no row has. */
export function noColumn(caller: string, name: string, names: readonly string[]): TypeError {
  const meant = closest(name, names);
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  const further = names.length > MOST_NAMED ? ", …" : "";
  const list = names.slice(0, MOST_NAMED).join(", ") + further;
  return typeError(`${caller} finds no column "${name}"${hint}; the rows have ${list}`);
}
