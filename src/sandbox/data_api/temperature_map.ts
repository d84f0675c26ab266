import type { FileContent } from "./files.ts";
import { DATA_END, DATA_START, hoursBetween, observe, STATIONS } from "./weather.ts";

/** Pixels of a side of the map and of a tile, and pixels of a degree. */
const SIDE = 512;
const TILE = 64;
const PER_DEGREE = 64;
/** The upper left corner of the map, in degrees. */
const WEST = 7.5;
const NORTH = 54.5;

/** Types of TIFF fields, by their numbers in the format. */
const SHORT = 3;
const LONG = 4;
const DOUBLE = 12;
const SIZES: Record<number, number> = { [SHORT]: 2, [LONG]: 4, [DOUBLE]: 8 };

/**
 * The mean temperature of 2025 as a GeoTIFF: eight degrees each way, interpolated between the stations.
 * It has tiles, not compressed, and its directory comes first, so that a reader can fetch a window.
 */
export function temperatureMap(): FileContent {
  const tiles = (SIDE / TILE) ** 2;
  const tileBytes = TILE * TILE * 4;
  const perTile = (value: (index: number) => number) =>
    Array.from({ length: tiles }, (_, i) => value(i));
  const fields = (firstTile: number): [tag: number, type: number, values: number[]][] => [
    [256, LONG, [SIDE]], // width
    [257, LONG, [SIDE]], // height
    [258, SHORT, [32]], // bits of a value
    [259, SHORT, [1]], // not compressed
    [262, SHORT, [1]], // black is the lowest
    [277, SHORT, [1]], // one value a pixel
    [322, LONG, [TILE]], // width of a tile
    [323, LONG, [TILE]], // height of a tile
    [324, LONG, perTile((index) => firstTile + index * tileBytes)], // where each tile begins
    [325, LONG, perTile(() => tileBytes)], // its length
    [339, SHORT, [3]], // values are floating point
    [33550, DOUBLE, [1 / PER_DEGREE, 1 / PER_DEGREE, 0]], // size of a pixel
    [33922, DOUBLE, [0, 0, 0, WEST, NORTH, 0]], // the place of the first pixel's corner
    // Geographic coordinates, a pixel is an area, WGS 84.
    [34735, SHORT, [1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326]],
  ];
  const head = directory(fields(directory(fields(0)).length));
  const view = new DataView(new ArrayBuffer(head.length + tiles * tileBytes));
  new Uint8Array(view.buffer).set(head);
  let at = head.length;
  const means = stationMeans();
  for (let row = 0; row < SIDE; row += TILE) {
    for (let column = 0; column < SIDE; column += TILE) {
      for (let pixel = 0; pixel < TILE * TILE; pixel++, at += 4) {
        const x = column + pixel % TILE;
        const y = row + Math.floor(pixel / TILE);
        const longitude = WEST + (x + 0.5) / PER_DEGREE;
        const latitude = NORTH - (y + 0.5) / PER_DEGREE;
        view.setFloat32(at, interpolated(means, longitude, latitude), true);
      }
    }
  }
  return { type: "image/tiff; application=geotiff", bytes: new Uint8Array(view.buffer) };
}

/** Header and directory of a TIFF file; values that do not fit their field stand behind it. */
function directory(
  fields: readonly (readonly [tag: number, type: number, values: readonly number[]])[],
): Uint8Array {
  const sizeOf = (type: number, values: readonly number[]) => (SIZES[type] ?? 0) * values.length;
  const start = 8;
  const end = start + 2 + fields.length * 12 + 4;
  const behind = fields.map(([, type, values]) => sizeOf(type, values)).filter((size) => size > 4);
  const view = new DataView(new ArrayBuffer(behind.reduce((sum, size) => sum + size, end)));
  const write = (type: number, values: readonly number[], at: number) => {
    for (const [index, value] of values.entries()) {
      const place = at + index * (SIZES[type] ?? 0);
      if (type === SHORT) view.setUint16(place, value, true);
      else if (type === LONG) view.setUint32(place, value, true);
      else view.setFloat64(place, value, true);
    }
  };
  new Uint8Array(view.buffer).set([0x49, 0x49, 42, 0]); // "II": the lowest byte first
  view.setUint32(4, start, true);
  view.setUint16(start, fields.length, true);
  let free = end;
  for (const [index, [tag, type, values]] of fields.entries()) {
    const at = start + 2 + index * 12;
    view.setUint16(at, tag, true);
    view.setUint16(at + 2, type, true);
    view.setUint32(at + 4, values.length, true);
    const size = sizeOf(type, values);
    if (size <= 4) {
      write(type, values, at + 8);
    } else {
      view.setUint32(at + 8, free, true);
      write(type, values, free);
      free += size;
    }
  }
  return new Uint8Array(view.buffer);
}

interface Mean {
  readonly longitude: number;
  readonly latitude: number;
  readonly temperatureC: number;
}

function stationMeans(): Mean[] {
  const hours = [...hoursBetween(DATA_START, DATA_END)];
  return STATIONS.map(({ id, longitude, latitude }) => {
    const sum = hours.reduce((total, hour) => total + observe(id, hour).temperatureC, 0);
    return { longitude, latitude, temperatureC: sum / hours.length };
  });
}

/** The mean of the stations, each with a weight that falls with the square of its distance. */
function interpolated(means: readonly Mean[], longitude: number, latitude: number): number {
  let sum = 0;
  let weights = 0;
  for (const mean of means) {
    const weight = 1 / ((mean.longitude - longitude) ** 2 + (mean.latitude - latitude) ** 2 + 1e-6);
    sum += weight * mean.temperatureC;
    weights += weight;
  }
  return sum / weights;
}
