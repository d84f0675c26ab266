/** Several sessions on one `.env`: the last writer wins, regardless of the times in the tokens. */
import { assertEquals } from "@std/assert";
import { lockEnvFile } from "../../src/settings/env_file.ts";
import { linesOf, type Portless, rejection, signedIn } from "../support/portless.ts";
import { errorAnswer, tokenAnswer } from "../support/answers.ts";

const EXPIRED = 3_000;

Deno.test("a refused refresh is retried with the refresh token that another process saved", async () => {
  // The provider has revoked the refresh token of the login.
  await using world = await signedIn({
    file: true,
    provider: ({ flow, parameters }) => {
      if (parameters.REFRESH_TOKEN === "r1") {
        return errorAnswer("NotAuthorizedException", "Refresh Token has been revoked");
      }
      const number = flow === "USER_PASSWORD_AUTH" ? 1 : 3;
      const tokens = { AccessToken: `a${number}`, RefreshToken: `r${number}`, ExpiresIn: 1_800 };
      return tokenAnswer(tokens);
    },
  });
  world.clock.advance(EXPIRED);
  const held = world.hold();
  const call = world.session.accessToken();
  await held.arrived;
  // The other process refreshed a while ago, so its token has expired, too.
  writeTokens(world, "a2", "r2\nACCESS_TOKEN_EXPIRES_AT=2020-01-01T00:00:00Z");
  held.release();
  assertEquals([await call, linesOf(world.envFile).REFRESH_TOKEN], ["a3", "r3"]);
});

/** Writes tokens into the `.env` as another program does, without the lock. */
function writeTokens({ envFile }: Portless, access: string, refresh: string): void {
  Deno.writeTextFileSync(envFile, `ACCESS_TOKEN=${access}\nREFRESH_TOKEN=${refresh}\n`);
}

Deno.test("a refresh does not replace tokens that another program wrote, even after status() showed them", async () => {
  await using world = await signedIn({ file: true });
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

Deno.test("a refusal of the refresh token is not saved while another process holds the lock of the .env", async () => {
  await using world = await signedIn({ file: true });
  const before = linesOf(world.envFile);
  world.sandbox.revokeRefreshTokens();
  world.clock.advance(EXPIRED);
  const { lock } = await lockEnvFile(world.envFile, 0, world.clock);
  assertEquals((await rejection(world.session.accessToken())).code, "REFRESH_REJECTED");
  lock.release();
  assertEquals(linesOf(world.envFile), before);
});

Deno.test("a refresh saves its tokens although the .env was missing when it began", async () => {
  await using world = await signedIn({ file: true });
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
