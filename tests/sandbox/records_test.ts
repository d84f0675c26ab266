import { assertEquals } from "@std/assert";
import { RefreshTokens } from "../../src/sandbox/identity_provider/refresh_tokens.ts";
import { PortalSessions } from "../../src/sandbox/portal/sessions.ts";
import { addEntry, addRecord } from "../../src/sandbox/records.ts";
import { ACCOUNT } from "./requests.ts";

/** As the docstrings of `requests` and `apiRequests` say. */
const KEPT = 10_000;
const now = () => Date.UTC(2025, 5, 1);

Deno.test("of 100,000 records and entries, the newest 10,000 remain", () => {
  const records: number[] = [];
  const entries = new Map<string, number>();
  for (let count = 0; count < 100_000; count++) {
    addRecord(records, count);
    addEntry(entries, String(count), count);
  }
  assertEquals([records.length, records[0], records.at(-1)], [KEPT, 90_000, 99_999]);
  assertEquals([entries.size, entries.has("89999"), entries.has("90000")], [KEPT, false, true]);
});

Deno.test("the newest 10,000 refresh tokens and portal sessions are known", () => {
  const grant = { account: ACCOUNT, authenticatedAt: now(), originJti: "o" };
  const tokens = new RefreshTokens({ lifetimeMs: 1000, graceMs: 0, now });
  const sessions = new PortalSessions(now);
  const issued = Array.from({ length: KEPT + 5 }, () => tokens.issue(grant));
  const ids = issued.map(() => sessions.start(ACCOUNT, "u").id);
  assertEquals(issued.findIndex((each) => tokens.check(each).ok), 5);
  assertEquals(ids.findIndex((id) => sessions.find(id) !== undefined), 5);
});
