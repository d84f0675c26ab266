/**
 * Writes a Parquet file by hand, so that the sandbox needs no package for it: plain values, not
 * compressed, no missing ones, and for each column of a row group one page and its smallest and largest
 * value. A reader can so leave out columns and row groups.
 *
 * @module
 */

/** A column. The values of a timestamp are milliseconds since 1970, UTC. */
export interface Column {
  readonly name: string;
  readonly type: "int32" | "double" | "timestamp";
}

/** The numbers of the format for each type, and how a value is written, with the lowest byte first. */
const TYPES = {
  int32: {
    id: 1,
    converted: undefined,
    size: 4,
    write: (view: DataView, at: number, value: number) => view.setInt32(at, value, true),
  },
  timestamp: {
    id: 2,
    converted: 9,
    size: 8,
    write: (view: DataView, at: number, value: number) => view.setBigInt64(at, BigInt(value), true),
  },
  double: {
    id: 5,
    converted: undefined,
    size: 8,
    write: (view: DataView, at: number, value: number) => view.setFloat64(at, value, true),
  },
};

const MAGIC = new TextEncoder().encode("PAR1");
const PLAIN = 0;
const RLE = 3;
const UNCOMPRESSED = 0;
const REQUIRED = 0;
const DATA_PAGE = 0;

/** The file of these row groups. Each has a list of values for each column. */
export function parquetFile(
  columns: readonly Column[],
  rowGroups: readonly (readonly (readonly number[])[])[],
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array<ArrayBuffer>[] = [MAGIC];
  let offset = MAGIC.length;
  const described = rowGroups.map((group) => {
    const start = offset;
    const chunks = columns.map((column, index) => {
      const values = group[index] ?? [];
      const page = pageOf(column, values);
      const chunk = chunkOf(column, values, page.length, offset);
      parts.push(page);
      offset += page.length;
      return chunk;
    });
    return struct({ 1: list(chunks), 2: i64(offset - start), 3: i64(group[0]?.length ?? 0) });
  });
  const rows = rowGroups.reduce((sum, group) => sum + (group[0]?.length ?? 0), 0);
  const root = struct({ 4: text("schema"), 5: i32(columns.length) });
  const footer = bytesOf(struct({
    1: i32(1),
    2: list([root, ...columns.map(schemaOf)]),
    3: i64(rows),
    4: list(described),
    6: text("the sandbox of platform-auth"),
    7: list(columns.map(() => struct({ 1: struct({}) }))),
  }));
  const size = new DataView(new ArrayBuffer(4));
  size.setUint32(0, footer.length, true);
  return concatenated([...parts, footer, new Uint8Array(size.buffer), MAGIC]);
}

function schemaOf({ name, type }: Column): Value {
  const { id, converted } = TYPES[type];
  const fields: Record<number, Value> = { 1: i32(id), 3: i32(REQUIRED), 4: text(name) };
  if (converted !== undefined) fields[6] = i32(converted);
  return struct(fields);
}

function pageOf({ type }: Column, values: readonly number[]): Uint8Array<ArrayBuffer> {
  const plain = plainValues(type, values);
  const levels = { 3: i32(RLE), 4: i32(RLE) };
  const header = struct({
    1: i32(DATA_PAGE),
    2: i32(plain.length),
    3: i32(plain.length),
    5: struct({ 1: i32(values.length), 2: i32(PLAIN), ...levels }),
  });
  return concatenated([bytesOf(header), plain]);
}

/** What the footer says of a column of a row group. */
function chunkOf(
  { name, type }: Column,
  values: readonly number[],
  size: number,
  offset: number,
): Value {
  const only = (value: number) => binary([...plainValues(type, [value])]);
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const metadata = struct({
    1: i32(TYPES[type].id),
    2: list([i32(PLAIN), i32(RLE)]),
    3: list([text(name)]),
    4: i32(UNCOMPRESSED),
    5: i64(values.length),
    6: i64(size),
    7: i64(size),
    9: i64(offset),
    12: struct({ 3: i64(0), 5: only(most), 6: only(least) }),
  });
  return struct({ 2: i64(offset), 3: metadata });
}

function plainValues(type: Column["type"], values: readonly number[]): Uint8Array<ArrayBuffer> {
  const { size, write } = TYPES[type];
  const view = new DataView(new ArrayBuffer(values.length * size));
  for (const [index, value] of values.entries()) write(view, index * size, value);
  return new Uint8Array(view.buffer);
}

/** A value in Thrift's compact form, in which Parquet describes its pages and itself. */
interface Value {
  readonly kind: number;
  readonly bytes: readonly number[];
}

const i32 = (value: number): Value => ({ kind: 5, bytes: varint(value * 2) });
const i64 = (value: number): Value => ({ kind: 6, bytes: varint(value * 2) });
const binary = (bytes: readonly number[]): Value => ({
  kind: 8,
  bytes: [...varint(bytes.length), ...bytes],
});
const text = (value: string): Value => binary([...new TextEncoder().encode(value)]);

function list(values: readonly Value[]): Value {
  const kind = values[0]?.kind ?? 0;
  const { length } = values;
  const header = length < 15 ? [length << 4 | kind] : [0xf0 | kind, ...varint(length)];
  return { kind: 9, bytes: [...header, ...values.flatMap(({ bytes }) => bytes)] };
}

/** The fields by their numbers, which stand in the description of the format. */
function struct(fields: Readonly<Record<number, Value>>): Value {
  let last = 0;
  const bytes = Object.entries(fields).flatMap(([id, value]) => {
    const step = Number(id) - last;
    last = Number(id);
    return [step << 4 | value.kind, ...value.bytes];
  });
  return { kind: 12, bytes: [...bytes, 0] };
}

/** Seven bits a byte, the lowest first. Every number here is 0 or more. */
function varint(value: number): number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
}

function bytesOf({ bytes }: Value): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(bytes);
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
