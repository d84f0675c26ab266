import { assert, assertEquals, assertMatch } from "@std/assert";
import type { FetchJsonInit, Session } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { portless, rejection, type TestOptions } from "../support/portless.ts";

/** A body that gives its pieces as they are asked for, and then stalls or ends. */
function body(pieces: string[], end: "stalls" | "ends"): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = [...pieces];
  return new ReadableStream({
    async pull(controller) {
      const piece = left.shift();
      if (piece === undefined && end === "stalls") await new Promise(() => {});
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  }, { highWaterMark: 0 });
}

interface IdleWorld {
  readonly session: Session;
  /** What the API was asked for: the range, or "". */
  readonly asked: string[];
  /** How long the slices were that something was waited for in. */
  readonly slices: number[];
  readonly pauses: readonly number[];
}

/**
 * A world whose slices of time pass while the client waits for the API, and only then.
 *
 * @param api Answers; `undefined`: never.
 */
async function inIdleWorld(
  api: (request: Request, count: number) => Response | undefined,
  use: (world: IdleWorld) => Promise<void>,
  session: TestOptions = {},
): Promise<void> {
  const asked: string[] = [];
  const slices: number[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  await using world = portless({
    api(request, count) {
      asked.push(request.headers.get("range") ?? "");
      return api(request, count) ?? new Promise<Response>(() => {});
    },
    session: {
      timeout(ms) {
        const slice = new AbortController();
        // A deadline of the provider's is left alone.
        if (ms >= 30_000) return slice.signal;
        slices.push(ms);
        // The longest way of what is there already to the client.
        timer = setTimeout(() => slice.abort(), 2);
        return slice.signal;
      },
      ...session,
    },
  });
  await world.session.login();
  await use({ session: world.session, asked, slices, pauses: world.pauses });
  // The slice that had begun when the last answer came.
  clearTimeout(timer);
}

const file = { "content-length": "8", etag: '"one"', "accept-ranges": "bytes" };
const rest = { ...file, "content-length": "4", "content-range": "bytes 4-7/8" };

Deno.test("a download whose bytes stop goes on with the rest after idleTimeoutMs", () =>
  inIdleWorld(
    (_, count) =>
      count === 1
        ? new Response(body(["half"], "stalls"), { headers: file })
        : new Response("rest", { status: 206, headers: rest }),
    ({ session, asked, slices }) =>
      inFolder(async (folder) => {
        const saved = await session.download("/x", `${folder}/x`, { idleTimeoutMs: 20_000 });
        assertEquals([saved.bytes, asked], [8, ["", "bytes=4-"]]);
        assertEquals(Deno.readTextFileSync(`${folder}/x`), "halfrest");
        // Ten parts of the time, and the one that had begun before.
        assertEquals(new Set(slices), new Set([2_000]));
        assert(slices.length >= 11, `${slices.length}`);
      }),
  ));

Deno.test("a download whose headers do not come is asked for again, in the end API_TIMEOUT", () =>
  inIdleWorld(() => undefined, ({ session, asked, pauses }) =>
    inFolder(async (folder) => {
      const error = await rejection(
        session.download("/x", `${folder}/x`, { idleTimeoutMs: 10_000 }),
      );
      assertEquals([error.name, error.code], ["ApiError", "API_TIMEOUT"]);
      assertMatch(
        error.message,
        /nothing came for 10 seconds, 6 times in a row after 0 bytes\); try again, or pass a longer idle/,
      );
      assertEquals([asked.length, pauses.length], [6, 5]);
      assertEquals([...Deno.readDirSync(folder)], []);
    })));

Deno.test("what cannot be asked for again is API_TIMEOUT at once", () =>
  inIdleWorld(() => undefined, ({ session, asked }) =>
    inFolder(async (folder) => {
      const init = { method: "POST", body: "x" };
      const options = { init, idleTimeoutMs: 10_000 };
      const saving = await rejection(session.download("/x", `${folder}/x`, options));
      const parsing = await rejection(
        session.fetchJson("/x", { ...init, idleTimeoutMs: 10_000 }),
      );
      assertEquals([saving.code, parsing.code, asked.length], ["API_TIMEOUT", "API_TIMEOUT", 2]);
    })));

Deno.test("the time of a refresh after a 401 is not that of the API", async () => {
  let slice: AbortController | undefined;
  await using world = portless({
    api: (_, count) => count === 1 ? new Response(null, { status: 401 }) : Response.json("fine"),
    session: {
      timeout(ms) {
        const limit = new AbortController();
        if (ms === 1_000) slice = limit;
        return limit.signal;
      },
    },
  });
  await world.session.login();
  const held = world.hold();
  const call = world.session.fetchJson("/x", { idleTimeoutMs: 10_000, retries: 0 });
  await held.arrived;
  for (let passed = 0; passed < 20; passed++) slice?.abort();
  held.release();
  assertEquals([await call, world.called.length], ["fine", 2]);
});

