/** The requests that a logout sends to the provider, and the outcome that it reports. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { LogoutOptions, Session, SessionStatus } from "../../../mod.ts";
import { heldTimeouts } from "../../support/held_timeouts.ts";
import {
  linesOf,
  type Portless,
  portless,
  type PortlessOptions,
  rejection,
  type Sent,
} from "../../support/portless.ts";
import { errorAnswer, jwt, refusedConnection, tokenAnswer } from "../../support/answers.ts";

type Answer = (sent: Sent) => Response | Promise<Response>;

/** A session whose provider replaces refresh tokens, and responds to a logout as given. */
async function signedIn(signOut: Answer, more: PortlessOptions = {}): Promise<Portless> {
  let issued = 0;
  const ends = ["RevokeToken", "GlobalSignOut"];
  const made: Portless = portless({
    file: true,
    provider: (sent) => {
      if (ends.includes(sent.flow)) return signOut(sent);
      const iat = Math.floor(made.clock.now() / 1_000);
      const AccessToken = jwt({ username: "student", iat, exp: iat + 1_800 });
      return tokenAnswer({ AccessToken, RefreshToken: `refresh-${++issued}`, ExpiresIn: 1_800 });
    },
    ...more,
  });
  await made.session.login();
  return made;
}

const done: Answer = () => new Response("");

/** The logouts that were sent to the provider, each with its token. */
function signOuts({ sent }: Portless): unknown[][] {
  return sent.filter(({ flow }) => /^[A-Z][a-z]/.test(flow))
    .map(({ flow, body }) => [flow, body.Token ?? body.AccessToken]);
}

/** Where a logout ended the session, and its warning if that is not everything. */
function outcomeOf(status: SessionStatus): (string | undefined)[] {
  const { state, ended, notices: [notice, ...more], warnings } = status;
  assertEquals([state, more], ["none", []]);
  if (notice === undefined) return [ended];
  assertEquals(notice.code, "NOT_REVOKED");
  return [ended, ...warnings];
}

for (const clientSecret of [undefined, ""]) {
  const client = clientSecret === undefined ? "with" : "without";
  Deno.test(`logout() removes the tokens from the .env before it revokes them (${client} a client secret)`, async () => {
    const left: string[][] = [];
    await using at: Portless = await signedIn(() => {
      left.push(Object.keys(linesOf(at.envFile)));
      return new Response("");
    }, clientSecret === undefined ? {} : { session: { clientSecret } });
    assertEquals(outcomeOf(await at.session.logout()), ["provider"]);
    const { clientId: ClientId, clientSecret: ClientSecret } = at.options;
    assertEquals(at.sent.at(-1)?.body, {
      Token: "refresh-1",
      ClientId,
      ...(ClientSecret && { ClientSecret }),
    });
    assertEquals(left, [[]]);
  });
}

Deno.test("logout() ends the session locally even if the provider cannot be reached", async () => {
  await using at = await signedIn(refusedConnection);
  const [ended, problem] = outcomeOf(await at.session.logout());
  assertEquals([ended, linesOf(at.envFile)], ["here", {}]);
  assertMatch(problem ?? "", /not at the provider: .*: the connection was refused; delete any cop/);
  assertEquals((await at.session.login()).notices, [], "the next session has its own notices");
});

Deno.test("logout() waits at most three seconds for a provider that does not respond", async () => {
  await using at = await signedIn(() => new Promise(() => {}));
  const begun = at.clock.monotonic();
  using timeouts = heldTimeouts();
  let status: SessionStatus | undefined;
  const out = at.session.logout().then((given) => status = given);
  for (let passed = 0; status === undefined;) {
    await new Promise((next) => setTimeout(next, 0));
    const ms = timeouts.asked[passed];
    if (ms === undefined) continue;
    // The tokens are removed before the request.
    assertEquals([at.session.status().state, linesOf(at.envFile)], ["none", {}]);
    passed++;
    at.clock.advance(ms / 1_000);
    timeouts.pass(ms);
  }
  assertMatch(outcomeOf(await out)[1] ?? "", /not at the provider: no response from /);
  // Each timeout is rounded up to a millisecond, and a late response is read for 100 ms more.
  assert(at.clock.monotonic() - begun < 3_202, `${timeouts.asked}`);
});

/** The outcomes of a refresh after a logout: with a copy of its tokens, and in a second session. */
async function afterLogout(options: LogoutOptions, revocation = true) {
  await using at = portless({ file: true, sandbox: { revocation } });
  await at.session.login();
  const copy = `${at.envFile}-copy`;
  Deno.copyFileSync(at.envFile, copy);
  const elsewhere = at.another({ envFile: false });
  await elsewhere.login();
  const ended = outcomeOf(await at.session.logout(options));
  const outcome = (session: Session) => session.refresh().then(({ state }) => state, (e) => e.code);
  const outcomes = [await outcome(at.another({ envFile: copy })), await outcome(elsewhere)];
  return [outcomes.join(), ...ended];
}

