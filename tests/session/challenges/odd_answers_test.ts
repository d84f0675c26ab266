import { assertEquals } from "@std/assert";
import { USERNAME, worldOf } from "./cases.ts";

Deno.test("login() asks for another code if the provider does not verify an app's key", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  let count = 0;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const isCode = String(init?.body).includes("UserCode");
    const { Session } = JSON.parse(String(init?.body));
    return isCode && ++count === 1
      ? Response.json({ Status: "ERROR", Session })
      : await (world.options.fetch ?? globalThis.fetch)(input, init);
  };
  const answer = async () => ({ SOFTWARE_TOKEN_MFA_CODE: await world.sandbox.totp(USERNAME) });
  const refusals: (string | undefined)[] = [];
  const status = await world.another({ fetch }).login({
    onChallenge: ({ refused }) => {
      refusals.push(refused);
      return answer();
    },
  });
  assertEquals([status.state, refusals], ["valid", [undefined, "it was not verified"]]);
});

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
