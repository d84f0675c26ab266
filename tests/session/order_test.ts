/** Several sessions on one `.env`: the last writer wins, regardless of the times in the tokens. */
import { assert, assertEquals } from "@std/assert";
import { lockEnvFile } from "../../src/settings/env_file.ts";
import {
  linesOf,
  type Portless,
  portless,
  type PortlessOptions,
  rejection,
} from "../support/portless.ts";
import { errorAnswer, tokenAnswer } from "../support/answers.ts";

const EXPIRED = 3_000;
/** Pauses in real time, because the session that holds the lock needs real time to release it. */
const sleep = () => new Promise<void>((done) => setTimeout(done, 0));

function shared(given: PortlessOptions = {}): Portless {
  return portless({ file: true, ...given, session: { sleep, ...given.session } });
}

/** Writes tokens into the `.env` as another program does, without the lock. */
function writeTokens(world: Portless, access: string, refresh = ""): void {
  const lines = [`ACCESS_TOKEN=${access}`, ...(refresh ? [`REFRESH_TOKEN=${refresh}`] : [])];
  Deno.writeTextFileSync(world.envFile, `${lines.join("\n")}\n`);
}

Deno.test("a refused refresh is retried with the refresh token that another process saved", async () => {
  await using world = shared({
    provider: ({ flow, parameters }) =>
      flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer({ AccessToken: "a1", RefreshToken: "r1", ExpiresIn: 1_800 })
        : parameters.REFRESH_TOKEN === "r1"
        ? errorAnswer("NotAuthorizedException", "Refresh Token has been revoked")
        : tokenAnswer({ AccessToken: "a3", RefreshToken: "r3", ExpiresIn: 1_800 }),
  });
  await world.session.login();
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = world.session.accessToken();
  await held.arrived;
  // The other process refreshed a while ago, so its token has expired, too.
  writeTokens(world, "a2", "r2\nACCESS_TOKEN_EXPIRES_AT=2020-01-01T00:00:00Z");
  held.release();
  assertEquals([await call, linesOf(world.envFile).REFRESH_TOKEN], ["a3", "r3"]);
});

Deno.test("a refresh does not replace tokens that another program wrote, even after status() showed them", async () => {
  await using world = shared();
  await world.session.login();
  const held = world.hold();
  const refreshed = world.session.refresh();
  await held.arrived;
  writeTokens(world, "theirs", "r");
  world.session.status();
  held.release();
  await refreshed;
  const { ACCESS_TOKEN } = linesOf(world.envFile);
  assertEquals([ACCESS_TOKEN, await world.session.accessToken()], ["theirs", "theirs"]);
});

Deno.test("a refresh saves its tokens although the .env was missing when it began", async () => {
  await using world = shared();
  await world.session.login();
  const text = Deno.readTextFileSync(world.envFile);
  // An editor replaces the file in two steps.
  Deno.removeSync(world.envFile);
  const held = world.hold();
  const refreshed = world.session.refresh();
  await held.arrived;
  Deno.writeTextFileSync(world.envFile, text);
  held.release();
  await refreshed;
  const token = await world.session.accessToken();
  assertEquals([text.includes(token), linesOf(world.envFile).ACCESS_TOKEN], [false, token]);
});

Deno.test("a refusal of the refresh token is not saved while another process holds the lock of the .env", async () => {
  await using world = portless({
    file: true,
    provider: ({ flow }) =>
      flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer({ AccessToken: "a1", RefreshToken: "r1", ExpiresIn: 1_800 })
        : errorAnswer("NotAuthorizedException", "Refresh Token has been revoked"),
  });
  await world.session.login();
  const before = linesOf(world.envFile);
  world.clock.advance(EXPIRED);
  const { lock } = await lockEnvFile(world.envFile, 0, world.clock);
  assertEquals((await rejection(world.session.accessToken())).code, "REFRESH_REJECTED");
  lock.release();
  assertEquals(linesOf(world.envFile), before);
});

Deno.test("after a save that failed, the session keeps its new tokens and ignores those in the .env", async () => {
  await using world = shared();
  const folder = world.envFile.replace(/[\\/]\.env$/, "");
  await world.session.login();
  const other = world.another();
  await other.refresh();
  // A folder with the name of the temporary file prevents the save.
  Deno.mkdirSync(`${folder}/.env.tmp/in-the-way`, { recursive: true });
  const status = await world.session.login({ portalToken: "bearer a-token-kept-in-memory" });
  assert(status.warnings.some((it) => it.includes("kept in memory only")), status.warnings.join());
  assertEquals(
    await world.session.accessToken({ minValidSeconds: 10_000 }),
    "a-token-kept-in-memory",
  );
  assertEquals(world.session.status().source, "portal");
});

Deno.test("a call that gets 401s is sent at most three times, even if other processes save new tokens", async () => {
  await using world = shared({
    api: (_, count) => {
      writeTokens(world, `saved-meanwhile-${count}`, "with-its-refresh-token");
      return new Response(null, { status: 401 });
    },
  });
  await world.session.login();
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 401);
  assertEquals(world.called.slice(1).map(({ authorization }) => authorization), [
    "bearer saved-meanwhile-1",
    "bearer saved-meanwhile-2",
  ]);
});