Deno.test("logout() also ends copies of the session; with everywhere, it ends all sessions of the account", async () => {
  const over = "REFRESH_REJECTED";
  assertEquals(await afterLogout({}), [`${over},valid`, "provider"]);
  assertEquals(await afterLogout({ revoke: false }), ["valid,valid", "here"]);
  assertEquals(await afterLogout({ everywhere: true }), [
    ...[`${over},${over}`, "everywhere"],
  ]);
  const [outcomes, ended, problem = ""] = await afterLogout({}, false);
  assertEquals([outcomes, ended], ["valid,valid", "here"]);
  assertMatch(problem, /UnsupportedOperationException: Token revocation is not enabled/);
});

Deno.test("logout({ everywhere: true }) signs out all devices, and first refreshes an expired token", async () => {
  for (const seconds of [0, 3_000]) {
    await using at = await signedIn(done);
    const first = await at.session.accessToken();
    at.clock.advance(seconds);
    const status = await at.session.logout({ everywhere: true });
    assertEquals(outcomeOf(status), ["everywhere"]);
    const [[operation, token] = [], ...more] = signOuts(at);
    assertEquals([operation, more, at.refreshes()], ["GlobalSignOut", [], seconds === 0 ? 0 : 1]);
    assertEquals([token === first, linesOf(at.envFile)], [seconds === 0, {}]);
  }
});

Deno.test("logout({ everywhere: true }) ends its own session even if the provider refuses to end the others", async () => {
  await using at = await signedIn(({ flow }) =>
    flow === "RevokeToken"
      ? new Response("")
      : errorAnswer("NotAuthorizedException", "Access Token does not have required scopes")
  );
  at.clock.advance(3_000);
  const [ended, problem = ""] = outcomeOf(await at.session.logout({ everywhere: true }));
  assertEquals(ended, "provider");
  assertMatch(problem, /not on other devices: .*required scopes; .*run login\(\) first/);
  assertEquals(signOuts(at).at(-1), ["RevokeToken", "refresh-2"]);
});

Deno.test("without a session, logout() revokes nothing, and logout({ everywhere: true }) says that other sessions remain", async () => {
  await using at = await signedIn(done);
  const portal = async (options: LogoutOptions) => {
    await at.session.login({ portalToken: await at.sandbox.portalToken() });
    return outcomeOf(await at.session.logout(options));
  };
  assertEquals(await portal({}), ["here"]);
  assertEquals(outcomeOf(await at.session.logout()), ["here"]);
  const [ended, problem = ""] = outcomeOf(await at.session.logout({ everywhere: true }));
  assertEquals([ended, at.sent.length], ["here", 1]);
  assertMatch(problem, /not on other devices, because the request needs a token/);
  assertEquals(await portal({ everywhere: true }), ["everywhere"]);
});

Deno.test("logout() without the provider's settings sends nothing and says what is missing", async () => {
  await using at = await signedIn(done);
  const { clientId: _, userPoolId: __, ...others } = at.options;
  const next = at.another({ ...others, clientId: "", userPoolId: "" });
  const [, problem = ""] = outcomeOf(await next.logout());
  assertMatch(problem, /not at the provider: .*APP_CLIENT_ID.*USER_POOL_ID/);
  assertEquals([linesOf(at.envFile), signOuts(at)], [{}, []]);
});

Deno.test("logout() revokes the latest refresh token of each login that the session has seen", async () => {
  await using at = await signedIn(done);
  const other = at.another();
  await other.refresh();
  await at.session.logout();
  assertEquals(signOuts(at), [["RevokeToken", "refresh-2"]]);
  await at.session.login();
  at.clock.advance(1);
  await other.login({ force: true });
  assertEquals(outcomeOf(await at.session.logout()), ["provider"]);
  assertEquals(signOuts(at).slice(1).map(([, token]) => token), ["refresh-3", "refresh-4"]);
});

Deno.test("logout() revokes the tokens in use when it was called, even if login() follows at once", async () => {
  await using at = await signedIn(done);
  const other = at.another();
  at.clock.advance(1);
  await other.login({ force: true });
  // This refresh holds the lock, so that the logout has to wait.
  const held = at.hold();
  const refreshed = other.refresh().catch(() => {});
  await held.arrived;
  const calls = [at.session.logout(), at.session.login()];
  held.release();
  await Promise.all([refreshed, ...calls]);
  const revoked = signOuts(at).map(([, token]) => token);
  assert(revoked.includes("refresh-1"), `${revoked}`);
});

Deno.test("logout() revokes tokens that it cannot remove from the .env", async () => {
  await using at = await signedIn(done);
  Deno.removeSync(at.envFile);
  Deno.mkdirSync(at.envFile);
  assertEquals((await rejection(at.session.logout())).code, "ENV_FILE");
  assertEquals(signOuts(at), [["RevokeToken", "refresh-1"]]);
});

Deno.test("logout() sends nothing more after its signal is aborted", async () => {
  const abort = new AbortController();
  await using at = await signedIn(() => {
    abort.abort(new DOMException("enough", "AbortError"));
    return errorAnswer("InternalErrorException", "try again", 500);
  });
  const { state } = await at.session.logout({ signal: abort.signal });
  assertEquals([signOuts(at).length, state, linesOf(at.envFile)], [1, "none", {}]);
});
