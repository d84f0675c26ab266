import { assertEquals, assertMatch } from "@std/assert";
import { rejection, signedIn } from "../support/portless.ts";
import { serveLocal } from "../support/local_server.ts";

const URL_OF_API = "https://api.sandbox.example/v1/uploads";
const MIB = 1024 * 1024;

/** An API that responds with these statuses in turn and records the sizes of the bodies. */
function recording(...statuses: number[]) {
  const sizes: number[] = [];
  const api = async (request: Request) => {
    sizes.push((await request.bytes()).length);
    return new Response("", { status: statuses[sizes.length - 1] ?? 200 });
  };
  return { sizes, api };
}

/** A stream that makes its pieces only on demand. */
function pieces(count: number, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let made = 0;
  return new ReadableStream({
    pull(controller) {
      if (made++ === count) controller.close();
      else controller.enqueue(new Uint8Array(size));
    },
  }, { highWaterMark: 0 });
}

Deno.test("authFetch() accepts headers in every form that fetch() accepts", async () => {
  const sent: Headers[] = [];
  await using world = await signedIn({
    api: ({ headers }) => {
      sent.push(headers);
      return new Response("ok");
    },
  });
  const pairs: [string, string][] = [["Accept", "a"], ["x-mine", "1"], ["X-Mine", " 2 "]];
  const forms = [pairs, new Map(pairs), new Headers(pairs), { "X-Mine": 1 }, undefined];
  for (const form of forms) {
    const headers = form as HeadersInit;
    await world.session.authFetch("/v1/x", { headers });
    const own = [...sent.at(-1) ?? []].filter(([name]) => name !== "authorization");
    assertEquals(own, [...new Request("https://api.example", { headers }).headers]);
  }
  assertEquals(sent.length, forms.length);
});

Deno.test("authFetch() sends a Request again after a 401 if its stream is short enough to keep", async () => {
  for (const [count, statuses, status] of [[3, [401, 201], 201], [70, [401], 401]] as const) {
    const { sizes, api } = recording(...statuses);
    await using world = await signedIn({ api });
    const request = new Request(URL_OF_API, { method: "POST", body: pieces(count, MIB) });
    assertEquals((await world.session.authFetch(request)).status, status);
    assertEquals(sizes, statuses.map(() => count * MIB));
    assertEquals(world.refreshes(), statuses.length - 1);
  }
});

Deno.test("authFetch() sends the body of a Request with its length, even after a 401", async () => {
  const lengths: (string | null)[] = [];
  await using server = serveLocal(async (request) => {
    lengths.push(request.headers.get("content-length"));
    await request.text();
    return new Response("", { status: lengths.length % 2 === 1 ? 401 : 201 });
  });
  const { origin } = server;
  await using world = await signedIn({
    session: { apiBaseUrl: origin },
    api: (request) => fetch(request),
  });
  for (const body of ["four", new Blob(["four"])]) {
    const request = new Request(`${origin}/x`, { method: "POST", body });
    const { status, body: rest } = await world.session.authFetch(request);
    await rest?.cancel();
    assertEquals([status, request.bodyUsed], [201, true]);
    world.clock.advance(31);
  }
  assertEquals(lengths, Array(4).fill("4"));
});

Deno.test("authFetch() rejects an object as the body and suggests JSON.stringify()", async () => {
  await using world = await signedIn();
  for (const body of [{ text: "calm" }, [1, 2]] as unknown as BodyInit[]) {
    const error = await rejection(world.session.authFetch("/v1/notes", { method: "POST", body }));
    assertEquals([error.name, world.called.length], ["TypeError", 0]);
    assertMatch(error.message, /body: JSON\.stringify/);
  }
});
