import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type Session } from "../mod.ts";
import { namesIn } from "./support/child_deno.ts";
import { diskCalls } from "./support/disk_calls.ts";
import { withEnvironment } from "./support/environment.ts";
import { NOT_ON_WINDOWS, testNeeding } from "./support/needs.ts";
import { linesOf, portless, rejection, signedIn } from "./support/portless.ts";

Deno.test("a session reads nothing from the disk before its first use", async () => {
  await using world = portless({ file: true });
  const sessions: Session[] = [];
  const making = await diskCalls(() => sessions.push(world.another()));
  assertEquals(making, { reads: 0, stats: 0, realPaths: 0, permissions: 0 });
  await world.session.login();
  const asking = await diskCalls(() => assertEquals(sessions[0]?.status().state, "valid"));
  assert(asking.reads > 0);
});

Deno.test("the first call after a restart resumes the session from the .env, without a login", async () => {
  await using world = await signedIn({ file: true });
  assertEquals((await world.another().authFetch("/v1/whoami")).status, 200);
  assertEquals(world.sent.length, 1);
  world.clock.advance(3_000);
  const next = world.another();
  assertEquals(next.status().state, "refreshable");
  assertEquals((await next.authFetch("/v1/whoami")).status, 200);
  assertEquals([world.logins(), world.refreshes()], [1, 1]);
});

Deno.test("a session resumes from a .env that contains only a REFRESH_TOKEN", async () => {
  await using world = await signedIn({ file: true });
  const { REFRESH_TOKEN } = linesOf(world.envFile);
  Deno.writeTextFileSync(world.envFile, `REFRESH_TOKEN=${REFRESH_TOKEN}\n`);
  const next = world.another();
  assertEquals(next.status().state, "refreshable");
  assertEquals((await next.authFetch("/v1/whoami")).status, 200);
});

Deno.test("a session accepts a portal string in the .env exactly as it was copied", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(
    world.envFile,
    `ACCESS_TOKEN="${await world.sandbox.portalToken()}"\n`,
  );
  const { state, canRefresh, accessTokenExpiresAt } = world.session.status();
  assertEquals([state, canRefresh], ["valid", false]);
  assertEquals(accessTokenExpiresAt, new Date(world.clock.now() + 1_800_000));
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
});

const OTHER_ACCOUNTS = [
  ["client", { clientId: "another-client" }, /an app client other than APP_CLIENT_ID/],
  [
    "provider",
    { authUrl: "https://another-provider.example" },
    /was issued by .*, not by AUTH_URL/,
  ],
] as const;
for (const [what, other, reason] of OTHER_ACCOUNTS) {
  Deno.test(`a session ignores and reports stored tokens of another ${what}, but keeps them`, async () => {
    await using world = await signedIn({ file: true });
    const session = world.another(other);
    const { state, notices: [notice] } = session.status();
    assertEquals([state, notice?.code], ["none", "STORED_IGNORED"]);
    assertMatch(notice?.problem ?? "", reason);
    const errors = await Promise.all([
      rejection(session.refresh()),
      rejection(session.authFetch("/v1/whoami")),
    ]);
    for (const { code, message } of errors) {
      assertEquals(code, "NO_SESSION");
      assertMatch(message, reason);
    }
    assertEquals(world.another().status().state, "valid");
    assertEquals((await session.logout()).ended, "here");
    assertEquals([world.sent.length, world.called.length], [1, 0]);
  });
}

Deno.test("logout() removes the tokens from memory and .env, and leaves the other lines", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, "# mine\r\nOTHER='1'\n");
  await world.session.login();
  await world.session.logout();
  assertEquals(Deno.readTextFileSync(world.envFile), "# mine\r\nOTHER='1'\n");
  assertEquals(world.session.status().state, "none");
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "NO_SESSION");
  assertEquals((await world.session.login()).state, "valid");
});

testNeeding(
  NOT_ON_WINDOWS,
  "saving tokens makes a .env private if others could read it, and reports this once",
  async () => {
    await using world = portless({ file: true });
    Deno.writeTextFileSync(world.envFile, "OTHER=1\n");
    Deno.chmodSync(world.envFile, 0o644);
    const { notices, warnings } = await world.session.login();
    assertEquals(notices.map(({ code, level }) => [code, level]), [["FILE_WAS_OPEN", "note"]]);
    assertEquals(warnings, [], "nothing is left to do");
    assertEquals((await world.session.refresh()).notices, [], "reported once");
    assertEquals((Deno.statSync(world.envFile).mode ?? 0) & 0o777, 0o600);
    assertEquals(world.another().status().warnings, []);
  },
);

Deno.test("createSession() uses no file unless it is given, and logout() creates none", async () => {
  await using world = portless();
  const { envFile: _, ...unnamed } = world.options;
  await withEnvironment({ AUTH_ENV_FILE: world.envFile }, async () => {
    const session = createSession(unnamed);
    const { reads, stats } = await diskCalls(() => session.login());
    assertEquals([session.status().envFile, reads, stats], [undefined, 0, 0]);
  });
  await createSession({ envFile: world.envFile }).logout();
  assertEquals(namesIn(world.envFile.replace(/[\\/]\.env$/, "")), []);
});

Deno.test("createSession() neither uses nor sets tokens in the environment", async () => {
  await using world = portless();
  const planted = (await world.sandbox.portalToken()).replace("bearer ", "");
  await withEnvironment({ ACCESS_TOKEN: planted, REFRESH_TOKEN: "planted" }, async () => {
    const session = world.another({ exportEnv: "both" });
    assertEquals(session.status().state, "none");
    await session.login();
    assertEquals(Deno.env.get("ACCESS_TOKEN"), planted);
    await session.logout();
    assertEquals([Deno.env.get("ACCESS_TOKEN"), Deno.env.get("REFRESH_TOKEN")], [
      planted,
      "planted",
    ]);
  });
});

Deno.test("two sessions are independent", async () => {
  await using world = portless();
  world.sandbox.addUser({ username: "grace", password: "Another-Password-1" });
  const grace = world.another({ username: "grace", password: "Another-Password-1" });
  await world.session.login();
  await grace.login();
  await world.session.logout();
  const answer = await grace.authFetch("/v1/whoami");
  assertEquals((await answer.json()).username, "grace");
  assertEquals(world.session.status().state, "none");
});

Deno.test({
  name: "logout() leaves a file without tokens unchanged, even if it is read-only",
  permissions: { read: true, write: false, env: true, net: false },
  fn: async () => {
    const session = createSession({ envFile: new URL("../LICENSE", import.meta.url) });
    assertEquals((await session.logout()).state, "none");
  },
});
