import { assertEquals } from "@std/assert";
import { ChallengeError } from "../../../mod.ts";
import { rejection } from "../../support/portless.ts";
import { USERNAME, worldOf } from "./cases.ts";

Deno.test("choices and requested values are shown even if the password shares a word with them", async () => {
  const asked = async (challenge: string, password: string) => {
    const user = { challenge, password };
    await using world = worldOf(user, { session: { password } });
    const error = await rejection(world.session.login({ strategy: "environment" }));
    if (!(error instanceof ChallengeError)) throw error;
    return error.challenge.asks.map(({ name }) => name);
  };
  assertEquals(await asked("MFA_SETUP", "Software-1 SOFTWARE"), ["SOFTWARE_TOKEN_MFA_CODE"]);
  assertEquals(await asked("NEW_PASSWORD_REQUIRED", "My-1st-Attributes"), [
    ...["NEW_PASSWORD", "userAttributes.email"],
  ]);
});

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
