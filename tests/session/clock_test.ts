import { assert, assertEquals, assertMatch } from "@std/assert";
import { portless, rejection, signedIn, statusOf } from "../support/portless.ts";

const HOUR = 3_600;

function clockWarnings(warnings: string[]): string[] {
  return warnings.filter((it) => it.includes("clock"));
}

const OFFSETS: [seconds: number, warning: RegExp | undefined][] = [
  [0, undefined],
  [50, undefined],
  [-120, /clock is 2 min\w* behind the provider's; correct the clock/],
  [120, /clock is 2 min\w* ahead of the provider's; correct the clock/],
  [5 * HOUR, /clock is 5 h.* ahead/],
];
for (const [seconds, warning] of OFFSETS) {
  Deno.test(`a clock that is off by ${seconds} s causes ${warning ? "a warning until it is corrected" : "no warning"}`, async () => {
    await using world = portless();
    world.clock.jump(seconds);
    await world.session.login();
    const { warnings } = await world.session.refresh();
    assertEquals(clockWarnings(warnings).length, warning ? 1 : 0, warnings.join());
    if (warning) assertMatch(warnings.join(), warning);
    world.clock.jump(-seconds);
    assertEquals(clockWarnings((await world.session.refresh()).warnings), [], "corrected");
  });
}

Deno.test("with a fast clock, login() refuses a portal string until the clock is corrected", async () => {
  await using world = portless();
  world.clock.jump(2 * HOUR);
  const portalToken = await world.sandbox.portalToken();
  const refused = await rejection(world.session.login({ portalToken }));
  assertEquals(refused.code, "INVALID_PORTAL_TOKEN");
  assertMatch(refused.message, /correct the clock/);
  world.clock.jump(-2 * HOUR);
  assertEquals((await world.session.login({ portalToken })).state, "valid");
});

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
  const others = [world.another(), world.another()];
  for (const other of others) other.status();
  world.clock.suspend(9 * HOUR);
  const sessions = [world.session, ...others];
  for (const session of sessions) assertEquals(session.status().state, "refreshable");
  for (const session of sessions) {
    assertEquals((await session.authFetch("/v1/whoami")).status, 200);
  }
  assertEquals(world.refreshes(), 1);
  assertEquals(world.called.length, 3);
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

Deno.test("a machine whose clock is behind can use a session that another machine refreshed", async () => {
  await using world = portless({ file: true });
  const { clock } = world;
  const slow = world.another({ now: () => clock.now() - 600_000 });
  await world.session.login();
  clock.advance(600);
  assertEquals(await statusOf(slow.authFetch("/v1/whoami")), 200);
  clock.advance(1_200);
  for (const session of [world.session, slow]) {
    assertEquals(await statusOf(session.authFetch("/v1/whoami")), 200);
  }
  assertEquals(world.refreshes(), 1);
});
