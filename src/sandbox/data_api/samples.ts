import type { FileContent } from "./files.ts";
// Deno 2.9 imports text but not bytes, so the files are in base64. tests/sandbox/sample_files.ts
// generates both files.
import parquet from "./samples/gull-harbor.parquet.base64" with { type: "text" };
import map from "./samples/temperature.tif.base64" with { type: "text" };

/** Binary files of the API, by path. They contain the same weather as its JSON and CSV. */
export const SAMPLES: Readonly<Record<string, FileContent>> = {
  "/v1/stations/gull-harbor/observations.parquet": {
    type: "application/vnd.apache.parquet",
    bytes: Uint8Array.fromBase64(parquet),
  },
  "/v1/maps/temperature.tif": {
    type: "image/tiff; application=geotiff",
    bytes: Uint8Array.fromBase64(map),
  },
};
