import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  DATA_END,
  DATA_START,
  hoursBetween,
  type Observation,
  observe,
  STATIONS,
} from "../../src/sandbox/data_api/weather.ts";

function yearAt(id: string): Observation[] {
  return [...hoursBetween(DATA_START, DATA_END)].map((time) => observe(id, time));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function temperatures(rows: Observation[], hoursOrMonths: RegExp): number[] {
  return rows.filter((row) => hoursOrMonths.test(row.time)).map((row) => row.temperatureC);
}

Deno.test("observations are the same numbers in every run", async () => {
  const text = JSON.stringify(STATIONS.map((station) => yearAt(station.id)));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  assertEquals(
    new Uint8Array(digest).toHex(),
    "a61b93c0c2630c2d90d488c39f8a0ad9c8d764eeffb2171524216ff2fe500f07",
  );
});

Deno.test("a year has 8760 hours without a gap", () => {
  const times = [...hoursBetween(-Infinity, Infinity)];
  assertEquals(times.length, 8760);
  assert(times.every((time, index) => index === 0 || time - (times[index - 1] ?? 0) === 3_600_000));
});

Deno.test("hoursBetween() starts at the next full hour and leaves the end out", () => {
  const hour = (text: string): number => Date.parse(`2025-06-01T${text}Z`);
  assertEquals([...hoursBetween(hour("00:30"), hour("02:00"))], [hour("01:00")]);
});

for (const { id } of STATIONS) {
  Deno.test(`${id} has plausible weather`, () => {
    const rows = yearAt(id);
    const all = rows.map((row) => row.temperatureC);
    assert(Math.min(...all) > -30 && Math.max(...all) < 40);
    assert(mean(temperatures(rows, /-07-/)) > mean(temperatures(rows, /-01-/)) + 8, "seasons");
    assert(mean(temperatures(rows, /T14/)) > mean(temperatures(rows, /T03/)) + 1, "days");
    const rain = rows.reduce((sum, row) => sum + row.precipitationMm, 0);
    assert(rain > 350 && rain < 1600, `${rain} mm in a year`);
    assert(rows.filter((row) => row.precipitationMm > 0).length < rows.length * 0.3, "dry hours");
    for (const row of rows) {
      assert(row.precipitationMm >= 0 && row.windSpeedMs >= 0 && row.windSpeedMs < 40);
      assert(row.windDirectionDeg >= 0 && row.windDirectionDeg < 360);
      assert(row.pressureHpa > 700 && row.pressureHpa < 1060);
    }
  });
}

Deno.test("stations differ, higher is colder, and neighboring hours are alike", () => {
  const [low, high] = [yearAt("gull-harbor"), yearAt("snow-pass")];
  assert(mean(temperatures(low, /./)) > mean(temperatures(high, /./)) + 5);
  const values = temperatures(low, /./);
  const steps = values.slice(1).map((value, index) => Math.abs(value - (values[index] ?? 0)));
  assert(Math.max(...steps) < 4, `a step of ${Math.max(...steps)} degrees`);
});

Deno.test("observe() refuses an unknown station", () => {
  assertThrows(() => observe("atlantis", DATA_START), RangeError, "atlantis");
});
