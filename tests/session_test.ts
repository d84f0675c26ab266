import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { join } from "node:path";
import { ConfigError, createSession, type Session } from "../mod.ts";
import { diskCalls } from "./support/disk_calls.ts";
import { withEnvironment } from "./support/environment.ts";
import { linesOf, portless, rejection } from "./support/portless.ts";
import { jwt } from "./support/answers.ts";

Deno.test("status() without a session has the state none, and creates nothing", async () => {
  await using world = portless({ file: true });
  const status = world.session.status();
  assertEquals(status.state, "none");
  assertEquals(status.source, "none");
  assertEquals(status.canRefresh, false);
  assertEquals(status.accessTokenExpiresAt, undefined);
  assertEquals(status.asOf, new Date(world.clock.now()));
  assertEquals(status.username, world.options.username);
  assertEquals([...Deno.readDirSync(world.envFile.replace(/[\\/]\.env$/, ""))], []);
});

Deno.test("status() is synchronous and reads the file", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const status = world.another().status();
  assertEquals(status.state, "valid");
  assertEquals(status.source, "file");
  assertEquals(status.username, "student");
  assertEquals(status.accessTokenExpiresAt, new Date(world.clock.now() + 1_800_000));
  assertEquals(status.refreshableUntil, new Date(world.clock.now() + 30 * 86_400_000));
});

Deno.test("nothing is read before the first use", async () => {
  await using world = portless({ file: true });
  const sessions: Session[] = [];
  const making = await diskCalls(() => sessions.push(world.another()));
  assertEquals(making, { reads: 0, stats: 0, realPaths: 0, permissions: 0 });
  await world.session.login();
  const asking = await diskCalls(() => assertEquals(sessions[0]?.status().state, "valid"));
  assert(asking.reads > 0);
});

Deno.test("the first call after a restart resumes from the file, without a login", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  assertEquals((await world.another().authFetch("/v1/whoami")).status, 200);
  assertEquals(world.sent.length, 1);
  world.clock.advance(3_000);
  const next = world.another();
  assertEquals(next.status().state, "refreshable");
  assertEquals((await next.authFetch("/v1/whoami")).status, 200);
  assertEquals([world.logins(), world.refreshes()], [1, 1]);
});

Deno.test("a REFRESH_TOKEN alone in the file is a session", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const { REFRESH_TOKEN } = linesOf(world.envFile);
  Deno.writeTextFileSync(world.envFile, `REFRESH_TOKEN=${REFRESH_TOKEN}\n`);
  const next = world.another();
  assertEquals(next.status().state, "refreshable");
  assertEquals((await next.authFetch("/v1/whoami")).status, 200);
});

Deno.test("a portal string in the file is accepted as it was copied", async () => {
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

Deno.test("stored tokens of another client are ignored and reported", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const other = world.another({ clientId: "another-client" });
  const { state, warnings } = other.status();
  assertEquals(state, "none");
  assertMatch(warnings.join(), /an app client other than APP_CLIENT_ID/);
  const error = await rejection(other.authFetch("/v1/whoami"));
  assertEquals(error.code, "NO_SESSION");
  assertMatch(error.message, /an app client other than APP_CLIENT_ID/);
  assertEquals(world.another().status().state, "valid");
});

Deno.test("a stored token of another client without a refresh token is used", async () => {
  await using world = portless({ file: true });
  const iat = world.clock.now() / 1_000;
  const token = jwt({ iat, exp: iat + 600, client_id: "portal-client" });
  Deno.writeTextFileSync(world.envFile, `ACCESS_TOKEN=${token}\n`);
  assertEquals(world.session.status().state, "valid");
  assertEquals(await world.session.accessToken(), token);
});

Deno.test("a value in the file that is not a token is ignored and reported", async () => {
  for (const line of ["ACCESS_TOKEN=two words", "ACCESS_TOKEN=x\nREFRESH_TOKEN='a b'"]) {
    await using world = portless({ file: true });
    Deno.writeTextFileSync(world.envFile, `${line}\n`);
    const { state, warnings } = world.session.status();
    assertEquals(state, "none");
    assertMatch(warnings.join(), /_TOKEN in the \.env is not a token/);
    assert(!warnings.join().includes("two words"));
  }
});

Deno.test("logout() clears memory and file, and leaves the other lines", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, "# mine\r\nOTHER='1'\n");
  await world.session.login();
  const other = world.another();
  assertEquals(other.status().state, "valid");
  await world.session.logout();
  assertEquals(Deno.readTextFileSync(world.envFile), "# mine\r\nOTHER='1'\n");
  assertEquals(world.session.status().state, "none");
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "NO_SESSION");
  assertEquals((await rejection(world.session.accessToken())).code, "NO_SESSION");
  assertEquals((await rejection(world.session.refresh())).code, "NO_SESSION");
  await world.session.logout();
  assertEquals((await world.session.login()).state, "valid");
});

