import { assertEquals } from "@std/assert";
import { createSandbox } from "../../src/sandbox/mod.ts";
import { RefreshTokens } from "../../src/sandbox/identity_provider/refresh_tokens.ts";
import { PortalSessions } from "../../src/sandbox/portal/sessions.ts";
import { addEntry, addRecord } from "../../src/sandbox/records.ts";
import { ACCOUNT } from "./requests.ts";

/** As the docstrings of `requests` and `apiRequests` say. */
const KEPT = 10_000;
const TIME = Date.UTC(2025, 5, 1);

Deno.test("requests and apiRequests keep the newest 10,000, in the same two arrays", async () => {
  let time = TIME;
  await using sandbox = createSandbox({ now: () => time });
  const { requests, apiRequests } = sandbox;
  const surplus = 5;
  for (let count = 0; count < KEPT + surplus; count++, time++) {
    await sandbox.handle(new Request(sandbox.authUrl));
    await sandbox.handle(new Request(`${sandbox.apiUrl}/health`));
  }
  for (const list of [requests, apiRequests]) {
    assertEquals(list.length, KEPT);
    assertEquals(list.at(0)?.at.getTime(), TIME + surplus);
    assertEquals(list.at(-1)?.at.getTime(), TIME + KEPT + surplus - 1);
  }
  assertEquals([sandbox.requests === requests, sandbox.apiRequests === apiRequests], [true, true]);
});

Deno.test("100,000 records and entries leave the newest 10,000", () => {
  const records: number[] = [];
  const entries = new Map<string, number>();
  for (let count = 0; count < 100_000; count++) {
    addRecord(records, count);
    addEntry(entries, String(count), count);
  }
  assertEquals([records.length, records[0], records.at(-1)], [KEPT, 90_000, 99_999]);
  assertEquals([entries.size, entries.has("89999"), entries.has("90000")], [KEPT, false, true]);
});

const GRANT = { account: ACCOUNT, authenticatedAt: TIME, originJti: "o" };

Deno.test("RefreshTokens knows the newest 10,000 tokens, rotated ones included", () => {
  const tokens = new RefreshTokens({ lifetimeMs: 1000, graceMs: 0, now: () => TIME });
  const issued = Array.from({ length: KEPT + 5 }, () => tokens.issue(GRANT));
  issued.push(tokens.rotate(issued.at(-1) ?? "", GRANT));
  const known = issued.filter((each) => {
    const check = tokens.check(each);
    return check.ok || check.reason !== "unknown";
  });
  assertEquals([known.length, known.at(-1)], [KEPT, issued.at(-1)]);
});

Deno.test("PortalSessions knows the newest 10,000 sessions", () => {
  const sessions = new PortalSessions(() => TIME);
  const ids = Array.from({ length: KEPT + 5 }, () => sessions.start("u", "u").id);
  const known = ids.filter((id) => sessions.find(id) !== undefined);
  assertEquals([known.length, known[0]], [KEPT, ids[5]]);
});
