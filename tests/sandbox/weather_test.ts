import { assertEquals } from "@std/assert";
import {
  DATA_END,
  DATA_START,
  hoursBetween,
  observe,
  STATIONS,
} from "../../src/sandbox/data_api/weather.ts";

// If the numbers change, run sample_files.ts, because the sample files contain the same numbers.
Deno.test("the observations of the sandbox are the same in every run", async () => {
  const hours = [...hoursBetween(DATA_START, DATA_END)];
  const years = STATIONS.map(({ id }) => hours.map((time) => observe(id, time)));
  const bytes = new TextEncoder().encode(JSON.stringify(years));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  assertEquals(
    digest.toHex(),
    "a61b93c0c2630c2d90d488c39f8a0ad9c8d764eeffb2171524216ff2fe500f07",
  );
});
