import { assertEquals } from "@std/assert";
import { USERNAME, worldOf } from "./cases.ts";

Deno.test("the answer that completes the setup of an authenticator app contains no code", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  await world.session.login({
    onChallenge: async () => ({ SOFTWARE_TOKEN_MFA_CODE: await world.sandbox.totp(USERNAME) }),
  });
  const [, key = {}, verification = {}, answer] = world.sent.map(({ body }) => body);
  assertEquals(Object.keys(key), ["Session"]);
  assertEquals(Object.keys(verification).sort(), ["Session", "UserCode"]);
  const { ChallengeName, ChallengeResponses } = answer ?? {};
  assertEquals(ChallengeName, "MFA_SETUP");
  assertEquals(Object.keys(ChallengeResponses ?? {}).sort(), ["SECRET_HASH", "USERNAME"]);
});
