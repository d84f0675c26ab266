/**
 * The module as a whole, as a caller sees it: its arguments, permissions, imports and errors. The
 * folders test the folders of `src/` that have their names, or a kind of test each; `support/` is what
 * they share.
 */
import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import * as mod from "../mod.ts";
import { portless, rejection } from "./support/portless.ts";

// Cells are not type-checked, so these tests bypass the types, as a cell does.
// deno-lint-ignore no-explicit-any -- what a cell may pass
type Anything = any;

const NO_OPTIONS: Anything[] = [null, 5, "text", true, [], () => {}];

Deno.test("login() with arguments of a wrong type is a TypeError", async () => {
  await using world = portless();
  const wrong: Anything[] = [
    ...NO_OPTIONS,
    { username: 5 },
    { password: null },
    { password: ["secret-word"] },
    { portalToken: 5 },
    { strategy: "guess" },
    { strategy: 5 },
    { force: "yes" },
    { force: 1 },
    { signal: {} },
    { user: "typo" },
    { portalToken: "bearer x", username: "student" },
    { portalToken: "bearer x", password: "secret-word" },
    { portalToken: "bearer x", strategy: "password" },
  ];
  for (const options of wrong) {
    const error = await rejection(world.session.login(options));
    assertInstanceOf(error, TypeError, Deno.inspect(options));
    assert(error.message.startsWith("login()"), error.message);
    assert(!error.message.includes("secret-word"), error.message);
  }
  assertEquals(world.sent.length, 0);
});

Deno.test('login("name", "password") is an error that quotes neither', async () => {
  await using world = portless();
  const loose = world.session.login as (...values: Anything[]) => Promise<unknown>;
  const { message } = await rejection(loose("ada", "secret-word"));
  assertEquals(message, "login() takes an options object, not string");
});

Deno.test("refresh(), logout() and accessToken() with wrong arguments are a TypeError", async () => {
  await using world = portless();
  await world.session.login();
  const { refresh, logout, accessToken } = world.session;
  for (const method of [refresh, logout, accessToken]) {
    for (const options of [...NO_OPTIONS, { signal: 5 }, { unknown: 1 }]) {
      assertInstanceOf(await rejection(method(options)), TypeError, Deno.inspect(options));
    }
  }
  const contradiction = { everywhere: true, revoke: false };
  for (const options of [{ everywhere: 1 }, { revoke: "no" }, contradiction] as Anything[]) {
    assertInstanceOf(await rejection(logout(options)), TypeError, Deno.inspect(options));
  }
  for (const minValidSeconds of ["60", null, NaN, -1, Infinity] as Anything[]) {
    assertInstanceOf(await rejection(accessToken({ minValidSeconds })), TypeError);
  }
  assertEquals(world.sent.length, 1);
  assertEquals(world.session.status().state, "valid");
});

Deno.test("authFetch() with wrong arguments is a TypeError", async () => {
  await using world = portless();
  await world.session.login();
  const inputs: Anything[] = [undefined, null, 5, {}, ["/v1/x"], () => {}];
  for (const input of inputs) {
    assertInstanceOf(await rejection(world.session.authFetch(input)), TypeError);
  }
  const inits: Anything[] = ["POST", 5, { headers: 5 }, { headers: { "bad name": "x" } }];
  for (const init of inits) {
    const call = world.session.authFetch("/v1/x", init);
    assertInstanceOf(await rejection(call), TypeError, Deno.inspect(init));
  }
  const error = await rejection(
    world.session.authFetch("/v1/x", { headers: { "x-key": "secret-word\n" + "\u0000" } }),
  );
  assertInstanceOf(error, TypeError);
  assert(!error.message.includes("secret-word"), error.message);
  assertEquals(world.called.length, 0);
});

