/** A bug, in this module or in an option of the user, is never reported as a failure of another kind. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { report } from "../../src/cli/output.ts";
import { typeError } from "../../src/errors/errors.ts";
import { loadPackage } from "../../src/platform/packages.ts";
import { rejection, signedIn } from "../support/portless.ts";

const BUG = "x is not a function";
function fail(): never {
  throw new TypeError(BUG);
}

Deno.test("loadPackage() reports a missing package, but passes on the error of a broken one", async () => {
  const broken = "data:text/javascript,throw new TypeError('x is not a function')";
  await assertRejects(() => loadPackage("draw a plot", broken), TypeError, BUG);
  const missing = new URL("none.js", import.meta.url).href;
  const error = await rejection(loadPackage("draw a plot", missing));
  assertEquals([error.name, error.code], ["ConfigError", "PACKAGE_UNAVAILABLE"]);
});

Deno.test("a bug during a refresh is not reported as a failure of the provider", async () => {
  let isBroken = false;
  await using world = await signedIn({ session: { random: () => isBroken ? fail() : 0.5 } });
  world.clock.advance(1_780);
  isBroken = true;
  const error = await rejection(world.session.accessToken());
  assertEquals([error.name, error.message], ["TypeError", BUG]);
  assertEquals(world.session.status().notices, []);
});

Deno.test("a bug in the option `sleep` does not make a session refresh without the lock", async () => {
  let isBroken = false;
  const sleep = () => isBroken ? fail() : Promise.resolve();
  await using world = await signedIn({ file: true, session: { sleep } });
  using lock = Deno.openSync(`${Deno.realPathSync(world.envFile)}.lock`, { write: true });
  lock.lockSync(true);
  world.clock.advance(3_000);
  isBroken = true;
  const error = await rejection(world.session.accessToken());
  assertEquals([error.name, error.message, world.refreshes()], ["TypeError", BUG, 0]);
});

Deno.test("the command line exits with code 2 for a wrong argument, but not for a bug", () => {
  const real = console.error;
  console.error = () => {};
  try {
    assertEquals(report(typeError("takes a path"), true), 2);
  } finally {
    console.error = real;
  }
  assertThrows(() => report(new TypeError(BUG), false), TypeError, BUG);
  assertThrows(() => report(new RangeError(BUG), false), RangeError, BUG);
});
