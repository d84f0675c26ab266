/** The requests of a logout to the provider, and their outcomes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { LogoutOptions, Session, SessionStatus } from "../../../mod.ts";
import { heldTimeouts } from "../../support/held_timeouts.ts";
import {
  linesOf,
  notesOf,
  type Portless,
  portless,
  type PortlessOptions,
  rejection,
  type Sent,
} from "../../support/portless.ts";
import { errorAnswer, jwt, refusedConnection, tokenAnswer } from "../../support/answers.ts";

type Answer = (sent: Sent) => Response | Promise<Response>;

/** A provider that replaces refresh tokens, and responds to a logout as the test requires. */
function world(signOut: Answer, more: PortlessOptions = {}): Portless {
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
  return made;
}

const done: Answer = () => new Response("");

/** The requests of logouts to the provider. */
function told({ sent }: Portless): unknown[][] {
  return sent.filter(({ flow }) => /^[A-Z][a-z]/.test(flow))
    .map(({ flow, body }) => [flow, body.Token ?? body.AccessToken]);
}

function noteOf(status: SessionStatus): string {
  assertEquals(status.state, "none");
  return notesOf(status).join("\n").replace(/^signed out here: .*? no tokens any more/, "");
}

Deno.test("logout() revokes the refresh token, after it was forgotten here", async () => {
  for (const clientSecret of [undefined, ""]) {
    const left: string[][] = [];
    const session = clientSecret === undefined ? {} : { clientSecret };
    await using at = world(() => {
      left.push(Object.keys(linesOf(at.envFile)));
      return new Response("");
    }, { session });
    await at.session.login();
    assertEquals(noteOf(await at.session.logout()), "; also at the provider");
    const { body } = at.sent.at(-1) ?? {};
    const ClientSecret = clientSecret ?? at.options.clientSecret;
    assertEquals(body, {
      Token: "refresh-1",
      ClientId: at.options.clientId,
      ...(ClientSecret && { ClientSecret }),
    });
    assertEquals(left, [[]]);
  }
});

const failures: [Answer, RegExp][] = [
  [
    () => errorAnswer("UnsupportedOperationException", "off"),
    /: status 400, UnsupportedOperationException: off$/,
  ],
  [() => refusedConnection(), /: the connection was refused$/],
];
for (const [answer, reason] of failures) {
  Deno.test(`logout() ends the session here even if the provider does not help: ${reason.source}`, async () => {
    await using at = world(answer);
    await at.session.login();
    const status = await at.session.logout();
    assertMatch(noteOf(status), /^; not at the provider: /);
    assertMatch(noteOf(status), reason);
    assertEquals([linesOf(at.envFile), status.warnings], [{}, []]);
  });
}

Deno.test("logout() waits at most three seconds for a provider that does not respond", async () => {
  await using at = world(() => new Promise(() => {}));
  await at.session.login();
  const begun = at.clock.monotonic();
  using timeouts = heldTimeouts();
  let status: SessionStatus | undefined;
  const out = at.session.logout().then((given) => status = given);
  for (let passed = 0; status === undefined;) {
    await new Promise((next) => setTimeout(next, 0));
    const ms = timeouts.asked[passed];
    if (ms === undefined) continue;
    // The file was the first: its tokens are gone while the provider is waited for.
    assertEquals([at.session.status().state, linesOf(at.envFile)], ["none", {}]);
    passed++;
    at.clock.advance(ms / 1_000);
    timeouts.pass(ms);
  }
  assertMatch(noteOf(await out), /^; not at the provider: no response from /);
  // Each time-out is rounded up to a millisecond, and a late response is read for 100 ms more.
  assert(at.clock.monotonic() - begun < 3_202, `${timeouts.asked}`);
});

/** The use of a copy of a session in another program after a logout. */
async function afterLogout(options: LogoutOptions, revocation = true): Promise<[string, string]> {
  await using at = portless({ file: true, sandbox: { revocation } });
  await at.session.login();
  const copy = `${at.envFile}-copy`;
  Deno.copyFileSync(at.envFile, copy);
  const elsewhere = at.another({ envFile: false });
  await elsewhere.login();
  const note = noteOf(await at.session.logout(options));
  const outcome = (session: Session) => session.refresh().then(({ state }) => state, (e) => e.code);
  const outcomes = [await outcome(at.another({ envFile: copy })), await outcome(elsewhere)];
  return [outcomes.join(), note];
}

