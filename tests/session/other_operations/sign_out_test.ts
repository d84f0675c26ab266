/** The requests that a logout sends to the provider, and the outcome that it reports. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { LogoutOptions, SessionStatus } from "../../../mod.ts";
import { outcome } from "../challenges/cases.ts";
import { heldTimeouts } from "../../support/held_timeouts.ts";
import {
  linesOf,
  type Portless,
  portless,
  rejection,
  type Sent,
  signedIn,
} from "../../support/portless.ts";
import { until } from "../../support/until.ts";
import { errorAnswer, refusedConnection, tokenAnswer, TOKENS } from "../../support/answers.ts";

/** A session whose provider replaces refresh tokens, and responds to a logout as given. */
function signedInAt(signOut: (sent: Sent) => Response | Promise<Response>): Promise<Portless> {
  return signedIn({
    file: true,
    provider: (sent, count) =>
      ["RevokeToken", "GlobalSignOut"].includes(sent.flow)
        ? signOut(sent)
        : tokenAnswer({ ...TOKENS, RefreshToken: `refresh-${count}` }),
  });
}

function flowsOf({ sent }: Portless): string[] {
  return sent.map(({ flow }) => flow);
}

function revokedBy({ sent }: Portless): unknown[] {
  return sent.filter(({ flow }) => flow === "RevokeToken").map(({ body }) => body.Token);
}

/** Fails unless a logout ended the session here, and says why not also elsewhere. */
function assertOnlyHere({ state, ended, notices }: SessionStatus, problem: RegExp): void {
  assertEquals([state, ended, notices.map(({ code }) => code)], ["none", "here", ["NOT_REVOKED"]]);
  assertMatch(`${notices[0]?.problem}; ${notices[0]?.fix}`, problem);
}

Deno.test("logout() removes the tokens from the .env before it revokes them", async () => {
  const left: unknown[] = [];
  await using world: Portless = await signedInAt(() => {
    left.push(linesOf(world.envFile));
    return new Response("");
  });
  const { ended, notices } = await world.session.logout();
  assertEquals([ended, notices, left], ["provider", [], [{}]]);
  const { clientId, clientSecret } = world.options;
  const body = { Token: "refresh-1", ClientId: clientId, ClientSecret: clientSecret };
  assertEquals(world.sent.at(-1)?.body, body);
});

Deno.test("logout() ends the session locally even if the provider cannot be reached", async () => {
  await using world = await signedInAt(refusedConnection);
  const status = await world.session.logout();
  assertOnlyHere(status, /not at the provider: .*: the connection was refused; delete any cop/);
  assertEquals(linesOf(world.envFile), {});
  assertEquals((await world.session.login()).notices, [], "the next session has its own notices");
});

Deno.test("logout() waits at most three seconds for a provider that does not respond", async () => {
  await using world = await signedInAt(() => new Promise(() => {}));
  const begun = world.clock.monotonic();
  using timeouts = heldTimeouts();
  let status: SessionStatus | undefined;
  const out = world.session.logout().then((given) => status = given);
  let passed = 0;
  await until(() => {
    const ms = timeouts.asked[passed];
    if (ms === undefined) return status !== undefined;
    // The tokens are removed before the request.
    assertEquals([world.session.status().state, linesOf(world.envFile)], ["none", {}]);
    passed++;
    world.clock.advance(ms / 1_000);
    timeouts.pass(ms);
    return false;
  });
  assertOnlyHere(await out, /not at the provider: no response from /);
  // Each timeout is rounded up to a millisecond, and a late response is read for 100 ms more.
  assert(world.clock.monotonic() - begun < 3_202, `${timeouts.asked}`);
});

Deno.test("logout() also ends copies of the session; with everywhere, it ends all sessions of the account", async () => {
  const over = "REFRESH_REJECTED";
  const cases: [options: LogoutOptions, ended: string, copy: string, elsewhere: string][] = [
    [{}, "provider", over, "valid"],
    [{ revoke: false }, "here", "valid", "valid"],
    [{ everywhere: true }, "everywhere", over, over],
  ];
  for (const [options, ...expected] of cases) {
    await using world = await signedIn({ file: true });
    const envFile = `${world.envFile}-copy`;
    Deno.copyFileSync(world.envFile, envFile);
    const elsewhere = world.another({ envFile: false });
    await elsewhere.login();
    const { ended = "" } = await world.session.logout(options);
    const copy = await outcome(world.another({ envFile }).refresh());
    assertEquals([ended, copy, await outcome(elsewhere.refresh())], expected);
  }
});

