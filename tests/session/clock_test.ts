import { assert, assertEquals, assertMatch } from "@std/assert";
import { portless, signedIn } from "../support/portless.ts";

const HOUR = 3_600;

const OFFSETS: [seconds: number, warning: RegExp | undefined][] = [
  [50, undefined],
  [-120, /clock is 2 min\w* behind the provider's/],
  [5 * HOUR, /clock is 5 h.* ahead/],
];
for (const [seconds, warning] of OFFSETS) {
  Deno.test(`a clock that is off by ${seconds} s causes ${warning ? "a warning until it is corrected" : "no warning"}`, async () => {
    await using world = portless();
    world.clock.jump(seconds);
    await world.session.login();
    const { notices: [notice] } = await world.session.refresh();
    assertEquals(notice?.code, warning && "CLOCK");
    if (warning) assertMatch(notice?.problem ?? "", warning);
    world.clock.jump(-seconds);
    assertEquals((await world.session.refresh()).notices, []);
  });
}

Deno.test("changing the system clock neither ends a valid token nor extends an expired one", async () => {
  await using world = await signedIn();
  world.clock.jump(10 * HOUR);
  world.clock.jump(-34 * HOUR);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  assertEquals(world.refreshes(), 0);
  world.clock.advance(1_801);
  assertEquals(world.session.status().state, "refreshable");
});

Deno.test("sessions that share a .env send one refresh after the laptop slept past the expiry", async () => {
  await using world = await signedIn({ file: true });
  const sessions = [world.session, world.another()];
  for (const session of sessions) assertEquals(session.status().state, "valid");
  world.clock.suspend(9 * HOUR);
  for (const session of sessions) assertEquals(session.status().state, "refreshable");
  for (const session of sessions) {
    assertEquals((await session.authFetch("/v1/whoami")).status, 200);
  }
  assertEquals([world.refreshes(), world.called.length], [1, 2]);
});

/** The error of the clock at the login, and then the change of the clock, in minutes. */
const MINUTES = [-90, -10, 0, 25, 90];
/** The time from this change to the start of the next process, in minutes. */
const LATER = [0, 29, 75];

Deno.test("changing the system clock between two runs costs at most one 401 and one refresh", async () => {
  for (const atLogin of MINUTES) {
    for (const set of MINUTES) {
      for (const minutes of LATER) {
        await using world = portless({ file: true });
        world.clock.jump(atLogin * 60);
        await world.session.login();
        world.clock.jump(set * 60);
        world.clock.advance(minutes * 60);
        const next = world.another();
        const story = `${atLogin} min ahead at the login, set by ${set} min, ${minutes} min later`;
        for (let call = 1; call <= 2; call++) {
          assertEquals((await next.authFetch("/v1/whoami")).status, 200, story);
        }
        assert(world.called.length <= 3, `${story}: ${world.called.length} requests`);
        assert(world.refreshes() <= 1, story);
      }
    }
  }
});
