/** `doctor({ login: true })` tries a login and a refresh, and then ends that session. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { errorAnswer, jwt, tokenAnswer } from "../support/answers.ts";
import { assertHides, canaries, SETTINGS } from "../support/canaries.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import {
  portless,
  type PortlessOptions,
  rejection,
  signedIn,
  testSession,
} from "../support/portless.ts";
import { checkOf } from "./doctor_checks.ts";

Deno.test("doctor({ login: true }) revokes the tokens of its test login, and no others", async () => {
  await using world = await signedIn({
    file: true,
    sandbox: { rotateRefreshTokens: "get-tokens" },
  });
  const before = { file: Deno.readTextFileSync(world.envFile), sent: world.sent.length };
  const token = await world.session.accessToken();
  const diagnosis = await world.session.doctor({ login: true });
  for (const name of ["login", "new token", "refresh", "logout"]) {
    assertMatch(checkOf(diagnosis, name), /^ok/);
  }
  const sent = world.sent.slice(before.sent);
  assertEquals(sent.map(({ flow }) => flow), [
    "USER_PASSWORD_AUTH",
    "REFRESH_TOKEN_AUTH",
    "GetTokensFromRefreshToken",
    "RevokeToken",
  ]);
  assertEquals(world.sandbox.requests.at(-1)?.status, 200);
  assert(sent.at(-1)?.body.Token !== sent[1]?.parameters.REFRESH_TOKEN, "the newest is revoked");
  // The user's own session is unchanged.
  assertEquals(Deno.readTextFileSync(world.envFile), before.file);
  assertEquals(await world.session.accessToken(), token);
  assertEquals((await world.another().refresh()).source, "refresh");
});

/** What differs from the usual provider, and the checks of the refresh and the logout. */
const providers: [what: string, options: PortlessOptions, refresh: RegExp, logout: RegExp][] = [
  [
    "requires a device key but never issues one",
    { sandbox: { trackDevices: "withheld" } },
    /^fail: .*rejected the refresh token .* → (?!.*login\(\)).*whether its user pool tracks devices/,
    /^ok: the test login ended/,
  ],
  [
    "issues no refresh token",
    { provider: () => tokenAnswer({ AccessToken: jwt({}), ExpiresIn: 1_800 }) },
    /^warn: .*no refresh token .* → .*the app client$/,
    /^ok: the test login ended/,
  ],
  [
    "cannot revoke tokens",
    { sandbox: { revocation: false } },
    /^ok: /,
    /^warn: .* not be ended \(not at the provider: .*not enabled.* → .* were not saved$/,
  ],
];
for (const [what, options, refresh, logout] of providers) {
  Deno.test(`doctor({ login: true }) reports a provider that ${what}`, async () => {
    await using world = portless(options);
    const diagnosis = await world.session.doctor({ login: true });
    assertMatch(checkOf(diagnosis, "refresh"), refresh);
    assertMatch(checkOf(diagnosis, "logout"), logout);
  });
}

Deno.test("doctor({ login: true }) sends nothing more after its signal is aborted", async () => {
  const abort = new AbortController();
  await using world = portless({
    provider: ({ flow }) => {
      if (flow === "REFRESH_TOKEN_AUTH") abort.abort();
      return tokenAnswer();
    },
  });
  await rejection(world.session.doctor({ login: true, signal: abort.signal }));
  await world.session.login();
  await world.session.logout();
  const flows = world.sent.slice(2).map(({ flow }) => flow);
  assertEquals(flows, ["USER_PASSWORD_AUTH", "RevokeToken"]);
});

Deno.test("doctor({ login: true }) reports a wrong password, and sends nothing more", async () => {
  await using world = portless();
  const refused = await world.another({ password: "wrong" }).doctor({ login: true });
  assertMatch(checkOf(refused, "login"), /^fail: .*rejected the user name or .* → check both/);
  assertEquals(world.sent.map(({ flow }) => flow), ["USER_PASSWORD_AUTH"]);
  const { fetch } = cannedFetch(errorAnswer("X", `echo ${canaries.password}`));
  const diagnosis = await testSession({ ...SETTINGS, envFile: false, fetch }).doctor({
    login: true,
  });
  await assertHides(diagnosis, "a diagnosis");
});
