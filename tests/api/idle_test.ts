import { assertEquals, assertMatch } from "@std/assert";
import { idleTimeout } from "../../src/api/idle.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { type HeldTimeouts, heldTimeouts } from "../support/held_timeouts.ts";
import { type Portless, rejection, signedIn } from "../support/portless.ts";

const IDLE = { idleTimeoutMs: 20_000 };

/** No response, once the idle timeout has passed. */
function silence(timers: HeldTimeouts): Promise<Response> {
  timers.pass(IDLE.idleTimeoutMs);
  return new Promise(() => {});
}

/** A response whose body stops after this text, until the idle timeout has passed. */
function stalling(timers: HeldTimeouts, text: string, headers: HeadersInit = {}): Response {
  let isSent = false;
  const body = new ReadableStream({
    async pull(controller) {
      if (!isSent) {
        isSent = true;
        return controller.enqueue(new TextEncoder().encode(text));
      }
      // The client sets its timer after it has asked for more.
      await new Promise((resolve) => setTimeout(resolve, 0));
      timers.pass(IDLE.idleTimeoutMs);
      await new Promise(() => {});
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers });
}

interface IdleWorld extends Portless {
  readonly timers: HeldTimeouts;
  /** The range of each request, or "". */
  readonly ranges: string[];
}

/** Runs a test whose timeouts pass when the API says so. */
async function inIdleWorld(
  api: (timers: HeldTimeouts, count: number) => Response | Promise<Response>,
  use: (world: IdleWorld) => Promise<void>,
): Promise<void> {
  const ranges: string[] = [];
  using timers = heldTimeouts();
  await using world = await signedIn({
    api({ headers }, count) {
      ranges.push(headers.get("range") ?? "");
      return api(timers, count);
    },
  });
  timers.asked.length = 0;
  await use({ ...world, timers, ranges });
}

const file = { "content-length": "8", etag: '"one"' };
const rest = { ...file, "content-length": "4", "content-range": "bytes 4-7/8" };

Deno.test("download() requests the rest of the file if no data arrives for idleTimeoutMs", () =>
  inIdleWorld(
    (timers, count) =>
      count === 1
        ? stalling(timers, "half", file)
        : new Response("rest", { status: 206, headers: rest }),
    ({ session, ranges, timers }) =>
      inFolder(async (folder) => {
        const saved = await session.download("/x", `${folder}/x`, IDLE);
        assertEquals([saved.bytes, ranges], [8, ["", "bytes=4-"]]);
        assertEquals(Deno.readTextFileSync(`${folder}/x`), "halfrest");
        assertEquals(new Set(timers.asked), new Set([IDLE.idleTimeoutMs]));
      }),
  ));

for (const [method, requests] of [["GET", 3], ["POST", 1]] as const) {
  Deno.test(`download() ends with API_TIMEOUT after ${requests} × ${method} without a response`, () =>
    inIdleWorld(silence, ({ session, ranges }) =>
      inFolder(async (folder) => {
        const options = { ...IDLE, init: { method } };
        const { code } = await rejection(session.download("/x", `${folder}/x`, options));
        assertEquals([code, ranges.length, namesIn(folder)], ["API_TIMEOUT", requests, []]);
      })));
}

const stalls: [what: string, api: typeof silence | ((timers: HeldTimeouts) => Response)][] = [
  ["no response arrives", silence],
  ["its response stalls", (timers) => stalling(timers, "[1")],
];
for (const [what, api] of stalls) {
  Deno.test(`fetchJson() sends a slow GET once and ends with API_TIMEOUT if ${what}`, () =>
    inIdleWorld(api, async ({ session, ranges }) => {
      const { code, message } = await rejection(session.fetchJson("/x?key=hidden", IDLE));
      assertEquals([code, ranges.length], ["API_TIMEOUT", 1]);
      assertMatch(message, /^Cannot GET [^?]*\/x \(no data arrived for 20 s/);
    }));
}

Deno.test("fetchJson() waits five minutes for data by default; idleTimeoutMs: 0 means no limit", () =>
  inIdleWorld(() => Response.json(1), async ({ session, timers }) => {
    await session.fetchJson("/x", { idleTimeoutMs: 0 });
    assertEquals(timers.asked, []);
    await session.fetchJson("/x");
    assertEquals(new Set(timers.asked), new Set([300_000]));
  }));

Deno.test("download() waits a minute for data by default", () =>
  inIdleWorld(() => new Response("1"), ({ session, timers }) =>
    inFolder(async (folder) => {
      await session.download("/x", `${folder}/x`);
      assertEquals(new Set(timers.asked), new Set([60_000]));
    })));

Deno.test("an idleTimeoutMs that is too long for a timer means no limit", () => {
  const longest = 2 ** 31 - 1;
  assertEquals([longest, longest + 1, Infinity].map((ms) => idleTimeout(ms)), [longest, 0, 0]);
});
