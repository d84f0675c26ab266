import { assertEquals, assertMatch } from "@std/assert";
import type { Session } from "../../mod.ts";
import { idleTimeout } from "../../src/api/idle.ts";
import { inFolder } from "../support/child_deno.ts";
import { rejection, signedIn } from "../support/portless.ts";

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** The client's timers. A test decides when they fire. */
class Timers {
  readonly asked: number[] = [];
  readonly #timers: AbortController[] = [];

  readonly timeout = (ms: number): AbortSignal => {
    const timer = new AbortController();
    // Longer timeouts limit requests to the provider; they never fire here.
    if (ms < 30_000) {
      this.asked.push(ms);
      this.#timers.push(timer);
    }
    return timer.signal;
  };

  /** Lets the idle timeout pass, once the client waits for it. */
  async stall(): Promise<void> {
    for (let turns = 0; turns < 5; turns++) await turn();
    this.#timers.pop()?.abort();
  }
}

/** A body that sends these pieces and then stalls. */
function stalling(timers: Timers, ...pieces: string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) return controller.enqueue(new TextEncoder().encode(piece));
      timers.stall();
      await new Promise(() => {});
    },
  }, { highWaterMark: 0 });
}

/**
 * A session whose API stalls where `api` returns `undefined`. `ranges` contains the range of each
 * request, or "".
 */
async function inIdleWorld(
  api: (count: number, timers: Timers) => Response | Promise<Response> | undefined,
  use: (world: { session: Session; timers: Timers; ranges: string[] }) => Promise<void>,
): Promise<void> {
  const timers = new Timers();
  const ranges: string[] = [];
  await using world = await signedIn({
    api(request, count) {
      ranges.push(request.headers.get("range") ?? "");
      const response = api(count, timers);
      if (response === undefined) timers.stall();
      return response ?? new Promise(() => {});
    },
    session: { timeout: timers.timeout },
  });
  await use({ session: world.session, timers, ranges });
}

const file = { "content-length": "8", etag: '"one"' };
const rest = { ...file, "content-length": "4", "content-range": "bytes 4-7/8" };

Deno.test("download() requests the rest of the file if no data arrives for idleTimeoutMs", () =>
  inIdleWorld(
    (count, timers) =>
      count === 1
        ? new Response(stalling(timers, "half"), { headers: file })
        : new Response("rest", { status: 206, headers: rest }),
    ({ session, ranges, timers }) =>
      inFolder(async (folder) => {
        const saved = await session.download("/x", `${folder}/x`, { idleTimeoutMs: 20_000 });
        assertEquals([saved.bytes, ranges], [8, ["", "bytes=4-"]]);
        assertEquals(Deno.readTextFileSync(`${folder}/x`), "halfrest");
        // Timers for the headers, the first half and the missing rest.
        assertEquals(timers.asked.slice(0, 3), [20_000, 20_000, 20_000]);
      }),
  ));

Deno.test("download() ends with API_TIMEOUT after three requests without a response", () =>
  inIdleWorld(() => undefined, ({ session, ranges }) =>
    inFolder(async (folder) => {
      const saving = session.download("/x", `${folder}/x`, { idleTimeoutMs: 10_000 });
      const error = await rejection(saving);
      assertEquals([error.name, error.code], ["ApiError", "API_TIMEOUT"]);

      assertEquals(ranges.length, 3);
      assertEquals([...Deno.readDirSync(folder)], []);
    })));

Deno.test("a POST without a response is sent once and ends with API_TIMEOUT", () =>
  inIdleWorld(() => undefined, ({ session, ranges }) =>
    inFolder(async (folder) => {
      const init = { method: "POST", body: "x" };
      const options = { init, idleTimeoutMs: 10_000 };
      const saving = await rejection(session.download("/x", `${folder}/x`, options));
      const parsing = await rejection(session.fetchJson("/x", { ...init, idleTimeoutMs: 250 }));
      assertEquals([saving.code, parsing.code, ranges.length], ["API_TIMEOUT", "API_TIMEOUT", 2]);
      assertMatch(parsing.message, /no data arrived for 250 ms\)/);
    })));

for (
  const [what, api] of [
    ["no response arrives", () => undefined],
    ["its response stalls", (_, timers) => new Response(stalling(timers, "[1"))],
  ] as [string, Parameters<typeof inIdleWorld>[0]][]
) {
  Deno.test(`fetchJson() sends a slow GET once and ends with API_TIMEOUT if ${what}`, () =>
    inIdleWorld(api, async ({ session, ranges, timers }) => {
      const error = await rejection(session.fetchJson("/x?key=hidden", { idleTimeoutMs: 10_000 }));
      assertEquals([error.name, error.code, ranges.length], ["ApiError", "API_TIMEOUT", 1]);
      assertMatch(error.message, /^Cannot GET [^?]*\/x \(no data arrived for 10 s/);
      assertEquals(timers.asked[0], 10_000);
    }));
}

Deno.test("fetchJson() waits five minutes for data by default", async () => {
  const asked: number[] = [];
  await using world = await signedIn({
    api: () => Response.json(1),
    session: { timeout: (ms: number) => (asked.push(ms), new AbortController().signal) },
  });
  asked.length = 0;
  await world.session.fetchJson("/x");
  assertEquals(new Set(asked), new Set([300_000]));
});

Deno.test("idleTimeoutMs: 0 switches the idle timeout off", () =>
  inIdleWorld(async () => {
    await turn();
    return Response.json(1);
  }, async ({ session, timers }) => {
    assertEquals(await session.fetchJson("/x", { idleTimeoutMs: 0 }), 1);
    assertEquals(timers.asked, []);
  }));

Deno.test("an idleTimeoutMs that is too long for a timer switches the idle timeout off", () => {
  const longest = 2 ** 31 - 1;
  assertEquals([longest, longest + 1, Infinity].map((ms) => idleTimeout(ms)), [longest, 0, 0]);
});
