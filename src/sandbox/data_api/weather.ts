/** A weather station. The stations and their weather are made up for teaching. */
export interface Station {
  readonly id: string;
  readonly name: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly elevationM: number;
}

/** One hour at one station. The property names contain the units. */
export interface Observation {
  readonly time: string;
  readonly temperatureC: number;
  readonly precipitationMm: number;
  readonly windSpeedMs: number;
  readonly windDirectionDeg: number;
  readonly pressureHpa: number;
}

interface Climate {
  readonly seed: number;
  readonly meanC: number;
  /** Half the difference between the coldest and the warmest part of the year. */
  readonly seasonC: number;
  /** Half the difference between night and day. */
  readonly dayC: number;
  readonly windMs: number;
  /** Share of the time with a rain front, 0 to 1. */
  readonly wet: number;
}

const HOUR_MS = 3_600_000;

/** Start of the data, which covers one year in UTC. */
export const DATA_START = Date.UTC(2025, 0, 1);
/** End of the data, exclusive. */
export const DATA_END = Date.UTC(2026, 0, 1);

const PLACES: readonly (Station & { climate: Climate })[] = [
  place("gull-harbor", "Gull Harbor", 54.21, 8.37, 6, [11, 9.8, 6.8, 2.2, 7.1, 0.24]),
  place("mill-plain", "Mill Plain", 52.08, 10.94, 88, [23, 9.9, 9.1, 4.6, 3.9, 0.17]),
  place("oak-valley", "Oak Valley", 49.63, 8.12, 142, [37, 11.2, 9.4, 5.3, 2.6, 0.15]),
  place("stone-ridge", "Stone Ridge", 50.87, 14.26, 634, [41, 6.9, 8.9, 3.4, 6.2, 0.26]),
  place("lake-meadow", "Lake Meadow", 47.55, 9.71, 402, [59, 9.6, 9.2, 4.1, 2.9, 0.25]),
  place("snow-pass", "Snow Pass", 46.94, 11.43, 2074, [67, 1.3, 8.1, 3.2, 7.8, 0.28]),
];

/** The six stations. */
export const STATIONS: readonly Station[] = PLACES.map(({ climate: _, ...station }) => station);

/** The hours from `from` up to but not including `to`, in milliseconds since 1970. */
export function* hoursBetween(from: number, to: number): Generator<number> {
  const first = Math.ceil(Math.max(from, DATA_START) / HOUR_MS) * HOUR_MS;
  for (let time = first; time < Math.min(to, DATA_END); time += HOUR_MS) yield time;
}

/**
 * Returns the observation of one hour at a station. The numbers are the same in every run.
 *
 * @throws {RangeError} If there is no such station.
 */
export function observe(stationId: string, time: number): Observation {
  const found = PLACES.find((each) => each.id === stationId);
  if (found === undefined) throw new RangeError(`There is no station "${stationId}"`);
  const { climate, elevationM, longitude } = found;
  const { seed } = climate;
  const hour = Math.round((time - DATA_START) / HOUR_MS);
  const day = hour / 24;

  // A weather system takes days to pass and is the same at all stations. Local weather takes hours.
  const system = smooth(1, day / 4);
  const local = smooth(seed, hour / 7);
  const front = smooth(2, day / 2.2) * 0.75 + smooth(seed + 1, hour / 9) * 0.25;
  const rain = Math.max(0, front - (1 - 2 * climate.wet) * 0.62);

  // The coldest day is around 20 January, and the coldest hour of a day around 4 a.m. solar time.
  const season = -Math.cos((2 * Math.PI * (day - 19)) / 365);
  const sunHour = (hour % 24) + longitude / 15;
  const daily = -Math.cos((2 * Math.PI * (sunHour - 3.5)) / 24);
  const daylight = 0.75 + 0.25 * season;
  const cloud = rain > 0 ? 0.45 : 1;

  const temperature = climate.meanC + climate.seasonC * season +
    climate.dayC * daylight * cloud * daily + 4.6 * system + 1.1 * local;
  const wind = climate.windMs * (0.75 - 0.2 * season + 0.3 * daily * 0.5) *
    Math.exp(0.55 * local + 0.5 * Math.max(0, front));
  const direction = 235 + 95 * smooth(3, day / 3) + 25 * local;
  const seaLevel = 1014.5 + 11 * system - 9 * front;
  const pressure = seaLevel * Math.exp(-elevationM / 8300);
  const burst = 0.35 + 0.65 * random(seed + 2, hour);

  return {
    time: new Date(time).toISOString().replace(".000Z", "Z"),
    temperatureC: round(temperature),
    precipitationMm: round(4.5 * rain * burst * (1 + 0.35 * season)),
    windSpeedMs: round(Math.min(wind, 38)),
    windDirectionDeg: ((Math.round(direction / 10) * 10) % 360 + 360) % 360,
    pressureHpa: round(pressure),
  };
}

function place(
  id: string,
  name: string,
  latitude: number,
  longitude: number,
  elevationM: number,
  [seed, meanC, seasonC, dayC, windMs, wet]: readonly [
    number,
    number,
    number,
    number,
    number,
    number,
  ],
): Station & { climate: Climate } {
  const climate = { seed, meanC, seasonC, dayC, windMs, wet };
  return { id, name, latitude, longitude, elevationM, climate };
}

/** A number from 0 up to 1 that depends only on the seed and the index. */
function random(seed: number, index: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
}

/** Smooth noise from -1 to 1, with one random value for each whole `position`. */
function smooth(seed: number, position: number): number {
  const index = Math.floor(position);
  const fraction = position - index;
  const weight = fraction * fraction * (3 - 2 * fraction);
  const left = random(seed, index);
  const right = random(seed, index + 1);
  return 2 * (left + (right - left) * weight) - 1;
}

function round(value: number): number {
  return Math.round(value * 10) / 10 + 0;
}
