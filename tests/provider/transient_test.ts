import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ProviderError } from "../../mod.ts";
import { freePort } from "../support/free_port.ts";
import { portless, rejection } from "../support/portless.ts";

const fails = (times: number) => ({ at: "token", status: 503, times }) as const;

Deno.test("a transient failure is tried again, for a login and a refresh", async () => {
  const failures = [
    { status: 500 },
    { status: 503, body: "<html>busy</html>" },
    { status: 429 },
    { status: 400, body: '{"__type":"TooManyRequestsException","message":"Rate exceeded"}' },
    { status: 400, body: '{"__type":"ThrottlingException","message":"Rate exceeded"}' },
  ];
  for (const failure of failures) {
    await using world = portless();
    world.sandbox.failures.push({ at: "token", times: 2, ...failure });
    assertEquals((await world.session.login()).state, "valid");
    assertEquals(world.logins(), 3);
    world.sandbox.failures.push({ at: "token", times: 1, ...failure });
    assertEquals((await world.session.refresh()).state, "valid");
    assertEquals(world.refreshes(), 2);
  }
});

Deno.test("a broken connection repeats a refresh, never a login", async () => {
  for (const drop of ["before", "during"] as const) {
    await using world = portless();
    await world.session.login();
    world.sandbox.failures.push({ at: "token", drop, times: 1 });
    const error = await rejection(world.session.login({ force: true }));
    assertEquals(error.code, "UNREACHABLE");
    assertEquals(world.logins(), 2, "the password may have been judged");
    world.sandbox.failures.splice(0, 9, { at: "token", drop, times: 1 });
    assertEquals((await world.session.refresh()).state, "valid");
  }
});

Deno.test("a refused connection repeats a login too, and is UNREACHABLE in the end", async () => {
  let tries = 0;
  await using world = portless({
    session: {
      authUrl: `http://127.0.0.1:${freePort()}`,
      fetch: (input, init) => {
        tries++;
        return fetch(input, init);
      },
    },
  });
  const error = await rejection(world.session.login());
  assertEquals(error.code, "UNREACHABLE");
  assert(tries > 1 && tries < 10, `${tries} tries`);
  assertMatch(error.message, /refused/);
  assertEquals((error as ProviderError).attempts, tries);
});

Deno.test("a rejected password, a quota and a rejected refresh are not tried again", async () => {
  await using world = portless();
  await rejection(world.session.login({ password: "Wrong-Password-1" }));
  assertEquals(world.logins(), 1);
  world.sandbox.failures.push({
    at: "token",
    status: 400,
    body: '{"__type":"LimitExceededException","message":"Attempt limit exceeded"}',
  });
  assertEquals((await rejection(world.session.login())).code, "THROTTLED");
  assertEquals(world.logins(), 2);
});

Deno.test("attempts end, with pauses that grow and differ", async () => {
  const firstPauses = new Set<number>();
  for (let i = 0; i < 5; i++) {
    await using world = portless();
    world.sandbox.failures.push({ at: "token", status: 503 });
    const error = await rejection(world.session.login());
    assertEquals(error.code, "SERVER_ERROR");
    assertEquals((error as ProviderError).attempts, world.logins());
    assert(world.logins() >= 3 && world.logins() <= 6, `${world.logins()} attempts`);
    assertEquals(world.pauses.length, world.logins() - 1);
    assert((world.pauses.at(-1) ?? 0) > (world.pauses[0] ?? 0));
    firstPauses.add(world.pauses[0] ?? 0);
  }
  assert(firstPauses.size > 1, "the pauses are jittered");
});

Deno.test("Retry-After is honored, as seconds and as a date", async () => {
  for (const [form, atLeast] of [["seconds", 7_000], ["date", 7_000]] as const) {
    await using world = portless();
    const date = new Date(world.clock.provider() + 7_000).toUTCString();
    const headers = { "retry-after": form === "date" ? date : "7" };
    world.sandbox.failures.push({ at: "token", status: 429, headers, times: 1 });
    await world.session.login();
    assertEquals(world.pauses.length, 1);
    const [pause = 0] = world.pauses;
    assert(pause >= atLeast && pause < atLeast + 3_000, `${form}: paused ${pause} ms`);
  }
});

Deno.test("a Retry-After beyond the deadline is told instead of waited for", async () => {
  await using world = portless();
  world.sandbox.failures.push({ at: "token", status: 429, headers: { "retry-after": "600" } });
  const error = await rejection(world.session.login());
  assertEquals(error.code, "THROTTLED");
  assertEquals((error as ProviderError).retryAfterSeconds, 600);
  assertMatch(error.message, /600 seconds/);
  assertEquals(world.logins(), 1);
  assertEquals(world.pauses, []);
});

Deno.test("all attempts stay inside the deadline", async () => {
  for (const timeoutMs of [1_500, 5_000, 30_000]) {
    await using world = portless({ session: { timeoutMs } });
    await world.session.login();
    world.sandbox.failures.push({ at: "token", status: 429 });
    const start = world.clock.monotonic();
    await rejection(world.session.login({ force: true }));
    assert(world.clock.monotonic() - start <= timeoutMs);
    const again = world.clock.monotonic();
    await rejection(world.session.refresh());
    assert(world.clock.monotonic() - again <= timeoutMs);
  }
});

Deno.test("an endless body is cut off", async () => {
  let sent = 0;
  const fetch = () =>
    Promise.resolve(
      new Response(
        new ReadableStream({
          pull(controller) {
            sent += 65_536;
            controller.enqueue(new Uint8Array(65_536).fill(32));
          },
        }),
      ),
    );
  await using world = portless();
  assertEquals((await rejection(world.another({ fetch }).login())).code, "UNEXPECTED_RESPONSE");
  assert(sent < 5_000_000, `${sent} bytes were read`);
});

Deno.test("concurrent calls share the attempts of one refresh", async () => {
  await using world = portless();
  await world.session.login();
  world.clock.advance(3_000);
  world.sandbox.failures.push(fails(2));
  await Promise.all(Array.from({ length: 20 }, () => world.session.accessToken()));
  assertEquals(world.refreshes(), 3);
});

Deno.test("aborting a login ends its pauses", async () => {
  const controller = new AbortController();
  await using world = portless({
    session: {
      sleep: () => {
        controller.abort(new Error("enough"));
        return Promise.resolve();
      },
    },
  });
  world.sandbox.failures.push(fails(9));
  const error = await rejection(world.session.login({ signal: controller.signal }));
  assertEquals(error.message, "enough");
  assertEquals(world.logins(), 1);
});