Deno.test("logout() that cannot clear the file is an error; the tokens in memory are removed", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  Deno.removeSync(world.envFile);
  Deno.mkdirSync(world.envFile);
  const error = await rejection(world.session.logout());
  assertInstanceOf(error, ConfigError);
  assertEquals(error.code, "ENV_FILE");
  assertEquals(world.session.status().state, "none");
});

Deno.test("after a failed save the tokens stay in memory, with a warning and without an error", async () => {
  await using world = portless({ file: true });
  const folder = `${world.envFile}-folder`;
  Deno.mkdirSync(folder);
  for (const envFile of [join(folder, "missing", ".env"), folder]) {
    const session = world.another({ envFile });
    const status = await session.login();
    assertEquals(status.state, "valid");
    assertMatch(status.warnings.join("\n"), /kept in memory only.*/);
    assert(status.warnings.join("\n").includes(envFile));
    assertEquals(status.envFile, undefined);
    assertEquals((await session.authFetch("/v1/whoami")).status, 200);
    assertEquals((await session.refresh()).state, "valid");
  }
  const last = world.another({ envFile: folder });
  await last.login();
  Deno.removeSync(folder);
  assertEquals((await last.refresh()).warnings, [], "the next save goes well");
  assertEquals(linesOf(folder).ACCESS_TOKEN, await last.accessToken());
});

Deno.test("a file that others could read is private after a save, which is reported once", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, "OTHER=1\n");
  if (Deno.build.os === "windows") {
    // Its files have no such mode: whatever the system makes up, nothing is claimed.
    assertEquals((await world.session.login()).notices, []);
    return;
  }
  Deno.chmodSync(world.envFile, 0o644);
  const { notices, warnings } = await world.session.login();
  assertEquals(notices.map(({ code, level }) => [code, level]), [["FILE_WAS_OPEN", "note"]]);
  assertEquals(warnings, [], "nothing is left to do");
  assertEquals((await world.session.refresh()).notices, [], "reported once");
  assertEquals((Deno.statSync(world.envFile).mode ?? 0) & 0o777, 0o600);
  assertEquals(world.another().status().warnings, []);
});

Deno.test("createSession() keeps the session in memory unless a file is given", async () => {
  await using world = portless();
  const { envFile: _, ...unnamed } = world.options;
  const before = [...Deno.readDirSync(".")].map((entry) => entry.name).sort();
  await withEnvironment({ AUTH_ENV_FILE: world.envFile }, async () => {
    const session = createSession(unnamed);
    const status = await session.login();
    assertEquals(status.envFile, undefined);
  });
  assertEquals([...Deno.readDirSync(".")].map((entry) => entry.name).sort(), before);
  assertEquals([...Deno.readDirSync(world.envFile.replace(/[\\/]\.env$/, ""))], []);
});

Deno.test("createSession() neither uses nor sets tokens in the environment", async () => {
  await using world = portless();
  const planted = (await world.sandbox.portalToken()).replace("bearer ", "");
  const variables = { ACCESS_TOKEN: planted, REFRESH_TOKEN: "planted" };
  for (const exportEnv of ["access", "both", "none"] as const) {
    await withEnvironment(variables, async () => {
      const session = world.another({ exportEnv });
      assertEquals(session.status().state, "none");
      await session.login();
      await session.refresh();
      await session.logout();
      assertEquals(Deno.env.get("ACCESS_TOKEN"), planted);
      assertEquals(Deno.env.get("REFRESH_TOKEN"), "planted");
    });
  }
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

Deno.test("a login after the client id in the .env changed drops the tokens of the first client", async () => {
  await using world = portless({ file: true });
  const { clientId = "", ...options } = world.options;
  Deno.writeTextFileSync(world.envFile, `APP_CLIENT_ID=${clientId}\n`);
  const session = createSession(options);
  await session.login();
  const text = Deno.readTextFileSync(world.envFile);
  Deno.writeTextFileSync(world.envFile, text.replace(clientId, "another-client"));
  assertEquals((await rejection(session.login())).code, "CLIENT_UNKNOWN");
  assertEquals(session.status().state, "none");
  assertMatch(session.status().warnings.join(), /an app client other than APP_CLIENT_ID/);
});

Deno.test("the signal in init replaces that of a Request, as with fetch", async () => {
  await using world = portless();
  await world.session.login();
  const { authFetch, fetchJson, download } = world.session;
  const file = `${world.envFile}.json`;
  const url = "https://api.sandbox.example/v1/whoami";
  const request = (signal: AbortSignal) => new Request(url, { signal });
  type Call = (own: AbortSignal, signal: AbortSignal | null) => Promise<unknown>;
  const calls: Call[] = [
    (own, signal) => authFetch(request(own), { signal }),
    (own, signal) => fetchJson(request(own), { signal }),
    (own, signal) => download(request(own), file, { init: { signal }, ifExists: "replace" }),
  ];
  const [open, aborted] = [new AbortController().signal, AbortSignal.abort(new Error("left"))];
  for (const call of calls) {
    for (const signal of [null, open]) await call(aborted, signal);
    assertEquals((await rejection(call(open, aborted))).message, "left");
  }
});
