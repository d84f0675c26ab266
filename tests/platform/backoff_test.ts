import { assertEquals } from "@std/assert";
import { backoffMs, retryAfterMs } from "../../src/platform/backoff.ts";

Deno.test("backoffMs() doubles the pause with each attempt and randomizes its upper half", () => {
  const pauses = (chance: number) => [1, 2, 3, 4].map((n) => backoffMs(n, 200, () => chance));
  assertEquals(pauses(0), [100, 200, 400, 800]);
  assertEquals(pauses(0.5), [150, 300, 600, 1_200]);
  assertEquals(backoffMs(10, 200, () => 0, 3_000), 1_500);
});

Deno.test("retryAfterMs() reads seconds or a date, which it compares with the Date header", () => {
  const NOW = Date.UTC(2030, 0, 1);
  const at = (ms: number) => new Date(NOW + ms).toUTCString();
  const read = (headers: HeadersInit) => retryAfterMs(new Headers(headers), NOW);
  assertEquals(read({ "retry-after": "7" }), 7_000);
  assertEquals(read({ "retry-after": " 1.5 " }), 1_500);
  assertEquals(read({ "retry-after": at(7_000) }), 7_000);
  assertEquals(read({ "retry-after": at(7_000), date: at(5_000) }), 2_000);
  assertEquals(read({ "retry-after": at(-7_000) }), 0);
  assertEquals(read({ "retry-after": `${366 * 86_400}` }), 366 * 86_400_000);
  // No client waits for years, so such a header is ignored.
  const absurd = ["9".repeat(400), "1000000000", "Fri, 31 Dec 9999 23:59:59 GMT"];
  for (const text of ["", "soon", "7 s", ...absurd]) {
    assertEquals(read({ "retry-after": text }), undefined, text);
  }
  assertEquals(retryAfterMs(new Headers(), NOW), undefined);
  assertEquals(retryAfterMs(undefined, NOW), undefined);
});