Deno.test("a logout ends copies of the session, and if asked to the account's other sessions", async () => {
  const over = "REFRESH_REJECTED";
  assertEquals(await afterLogout({}), [`${over},valid`, "; also at the provider"]);
  assertEquals(await afterLogout({ revoke: false }), ["valid,valid", ""]);
  assertEquals(await afterLogout({ everywhere: true }), [
    ...[`${over},${over}`, "; also at the provider, on all devices"],
  ]);
  const [outcomes, note] = await afterLogout({}, false);
  assertEquals(outcomes, "valid,valid");
  assertMatch(
    note,
    /^; not at the provider: .*UnsupportedOperationException: Token revocation is not enabled/,
  );
});

Deno.test("logout({ everywhere: true }) signs out all devices with a current access token", async () => {
  for (const seconds of [0, 3_000]) {
    await using at = world(done);
    await at.session.login();
    const first = await at.session.accessToken();
    at.clock.advance(seconds);
    const status = await at.session.logout({ everywhere: true });
    assertEquals(noteOf(status), "; also at the provider, on all devices");
    const [[operation, token] = [], ...more] = told(at);
    assertEquals([operation, more, at.refreshes()], ["GlobalSignOut", [], seconds === 0 ? 0 : 1]);
    assertEquals([token === first, linesOf(at.envFile)], [seconds === 0, {}]);
  }
});

Deno.test("if not all devices can be signed out, the session still ends at the provider", async () => {
  await using at = world(({ flow }) =>
    flow === "RevokeToken"
      ? new Response("")
      : errorAnswer("NotAuthorizedException", "Access Token does not have required scopes")
  );
  await at.session.login();
  at.clock.advance(3_000);
  const note = noteOf(await at.session.logout({ everywhere: true }));
  assertMatch(note, /^; not on other devices: .*required scopes; also at the provider$/);
  assertEquals(told(at).at(-1), ["RevokeToken", "refresh-2"], "the newest one ends the session");
});

Deno.test("a logout without a refresh token revokes nothing, and one without a session reports that", async () => {
  await using at = world(done);
  const portal = async (options: LogoutOptions) => {
    await at.session.login({ portalToken: await at.sandbox.portalToken() });
    return noteOf(await at.session.logout(options));
  };
  assertMatch(
    await portal({}),
    /^; the access token cannot be revoked and stays valid until/,
  );
  assertMatch(noteOf(await at.session.logout()), /^there was no session to end: .* no tokens$/);
  const again = await at.session.logout({ everywhere: true });
  assertMatch(
    noteOf(again),
    /^there was no session to end: .*; not on other devices: .* run login/,
  );
  assertEquals(again.ended, "here");
  assertEquals(at.sent.length, 0);
  assertEquals(await portal({ everywhere: true }), "; also at the provider, on all devices");
});

Deno.test("without the provider's settings a logout sends nothing and says what is missing", async () => {
  await using at = world(done);
  await at.session.login();
  const { clientId: _, userPoolId: __, ...others } = at.options;
  const next = at.another({ ...others, clientId: "", userPoolId: "" });
  assertMatch(noteOf(await next.logout()), /^; not at the provider: .*APP_CLIENT_ID.*USER_POOL_ID/);
  assertEquals([linesOf(at.envFile), told(at)], [{}, []]);
});

Deno.test("of one login the newest refresh token is revoked, of two logins both", async () => {
  await using at = world(done);
  await at.session.login();
  const other = at.another();
  await other.refresh();
  await at.session.logout();
  assertEquals(told(at), [["RevokeToken", "refresh-2"]]);
  await at.session.login();
  at.clock.advance(1);
  await other.login({ force: true });
  assertEquals(noteOf(await at.session.logout()), "; also at the provider");
  assertEquals(told(at).slice(1).map(([, token]) => token), ["refresh-3", "refresh-4"]);
});

Deno.test("tokens that cannot be taken out of the file are revoked, and the error says where they are", async () => {
  await using at = world(done);
  await at.session.login();
  Deno.removeSync(at.envFile);
  Deno.mkdirSync(at.envFile);
  assertEquals((await rejection(at.session.logout())).code, "ENV_FILE");
  assertEquals(told(at), [["RevokeToken", "refresh-1"]]);
});

Deno.test("after an abort a logout sends nothing more", async () => {
  const abort = new AbortController();
  await using at = world(() => {
    abort.abort(new DOMException("enough", "AbortError"));
    return errorAnswer("InternalErrorException", "try again", 500);
  });
  await at.session.login();
  const { state } = await at.session.logout({ signal: abort.signal });
  assertEquals([told(at).length, state, linesOf(at.envFile)], [1, "none", {}]);
});
