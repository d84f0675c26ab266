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

const NO_OPTIONS: Anything[] = [null, 5, "secret-word", true, [], () => {}];

type Call = (session: mod.Session, given: Anything) => Promise<unknown>;

/** The calls of a session, and arguments that each refuses besides `NO_OPTIONS`. */
const REFUSED: Record<string, { call: Call; wrong: Anything[] }> = {
  "login()": {
    call: (session, given) => session.login(given),
    wrong: [
      ...[{ username: 5 }, { password: null }, { password: ["secret-word"] }, { portalToken: 5 }],
      ...[{ strategy: "guess" }, { strategy: 5 }, { force: "yes" }, { force: 1 }, { signal: {} }],
      ...[{ user: "typo" }, { portalToken: "bearer x", username: "student" }],
      ...[{ portalToken: "bearer x", password: "secret-word" }],
      ...[{ portalToken: "bearer x", strategy: "password" }],
    ],
  },
  "refresh()": {
    call: (session, given) => session.refresh(given),
    wrong: [{ signal: 5 }, { unknown: 1 }],
  },
  "logout()": {
    call: (session, given) => session.logout(given),
    wrong: [
      ...[{ signal: 5 }, { unknown: 1 }, { everywhere: 1 }, { revoke: "no" }],
      ...[{ everywhere: true, revoke: false }],
    ],
  },
  "accessToken()": {
    call: (session, given) => session.accessToken(given),
    wrong: [
      ...[{ signal: 5 }, { unknown: 1 }],
      ...["60", null, NaN, -1, Infinity].map((minValidSeconds) => ({ minValidSeconds })),
    ],
  },
  "download()": {
    call: (session, given) => session.download("/v1/whoami", "never.bin", given),
    wrong: [{ init: null }, { init: [] }, { resume: 1 }],
  },
  "downloadAll()": {
    call: (session, given) => session.downloadAll([], given),
    wrong: [{ init: null }, { init: [] }, { concurrency: "4" }],
  },
};
for (const [name, { call, wrong }] of Object.entries(REFUSED)) {
  Deno.test(`${name} with wrong options is a TypeError, and nothing is sent`, async () => {
    await using world = portless();
    await world.session.login();
    for (const options of [...NO_OPTIONS, ...wrong]) {
      const error = await rejection(call(world.session, options));
      assertInstanceOf(error, TypeError, Deno.inspect(options));
      assert(error.message.startsWith(name), error.message);
      assert(!error.message.includes("secret-word"), error.message);
    }
    assertEquals([world.sent.length, world.called.length], [1, 0]);
    assertEquals(world.session.status().state, "valid");
  });
}

Deno.test("authFetch() with wrong arguments is a TypeError", async () => {
  await using world = portless();
  await world.session.login();
  const { authFetch } = world.session as Anything;
  const calls: Anything[][] = [
    ...[undefined, null, 5, {}, ["/v1/x"], () => {}].map((input) => [input]),
    ...["POST", 5, { headers: 5 }, { headers: { "bad name": "x" } }].map((init) => ["/x", init]),
    ["/v1/x", { headers: { "x-key": "secret-word\n\u0000" } }],
  ];
  for (const given of calls) {
    const error = await rejection(authFetch(...given));
    assertInstanceOf(error, TypeError, Deno.inspect(given));
    assert(!error.message.includes("secret-word"), error.message);
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