Deno.test("a slow transfer that moves is never ended", () => {
  const bytes = Array.from({ length: 100 }, (_, at) => String(at % 10));
  const slow = () => {
    const left = [...bytes];
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const piece = left.shift();
        if (piece === undefined) return controller.close();
        // Three slices pass for each byte.
        await new Promise((resolve) => setTimeout(resolve, 6));
        controller.enqueue(new TextEncoder().encode(piece));
      },
    }, { highWaterMark: 0 });
  };
  return inIdleWorld(
    () => new Response(slow(), { headers: { "content-length": "100" } }),
    ({ session, asked, slices }) =>
      inFolder(async (folder) => {
        const saved = await session.download("/x", `${folder}/x`, { idleTimeoutMs: 20_000 });
        assertEquals([saved.bytes, asked.length], [100, 1]);
        assert(slices.length > 50, `${slices.length}`);
      }),
  );
});

const stalls: [string, (count: number) => Response | undefined][] = [
  ["headers", (count) => count === 1 ? undefined : Response.json([1])],
  ["body", (count) => new Response(count === 1 ? body(["[1"], "stalls") : "[1]")],
];
for (const [what, api] of stalls) {
  Deno.test(`fetchJson() asks again where the ${what} do not come`, () =>
    inIdleWorld((_, count) => api(count), async ({ session, asked, pauses }) => {
      assertEquals(await session.fetchJson("/x", { idleTimeoutMs: 90_000 }), [1]);
      assertEquals([asked.length, pauses.length], [2, 1]);
    }));
}

Deno.test("fetchJson() ends with API_TIMEOUT after its retries, and says what to do", () =>
  inIdleWorld(() => undefined, async ({ session, asked }) => {
    const get = (init: FetchJsonInit) => rejection(session.fetchJson("/x?key=hidden", init));
    const error = await get({ idleTimeoutMs: 10_000 });
    assertEquals([error.name, error.code, asked.length], ["ApiError", "API_TIMEOUT", 4]);
    assertMatch(
      error.message,
      /^Cannot GET [^?]*\/x \(nothing came for 10 seconds, 4 times in a row\); try again in a few/,
    );
    await get({ idleTimeoutMs: 10_000, retries: 0 });
    assertEquals(asked.length, 5);
    const { message } = await get({ idleTimeoutMs: 250, retries: 0 });
    assertMatch(message, /nothing came for 250 ms\)/);
  }));

Deno.test("an error page that stops is told with what came of it", () =>
  inIdleWorld(
    () => new Response(body(["no such station"], "stalls"), { status: 404 }),
    async ({ session }) => {
      const error = await rejection(session.fetchJson("/x", { idleTimeoutMs: 10_000 }));
      assertMatch(error.message, /the API answered 404 \(no such station\)/);
    },
  ));

Deno.test("with 0 nothing is ended, and no time is counted", () => {
  const answer = Promise.withResolvers<Response>();
  const slices: number[] = [];
  return inIdleWorld(() => undefined, async ({ session }) => {
    const got = session.fetchJson("/x", { idleTimeoutMs: 0 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    assertEquals(slices, []);
    answer.resolve(Response.json(1));
    assertEquals(await got, 1);
  }, {
    timeout(ms) {
      if (ms < 30_000) slices.push(ms);
      return new AbortController().signal;
    },
    fetch: (input, init) =>
      new Request(input, init).url.endsWith("/x") ? answer.promise : Promise.resolve(Response.json({
        AuthenticationResult: { AccessToken: "opaque", ExpiresIn: 1_800, TokenType: "Bearer" },
      })),
  });
});

Deno.test("time in which the computer slept counts as one slice, however long it took", async () => {
  const slices: AbortController[] = [];
  await using world = portless({
    api: () => new Promise(() => {}),
    session: {
      timeout(ms) {
        const slice = new AbortController();
        if (ms < 30_000) slices.push(slice);
        return slice.signal;
      },
    },
  });
  await world.session.login();
  const options = { idleTimeoutMs: 10_000, retries: 0 };
  let isOver = false;
  const got = rejection(world.session.fetchJson("/x", options)).finally(() => isOver = true);
  const pass = async (hours: number) => {
    while (slices.length === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    // The lid is closed: the timer of a slice waits as long.
    world.clock.suspend(hours * 3_600);
    slices.pop()?.abort();
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  for (let slice = 0; slice < 10; slice++) await pass(8);
  assertEquals(isOver, false);
  await pass(0);
  assertEquals((await got).code, "API_TIMEOUT");
});

Deno.test("an answer that is there leaves no timer that keeps the process alive", async () => {
  const listeners = new Set<unknown>();
  await using world = portless({
    api: () => Response.json({ rows: 3 }),
    session: {
      // Such a timer keeps a process alive as long as somebody listens to it.
      timeout() {
        const { signal } = new AbortController();
        return Object.assign(signal, {
          addEventListener: (_: string, listener: unknown) => listeners.add(listener),
          removeEventListener: (_: string, listener: unknown) => listeners.delete(listener),
        });
      },
    },
  });
  await world.session.login();
  for (let call = 0; call < 2; call++) {
    const answer = world.session.fetchJson("/v1/whoami");
    assertEquals(await answer, { rows: 3 });
    assertEquals(listeners.size, 0);
  }
});
