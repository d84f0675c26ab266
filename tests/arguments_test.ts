/**
 * The module as a whole, as a caller sees it: its arguments, permissions and imports. Each folder
 * tests the folder of `src/` with the same name; `support/` contains what the tests share.
 */
import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import * as mod from "../mod.ts";
import { assertHides, canaries } from "./support/canaries.ts";
import { portless, rejection, signedIn } from "./support/portless.ts";

// Cells are not type-checked, so these tests bypass the types, as a cell does.
// deno-lint-ignore no-explicit-any -- what a cell may pass
type Anything = any;

const { accessToken, password } = canaries;
const NO_OPTIONS = [null, password, []];

/** Calls with one argument each: values that are not options objects, plus the given values. */
const wrongOptions = (...more: unknown[]) => [...NO_OPTIONS, ...more].map((each) => [each]);
const signals = [{ signal: 5 }, { unknown: 1 }];
const downloads = [...NO_OPTIONS, { init: null }, { init: [] }];
const settings = wrongOptions(
  ...[{ envFile: true }, { provider: null }, { provider: [] }, { clientSecret: [password] }],
  ...[{ password: { password } }, { allowedOrigins: [5] }, { token: "text" }, { store: 5 }],
  ...[{ store: { read() {}, update() {} } }, { timeoutMs: "1000" }, { fetch: "fetch" }],
);

/** The arguments of wrong calls. */
const WRONG: Record<string, readonly unknown[][]> = {
  login: wrongOptions(
    ...[{ username: 5 }, { password: [password] }, { strategy: password }, { force: "yes" }],
    ...[{ signal: {} }, { onChallenge: password }, { portalToken: { accessToken } }],
    { portalToken: accessToken, password },
  ),
  refresh: wrongOptions(...signals),
  logout: wrongOptions(
    ...[...signals, { everywhere: 1 }, { everywhere: true, revoke: false }],
  ),
  accessToken: wrongOptions(
    ...[...signals, { minValidSeconds: password }, { minValidSeconds: -1 }],
  ),
  authFetch: [
    ...[[undefined], [5], [["/v1/x"]], ["/", "POST"], ["/", { headers: { "bad name": "x" } }]],
    ["/", { headers: { authorization: `bearer ${accessToken}` } }],
    ["/", { headers: { "x-api-key": `${password}\n1` } }],
    ["/", { headers: [["x-api-key", `${accessToken}\u0000`]] }],
  ],
  download: [...downloads, { resume: 1 }].map((options) => ["/v1/whoami", "file", options]),
  downloadAll: [...downloads, { concurrency: "4" }].map((options) => [[], options]),
  createSession: settings,
  configure: [[undefined], ...settings],
  parsePortalToken: [undefined, [accessToken]].map((each) => [each]),
  computeSecretHash: [undefined, { password }].flatMap((each) => [
    ...[[each, "c", "s"], ["u", each, "s"], ["u", "c", each]],
  ]),
};

for (const [name, calls] of Object.entries(WRONG)) {
  const takesOptions = !["authFetch", "parsePortalToken", "computeSecretHash"].includes(name);

  Deno.test(`for wrong arguments, ${name}() throws a TypeError that contains no secret`, async () => {
    await using world = await signedIn();
    const loose: Record<string, Anything> = { ...mod, ...world.session };
    for (const values of calls) {
      const error = await rejection((async () => await loose[name](...values))());
      assertInstanceOf(error, TypeError, Deno.inspect(values));
      if (takesOptions) assert(error.message.startsWith(`${name}()`), error.message);
      await assertHides(error, name);
    }
    const { sent, called, session } = world;
    assertEquals([sent.length, called.length, session.status().state], [1, 0, "valid"]);
  });
}

Deno.test("the error for an unknown option suggests a similar one, but hides a possible secret", () => {
  const refused = (options: Anything) => assertThrows(() => mod.createSession(options), TypeError);
  const named = [
    ["clientID", 'no option "clientID" (did you mean "clientId"?)'],
    // Every object inherits this name.
    ["constructor", 'no option "constructor"'],
    // This option exists only for tests, so users are not told about it.
    ["random", 'no option "random"'],
  ] as const;
  for (const [name, said] of named) {
    assertEquals(refused({ [name]: "x" }).message, `createSession() has ${said}`);
  }
  // The name may be a secret that the user misplaced, such as in { [password]: username }.
  for (const name of ["secret-word", "bearer secret-word", "sécret", "x".repeat(31)]) {
    assertEquals(refused({ [name]: "x" }).message, "createSession() has no such option");
  }
});

Deno.test("an undefined option has no effect", async () => {
  await using world = portless();
  const options: Anything = { username: undefined, portalToken: undefined, signal: undefined };
  assertEquals((await world.session.login(options)).state, "valid");
  await world.session.refresh(undefined);
  const init: Anything = undefined;
  assertEquals((await world.session.authFetch("/v1/whoami", init)).status, 200);
});

Deno.test("mod.ts exports exactly the documented names", () => {
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
