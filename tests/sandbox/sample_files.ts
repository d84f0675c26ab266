/**
 * Generates the two binary files that the sandbox's API serves, from the sandbox's weather data:
 *
 *     deno run -A --lock=tests/deno.lock tests/sandbox/sample_files.ts
 *
 * The same data and the same versions of the packages result in the same bytes.
 */
import { fileURLToPath } from "node:url";
import { parquetWriteBuffer } from "npm:hyparquet-writer@^0.17";
import {
  DATA_END,
  DATA_START,
  hoursBetween,
  observe,
  STATIONS,
} from "../../src/sandbox/data_api/weather.ts";

const SAMPLES = new URL("../../src/sandbox/data_api/samples/", import.meta.url);
const HOURS = [...hoursBetween(DATA_START, DATA_END)];

/** The observations of Gull Harbor, with a row group for each month. */
function parquet(): Uint8Array {
  const rows = HOURS.map((hour) => observe("gull-harbor", hour));
  const number = (name: "temperatureC" | "precipitationMm" | "windSpeedMs" | "pressureHpa") => ({
    name,
    data: rows.map((row) => row[name]),
    type: "DOUBLE" as const,
  });
  const columnData = [
    {
      name: "time",
      data: HOURS.map((hour) => new Date(hour)),
      type: "TIMESTAMP" as const,
      encoding: "DELTA_BINARY_PACKED" as const,
    },
    number("temperatureC"),
    number("precipitationMm"),
    number("windSpeedMs"),
    {
      name: "windDirectionDeg",
      data: rows.map((row) => row.windDirectionDeg),
      type: "INT32" as const,
    },
    number("pressureHpa"),
  ].map((column) => ({ ...column, nullable: false }));
  const months = Array.from(
    { length: 12 },
    (_, month) => HOURS.filter((hour) => new Date(hour).getUTCMonth() === month).length,
  );
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: months }));
}

/** The mean temperature of 2025 as a GeoTIFF. No package for Deno writes tiles, so Python does. */
async function map(): Promise<Uint8Array> {
  const stations = STATIONS.map(({ id, longitude, latitude }) => {
    const sum = HOURS.reduce((total, hour) => total + observe(id, hour).temperatureC, 0);
    return { longitude, latitude, celsius: sum / HOURS.length };
  });
  const script = fileURLToPath(new URL("temperature_map.py", import.meta.url));
  const { success, stdout } = await new Deno.Command("python3", {
    args: [script, JSON.stringify(stations)],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot write the map: python3 needs the package tifffile");
  return stdout;
}

/** Saves bytes as base64 text: Deno 2.9 can import text, but not bytes. */
async function save(name: string, bytes: Uint8Array): Promise<void> {
  const lines = bytes.toBase64().replaceAll(/.{100}/g, "$&\n");
  await Deno.writeTextFile(new URL(`${name}.base64`, SAMPLES), `${lines}\n`);
}

await save("gull-harbor.parquet", parquet());
await save("temperature.tif", await map());
