import { assertEquals } from "@std/assert";
import { rejection, signedIn } from "../support/portless.ts";
import { serveLocal } from "../support/local_server.ts";

Deno.test("the caller's signal ends authFetch() while it waits for the response", async () => {
  const own = new AbortController();
  await using world = await signedIn({
    api: () => {
      own.abort(new Error("enough"));
      return new Promise(() => {});
    },
  });
  const call = world.session.authFetch("/v1/whoami", { signal: own.signal });
  assertEquals((await rejection(call)).message, "enough");
});

Deno.test("the caller's signal ends the reading of a body that stops arriving", async () => {
  const begun = () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(1)) }));
  await using server = serveLocal(begun);
  await using world = await signedIn({
    session: { apiBaseUrl: server.origin },
    api: (request) => fetch(request),
  });
  const own = new AbortController();
  const response = await world.session.authFetch("/v1/whoami", { signal: own.signal });
  own.abort(new Error("enough"));
  assertEquals((await rejection(response.text())).message, "enough");
});
