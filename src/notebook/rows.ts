import { typeError } from "../errors/errors.ts";
import { closest } from "../errors/closest.ts";

/** Rows in a common form. */
export interface Rows {
  readonly columns: readonly string[];
  /** The first rows, with one cell per column. */
  readonly cells: readonly (readonly unknown[])[];
  readonly rowCount: number;
  /** Includes the columns that are not shown. */
  readonly columnCount: number;
}

/** The members of an Arquero table that this file uses. */
interface ArqueroTable {
  numRows(): number;
  columnNames(): string[];
  objects(options: { limit: number }): Record<string, unknown>[];
}

/**
 * The members of a nodejs-polars frame that this file uses. Columns are properties of a frame, so a
 * column named "height" hides the property `height`.
 */
interface PolarsFrame {
  readonly columns: string[];
  readonly shape: { readonly height: number };
  head(length: number): PolarsFrame;
  toRecords(): Record<string, unknown>[];
}

/** Maximum number of columns shown. The rows of a matrix, for example, may have thousands. */
const MOST_COLUMNS = 100;
/** Maximum number of columns that an error lists. */
const MOST_NAMED = 30;
/** The only column of rows that are plain values. */
const VALUE = "value";

/**
 * Reads rows.
 *
 * @param limit Maximum number of rows to read; further rows are only counted.
 * @param wanted The columns to read, in this order. For rows that are arrays, these are the names
 * by position.
 * @throws {TypeError} If these are not rows, or a column does not exist.
 */
export function readRows(given: unknown, limit: number, wanted?: readonly string[]): Rows {
  if (isArquero(given)) {
    return ofRecords(given.objects({ limit }), given.columnNames(), given.numRows(), wanted);
  }
  if (isPolars(given)) {
    const { columns, shape: { height } } = given;
    return ofRecords(given.head(Math.min(limit, height)).toRecords(), columns, height, wanted);
  }
  if (isIterable(given)) return ofIterable(given, limit, wanted);
  if (typeof given === "object" && given !== null && isColumns(given)) {
    const columns = Object.values(given);
    const length = columns.reduce((most, { length }) => Math.max(most, length), 0);
    const cells = Array.from(
      { length: Math.min(limit, length) },
      (_, at) => columns.map((column) => column[at]),
    );
    return selected({ names: Object.keys(given), cells, rowCount: length }, wanted);
  }
  throw noRows(given);
}

function ofIterable(
  given: Iterable<unknown>,
  limit: number,
  wanted: readonly string[] | undefined,
): Rows {
  const rows = Array.from(given);
  if (rows.length > 0 && rows.every(isList)) {
    const width = rows.reduce((most, { length }) => Math.max(most, length), wanted?.length ?? 0);
    const columns = wanted ??
      Array.from({ length: Math.min(width, MOST_COLUMNS) }, (_, at) => String(at));
    const cells = rows.slice(0, limit).map((row) => columns.map((_, at) => row[at]));
    return { columns, cells, rowCount: rows.length, columnCount: width };
  }
  const records = rows.slice(0, limit).map((row) => isRecord(row) ? row : { [VALUE]: row });
  const names = new Set<string>();
  for (const row of rows) {
    if (!isRecord(row)) names.add(VALUE);
    else for (const name of Object.keys(row)) names.add(name);
  }
  return ofRecords(records, [...names], rows.length, wanted);
}

function ofRecords(
  records: readonly Record<string, unknown>[],
  names: readonly string[],
  rowCount: number,
  wanted: readonly string[] | undefined,
): Rows {
  const cells = records.map((row) => names.map((name) => row[name]));
  return selected({ names, cells, rowCount }, wanted);
}

/** Selects columns; default: the first ones. */
function selected(
  { names, cells, rowCount }: {
    names: readonly string[];
    cells: readonly (readonly unknown[])[];
    rowCount: number;
  },
  wanted: readonly string[] = names.slice(0, MOST_COLUMNS),
): Rows {
  const places = wanted.map((name) => {
    const place = names.indexOf(name);
    // An empty list has no columns to compare with.
    if (place < 0 && names.length > 0) throw noColumn("table()", name, names);
    return place;
  });
  return {
    columns: wanted,
    cells: cells.map((row) => places.map((place) => row[place])),
    rowCount,
    columnCount: Math.max(names.length, wanted.length),
  };
}

function isArquero(given: unknown): given is ArqueroTable {
  return hasMethods(given, "numRows", "columnNames", "objects");
}

function isPolars(given: unknown): given is PolarsFrame {
  return hasMethods(given, "head", "toRecords") &&
    Array.isArray(Reflect.get(Object(given), "columns"));
}

function hasMethods(given: unknown, ...names: string[]): boolean {
  return typeof given === "object" && given !== null &&
    names.every((name) => typeof Reflect.get(given, name) === "function");
}

export function isIterable(given: unknown): given is Iterable<unknown> {
  return typeof given === "object" && given !== null && Symbol.iterator in given;
}

function isList(given: unknown): given is ArrayLike<unknown> {
  return Array.isArray(given) || ArrayBuffer.isView(given) && !(given instanceof DataView);
}

/** Whether a row is an object with columns. Dates and URLs are values. */
export function isRecord(row: unknown): row is Record<string, unknown> {
  if (typeof row !== "object" || row === null) return false;
  return Object.keys(row).length > 0 || Object.getPrototypeOf(row) === Object.prototype;
}

/** Whether an object has a list of values for each column, as in some APIs. */
function isColumns(given: object): given is Record<string, ArrayLike<unknown>> {
  const columns = Object.values(given);
  return columns.length > 0 && columns.every((column) => isList(column) && !holdsRows(column));
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
  const further = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} others` : "";
  const list = names.slice(0, MOST_NAMED).join(", ") + further;
  const others = meant === undefined ? `it has ${list}` : `did you mean "${meant}"? It has ${list}`;
  return typeError(`${caller} finds no column "${name}"; ${others}`);
}
