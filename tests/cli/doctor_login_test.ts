/** `doctor({ login: true })` tries a login and a refresh, and then ends that session. */
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { Diagnosis } from "../../mod.ts";
import { errorAnswer, jwt, tokenAnswer } from "../support/answers.ts";
import { assertHides, canaries, SETTINGS } from "../support/canaries.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { portless, rejection, signedIn, testSession } from "../support/portless.ts";
import { checkOf } from "./doctor_checks.ts";

const TRIED = ["login", "new token", "refresh", "logout"];

function levels({ checks }: Diagnosis): string[] {
  return checks.filter(({ name }) => TRIED.includes(name)).map((each) =>
    `${each.name} ${each.level}`
  );
}

for (const rotateRefreshTokens of [false, "get-tokens"] as const) {
  Deno.test(`doctor({ login: true }) revokes the tokens of its test login (rotation: ${rotateRefreshTokens})`, async () => {
    await using world = await signedIn({ file: true, sandbox: { rotateRefreshTokens } });
    const before = { file: Deno.readTextFileSync(world.envFile), sent: world.sent.length };
    const token = await world.session.accessToken();
    const diagnosis = await world.session.doctor({ login: true });
    assertEquals(levels(diagnosis), TRIED.map((name) => `${name} ok`));
    const flows = [
      "USER_PASSWORD_AUTH",
      "REFRESH_TOKEN_AUTH",
      ...(rotateRefreshTokens ? ["GetTokensFromRefreshToken"] : []),
      "RevokeToken",
    ];
    const sent = world.sent.slice(before.sent);
    assertEquals(sent.map(({ flow }) => flow), flows);
    const { operation, status } = world.sandbox.requests.at(-1) ?? {};
    assertEquals([operation, status], ["RevokeToken", 200]);
    const [tried, revoked] = [sent[1]?.parameters.REFRESH_TOKEN, sent.at(-1)?.body.Token];
    assertEquals(revoked !== tried, rotateRefreshTokens !== false, "the newest one is revoked");
    // The user's own session is unchanged.
    assertEquals(Deno.readTextFileSync(world.envFile), before.file);
    assertEquals(await world.session.accessToken(), token);
    assertEquals((await world.another().refresh()).source, "refresh");
  });
}

Deno.test("doctor({ login: true }) detects a pool that requires a device key but never issues one", async () => {
  await using world = portless({ sandbox: { trackDevices: "withheld" } });
  const diagnosis = await world.session.doctor({ login: true });
  assertEquals(levels(diagnosis), ["login ok", "new token ok", "refresh fail", "logout ok"]);
  const check = checkOf(diagnosis, "refresh");
  assertMatch(check, /rejected the refresh token .*Invalid Refresh Token.* → .*support channel/);
  assertMatch(check, /whether its user pool tracks devices/);
  assertNotMatch(check, /login\(\)|force/);
});

Deno.test("doctor({ login: true }) reports a throttled refresh", async () => {
  await using world = portless({
    provider: ({ flow }) =>
      flow === "REFRESH_TOKEN_AUTH"
        ? errorAnswer("LimitExceededException", "too often")
        : tokenAnswer(),
  });
  const diagnosis = await world.session.doctor({ login: true });
  assertMatch(checkOf(diagnosis, "refresh"), /^fail: .*too many requests.* → wait, then try again/);
  assertMatch(checkOf(diagnosis, "logout"), /^ok: the test login ended/);
});

Deno.test("doctor({ login: true }) sends only the login if the provider issues no refresh token", async () => {
  const answer = tokenAnswer({ AccessToken: jwt({}), ExpiresIn: 1_800 });
  await using world = portless({ provider: () => answer });
  const diagnosis = await world.session.doctor({ login: true });
  assertMatch(checkOf(diagnosis, "refresh"), /^warn: .*no refresh token .* → .*the app client$/);
  assertMatch(checkOf(diagnosis, "logout"), /^ok: the test login ended/);
  assertEquals(world.sent.length, 1);
});

Deno.test("doctor({ login: true }) reports a provider that cannot revoke tokens", async () => {
  await using world = portless({ sandbox: { revocation: false } });
  assertMatch(
    checkOf(await world.session.doctor({ login: true }), "logout"),
    /^warn: .* not be ended \(not at the provider: .*not enabled.* → .* were not saved$/,
  );
});

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
