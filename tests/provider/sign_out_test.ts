/** How far a logout went, as data. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { endAtProvider, type SignOutResult, signOutText } from "../../src/provider/sign_out.ts";
import { worldOf } from "../../src/platform/world.ts";
import { resolveSettings } from "../../src/settings/settings.ts";
import { makeTokens, type Tokens } from "../../src/provider/tokens.ts";
import { Secret } from "../../src/platform/secret.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import { errorAnswer } from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { SETTINGS } from "../support/canned_session.ts";

const time = new Clock();

/** Tokens of a login at that time. */
function tokensOf(authenticatedAt: number, refreshToken?: string): Tokens {
  const world = worldOf({ now: time.now, monotonic: time.monotonic });
  return makeTokens({
    accessToken: new Secret(`access-${authenticatedAt}`),
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
    expiresAt: time.now() + 1_800_000,
    authenticatedAt,
    source: "password",
    claims: {},
  }, world);
}

const LOGIN = tokensOf(1, "refresh-1");
const OTHER = tokensOf(2, "refresh-2");
const PORTAL = tokensOf(3);

const done: Canned = () => new Response("");
const scopes = errorAnswer("NotAuthorizedException", "Access Token does not have required scopes");
const unsupported = errorAnswer("UnsupportedOperationException", "Revocation is not enabled");

async function end(
  held: readonly (Tokens | undefined)[],
  everywhere: boolean,
  ...answers: Canned[]
): Promise<SignOutResult & { text: string | undefined; sent: (string | undefined)[] }> {
  const [first = done, ...rest] = answers;
  const { fetch, asked } = cannedFetch(first, ...rest);
  const options = { ...SETTINGS, envFile: false, fetch, ...time.options } as const;
  const account = { options, settings: resolveSettings(options, false), world: worldOf(options) };
  const result = await endAtProvider(account, held, everywhere, undefined);
  const sent = asked.map(({ headers }) => headers.get("x-vendor-target")?.split(".")[1]);
  return { ...result, text: signOutText(result), sent };
}

Deno.test("a logout says how far it went, as data", async () => {
  assertEquals(await end([LOGIN, undefined], false), {
    ended: "provider",
    text: "also at the provider",
    sent: ["RevokeToken"],
  });
  assertEquals(await end([LOGIN], true), {
    ended: "everywhere",
    text: "also at the provider, on all devices",
    sent: ["GlobalSignOut"],
  });
  assertEquals(await end([PORTAL], true), {
    ended: "everywhere",
    text: "also at the provider, on all devices",
    sent: ["GlobalSignOut"],
  });
  assertEquals(await end([], false), { ended: "here", text: undefined, sent: [] });
});

Deno.test("where a logout did not go, its problem says why", async () => {
  const nothing = await end([PORTAL], false);
  assertEquals([nothing.ended, nothing.sent], ["here", []]);
  assertMatch(
    nothing.text ?? "",
    /^nothing to end at the provider: an access token is valid until/,
  );

  const nobody = await end([undefined], true);
  assertEquals([nobody.ended, nobody.sent], ["here", []]);
  assertMatch(nobody.text ?? "", /^not on other devices: no token is left/);

  const refused = await end([LOGIN], false, unsupported);
  assertEquals(refused.ended, "here");
  assertMatch(
    refused.problem ?? "",
    /^not at the provider: revocation is switched off for the app client \(status 400, Unsupported/,
  );

  const notAll = await end([LOGIN], true, scopes, done);
  assertEquals([notAll.ended, notAll.sent], ["provider", ["GlobalSignOut", "RevokeToken"]]);
  assertMatch(notAll.text ?? "", /^not on other devices: .*required scopes; also at the provider$/);

  const neither = await end([LOGIN], true, scopes, unsupported);
  assertEquals(neither.ended, "here");
  assertMatch(neither.text ?? "", /^not on other devices: .*; not at the provider: revocation is/);
});

Deno.test("of two sessions the one that ended less far counts", async () => {
  assertEquals((await end([LOGIN, OTHER], false)).ended, "provider");
  const one = await end([LOGIN, OTHER], false, done, unsupported);
  assertEquals([one.ended, one.sent.length], ["here", 2]);
  assertMatch(one.problem ?? "", /^not at the provider: revocation is switched off/);
  // Both were refused for the same reason: it is told once.
  const both = await end([LOGIN, OTHER], false, unsupported);
  assertEquals(both.problem?.split("revocation").length, 2);
});

Deno.test("of one login only the newest tokens are sent", async () => {
  const older = tokensOf(2, "refresh-of-before");
  const { sent } = await end([older, OTHER], false);
  assertEquals(sent, ["RevokeToken"]);
});

Deno.test("settings that are missing are a problem and no error; an abort is", async () => {
  const options = { envFile: false, fetch: cannedFetch(done).fetch, ...time.options } as const;
  const account = { options, settings: resolveSettings(options, false), world: worldOf(options) };
  const { ended, problem = "" } = await endAtProvider(account, [LOGIN], false, undefined);
  assertEquals(ended, "here");
  assertMatch(problem, /^not at the provider: .*AUTH_URL/);
  assert(!problem.includes("help:"));
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  const full = { ...SETTINGS, ...options };
  const other = { ...account, options: full, settings: resolveSettings(full, false) };
  assertEquals(await assertRejects(() => endAtProvider(other, [LOGIN], false, signal)), reason);
});
