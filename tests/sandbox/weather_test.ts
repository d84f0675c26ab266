import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  DATA_END,
  DATA_START,
  hoursBetween,
  observe,
  STATIONS,
} from "../../src/sandbox/data_api/weather.ts";

Deno.test("observations are the same numbers in every run", async () => {
  const hours = [...hoursBetween(DATA_START, DATA_END)];
  const years = STATIONS.map(({ id }) => hours.map((time) => observe(id, time)));
  const bytes = new TextEncoder().encode(JSON.stringify(years));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  assertEquals(
    digest.toHex(),
    "a61b93c0c2630c2d90d488c39f8a0ad9c8d764eeffb2171524216ff2fe500f07",
  );
});

Deno.test("a year has 8760 hours without a gap", () => {
  const times = [...hoursBetween(-Infinity, Infinity)];
  assertEquals(times.length, 8760);
  assert(times.every((time, index) => index === 0 || time - (times[index - 1] ?? 0) === 3_600_000));
});

Deno.test("hoursBetween() starts at the next full hour and excludes the end", () => {
  const hour = (text: string): number => Date.parse(`2025-06-01T${text}Z`);
  assertEquals([...hoursBetween(hour("00:30"), hour("02:00"))], [hour("01:00")]);
});

Deno.test("observe() refuses an unknown station", () => {
  assertThrows(() => observe("atlantis", DATA_START), RangeError, "atlantis");
});
