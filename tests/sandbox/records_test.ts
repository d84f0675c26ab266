import { assertEquals } from "@std/assert";
import { addEntry, addRecord } from "../../src/sandbox/records.ts";

/** The limit that the docstrings of `requests` and `apiRequests` state. */
const KEPT = 10_000;

Deno.test("the sandbox keeps the newest 10,000 records", () => {
  const records: number[] = [];
  const entries = new Map<string, number>();
  for (let count = 0; count < 100_000; count++) {
    addRecord(records, count);
    addEntry(entries, String(count), count);
  }
  assertEquals([records.length, records[0], records.at(-1)], [KEPT, 90_000, 99_999]);
  assertEquals([entries.size, entries.has("89999"), entries.has("90000")], [KEPT, false, true]);
});
