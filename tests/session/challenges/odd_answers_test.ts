import { assertEquals } from "@std/assert";
import { USERNAME, worldOf } from "./cases.ts";

Deno.test("a key that is not verified is a rejected code, and another code may be entered", async () => {
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

Deno.test("once its code is verified, the setup of an app is completed with only the user's name", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  const sent: Record<string, unknown>[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    sent.push(JSON.parse(String(init?.body)));
    return (world.options.fetch ?? globalThis.fetch)(input, init);
  };
  await world.another({ fetch }).login({
    onChallenge: async () => ({ SOFTWARE_TOKEN_MFA_CODE: await world.sandbox.totp(USERNAME) }),
  });
  const [, key, verification, answer] = sent;
  assertEquals(Object.keys(key ?? {}), ["Session"]);
  assertEquals(Object.keys(verification ?? {}).sort(), ["Session", "UserCode"]);
  const { ChallengeName, ChallengeResponses = {} } = answer ?? {};
  assertEquals([ChallengeName, Object.keys(ChallengeResponses ?? {}).sort()], [
    "MFA_SETUP",
    ["SECRET_HASH", "USERNAME"],
  ]);
});