Deno.test("download() and downloadAll() with wrong options are a TypeError", async () => {
  await using world = portless();
  await world.session.login();
  const { download, downloadAll } = world.session;
  const wrong = [...NO_OPTIONS, { init: null }, { init: [] }, { resume: 1, concurrency: "4" }];
  for (const options of wrong) {
    const calls = [download("/v1/whoami", world.envFile, options), downloadAll([], options)];
    for (const error of await Promise.all(calls.map(rejection))) {
      assertInstanceOf(error, TypeError, Deno.inspect(options));
    }
  }
  assertEquals(world.called.length, 0);
});

Deno.test("createSession() and configure() with wrong options are a TypeError", () => {
  const wrong: Anything[] = [
    ...NO_OPTIONS,
    { envFile: true },
    { provider: null },
    { provider: [] },
    { envFile: 5 },
    { clientId: 5 },
    { clientSecret: null },
    { provider: 5 },
    { allowedOrigins: 5 },
    { allowedOrigins: [5] },
    { tokenCommand: ["sleep", 5] },
    { timeoutMs: "1000" },
    { fetch: "fetch" },
    { now: 5 },
    { prompt: "ask" },
    { clientID: "typo" },
  ];
  for (const options of wrong) {
    assertThrows(() => mod.createSession(options), TypeError, "createSession()");
    assertThrows(() => mod.configure(options), TypeError, "configure()");
  }
  assertThrows(() => mod.configure(undefined as Anything), TypeError);
});

Deno.test("an unknown option is named with the nearest match, unless it may be a secret", () => {
  const refused = (options: Anything) => assertThrows(() => mod.createSession(options), TypeError);
  const named = [
    ["clientID", 'no option "clientID" (did you mean "clientId"?)'],
    ["retries", 'no option "retries"'],
    // Names that every object has.
    ["constructor", 'no option "constructor"'],
    // Not public, though a session has them inside.
    ["random", 'no option "random"'],
    ["timeout", 'no option "timeout" (did you mean "timeoutMs"?)'],
  ] as const;
  for (const [name, said] of named) {
    assertEquals(refused({ [name]: "x" }).message, `createSession() has ${said}`);
  }
  // A secret in the wrong place, such as in { [password]: username }.
  for (const name of ["secret-word", "bearer secret-word", "sécret", "x".repeat(31)]) {
    assertEquals(refused({ [name]: "x" }).message, "createSession() has no such option");
  }
});

Deno.test("an undefined option is the same as none", async () => {
  await using world = portless();
  const options: Anything = { username: undefined, portalToken: undefined, signal: undefined };
  assertEquals((await world.session.login(options)).state, "valid");
  await world.session.refresh(undefined);
  const init: Anything = undefined;
  assertEquals((await world.session.authFetch("/v1/whoami", init)).status, 200);
});

Deno.test("computeSecretHash() and parsePortalToken() with wrong arguments are a TypeError", async () => {
  for (const value of [undefined, null, 5, {}] as Anything[]) {
    assertThrows(() => mod.parsePortalToken(value), TypeError);
    assertInstanceOf(await rejection(mod.computeSecretHash(value, "c", "s")), TypeError);
    assertInstanceOf(await rejection(mod.computeSecretHash("u", value, "s")), TypeError);
    assertInstanceOf(await rejection(mod.computeSecretHash("u", "c", value)), TypeError);
  }
});

Deno.test("a prompt that returns something else is a TypeError", async () => {
  await using world = portless();
  const prompt: Anything = () => 5;
  const { password: _, ...rest } = world.options;
  const session = mod.createSession({ ...rest, prompt });
  assertInstanceOf(await rejection(session.login({ strategy: "password" })), TypeError);
});

Deno.test("mod.ts exports what the contract names", () => {
  const names = [
    "ApiError",
    "AuthError",
    "ChallengeError",
    "ConfigError",
    "ProviderError",
    "SessionExpiredError",
    "accessToken",
    "authFetch",
    "computeSecretHash",
    "configure",
    "createSession",
    "doctor",
    "download",
    "downloadAll",
    "fetchJson",
    "login",
    "logout",
    "parsePortalToken",
    "refresh",
    "status",
  ];
  assertEquals(Object.keys(mod).sort(), names);
});