Deno.test("logout() says that the tokens stay valid if the provider does not revoke any", async () => {
  await using world = await signedIn({ sandbox: { revocation: false } });
  const unsupported = /UnsupportedOperationException: Token revocation is not enabled.*stay valid/;
  assertOnlyHere(await world.session.logout(), unsupported);
});

Deno.test("logout({ everywhere: true }) first refreshes an expired token", async () => {
  await using world = await signedIn({ sandbox: { rotateRefreshTokens: true } });
  world.clock.advance(3_000);
  assertEquals((await world.session.logout({ everywhere: true })).ended, "everywhere");
  assertEquals(flowsOf(world).slice(1), ["REFRESH_TOKEN_AUTH", "GlobalSignOut"]);
});

Deno.test("logout({ everywhere: true }) ends its own session even if the provider refuses to end the others", async () => {
  await using world = await signedInAt(({ flow }) =>
    flow === "RevokeToken"
      ? new Response("")
      : errorAnswer("NotAuthorizedException", "Access Token does not have required scopes")
  );
  world.clock.advance(3_000);
  const { ended, warnings } = await world.session.logout({ everywhere: true });
  assertEquals([ended, revokedBy(world)], ["provider", ["refresh-2"]]);
  assertMatch(warnings.join(), /not on other devices: .*required scopes; .*run login\(\) first/);
});

Deno.test("without a refresh token, logout() revokes nothing; without any token, everywhere reports that", async () => {
  await using world = portless({ provider: () => new Response("") });
  const { session } = world;
  const portalToken = await world.sandbox.portalToken();
  await session.login({ portalToken });
  assertEquals((await session.logout()).ended, "here");
  const status = await session.logout({ everywhere: true });
  assertOnlyHere(status, /not on other devices, because the request needs a token/);
  assertEquals(world.sent, []);
  await session.login({ portalToken });
  assertEquals((await session.logout({ everywhere: true })).ended, "everywhere");
});

Deno.test("logout() without the provider's settings sends nothing and says what is missing", async () => {
  await using world = await signedIn({ file: true });
  const { clientId: _, userPoolId: __, ...others } = world.options;
  const next = world.another({ ...others, clientId: "", userPoolId: "" });
  assertOnlyHere(await next.logout(), /not at the provider: .*APP_CLIENT_ID.*USER_POOL_ID/);
  assertEquals([linesOf(world.envFile), world.sent.length], [{}, 1]);
});

Deno.test("logout() revokes the latest refresh token of each login that the session has seen", async () => {
  await using world = await signedInAt(() => new Response(""));
  const other = world.another();
  await other.refresh();
  await world.session.logout();
  assertEquals(revokedBy(world), ["refresh-2"]);
  await world.session.login();
  world.clock.advance(1);
  await other.login({ force: true });
  assertEquals((await world.session.logout()).ended, "provider");
  assertEquals(revokedBy(world), ["refresh-2", "refresh-4", "refresh-5"]);
});

Deno.test("logout() revokes tokens that it cannot remove from the .env", async () => {
  await using world = await signedInAt(() => new Response(""));
  Deno.removeSync(world.envFile);
  Deno.mkdirSync(world.envFile);
  assertEquals((await rejection(world.session.logout())).code, "ENV_FILE");
  assertEquals(revokedBy(world), ["refresh-1"]);
});

Deno.test("logout() sends nothing more after its signal is aborted", async () => {
  const abort = new AbortController();
  await using world = await signedInAt(() => {
    abort.abort(new DOMException("enough", "AbortError"));
    return errorAnswer("InternalErrorException", "try again", 500);
  });
  const { state } = await world.session.logout({ signal: abort.signal });
  assertEquals([state, revokedBy(world), linesOf(world.envFile)], ["none", ["refresh-1"], {}]);
});
