/** A mistake in a program, of ours or of a user, is reported as such, and never as something else. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { report, UsageError } from "../../src/cli/output.ts";
import { ConfigError, typeError } from "../../src/errors/errors.ts";
import { loadPackage } from "../../src/platform/packages.ts";
import { saveError } from "../../src/api/save_errors.ts";
import { rejection, signedIn } from "../support/portless.ts";

const BUG = "x is not a function";
function fail(): never {
  throw new TypeError(BUG);
}

Deno.test("a package that throws is reported with its own error, one that is missing by name", async () => {
  const broken = "data:text/javascript,throw new TypeError('x is not a function')";
  await assertRejects(() => loadPackage("draw a plot", broken), TypeError, BUG);
  const missing = new URL("none.js", import.meta.url).href;
  const error = await rejection(loadPackage("draw a plot", missing));
  assertEquals([error.name, error.code], ["ConfigError", "PACKAGE_UNAVAILABLE"]);
});

Deno.test("a refresh with a bug is not reported as a provider that failed", async () => {
  let isBroken = false;
  await using world = await signedIn({ session: { random: () => isBroken ? fail() : 0.5 } });
  world.clock.advance(1_780);
  isBroken = true;
  const error = await rejection(world.session.accessToken());
  assertEquals([error.name, error.message], ["TypeError", BUG]);
  assertEquals(world.session.status().notices, []);
});

Deno.test("a `sleep` with a bug does not make a session refresh without the lock", async () => {
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

Deno.test("a bug while a file is saved is not an error of the disk", () => {
  assertThrows(() => saveError("data.csv", new TypeError(BUG)), TypeError, BUG);
  // The runtime throws a TypeError for some system calls, too.
  const refused = Object.assign(new TypeError("Invalid argument (os error 22)"), {
    code: "EINVAL",
  });
  assert(saveError("data.csv", refused) instanceof ConfigError);
});

Deno.test("the command line reports a wrong argument as usage, and throws a bug", () => {
  const real = console.error;
  const printed: string[] = [];
  console.error = (line) => void printed.push(line);
  try {
    const misuses = [typeError("takes a path"), new UsageError("takes a path", "see --help")];
    assertEquals(misuses.map((misuse) => report(misuse, true)), [2, 2]);
  } finally {
    console.error = real;
  }
  assertEquals(printed.map((line) => JSON.parse(line).error.name), ["TypeError", "UsageError"]);
  assertThrows(() => report(new TypeError(BUG), false), TypeError, BUG);
  assertThrows(() => report(new RangeError(BUG), false), RangeError, BUG);
});
