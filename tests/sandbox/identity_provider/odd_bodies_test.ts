import { assertEquals } from "@std/assert";
import { sandboxTest } from "../requests.ts";
import { enter, operate } from "./steps.ts";

const FIELDS: Record<string, readonly string[]> = {
  InitiateAuth: ["AuthFlow", "AuthParameters", "UserPoolId"],
  RespondToAuthChallenge: ["ChallengeName", "Session", "ChallengeResponses"],
  AssociateSoftwareToken: ["Session"],
  VerifySoftwareToken: ["Session", "UserCode", "FriendlyDeviceName"],
  ConfirmDevice: ["AccessToken", "DeviceKey", "DeviceName", "DeviceSecretVerifierConfig"],
  GetTokensFromRefreshToken: ["RefreshToken", "ClientSecret", "DeviceKey"],
  RevokeToken: ["Token", "ClientSecret"],
  GlobalSignOut: ["AccessToken"],
};

sandboxTest(
  "each operation of the provider refuses odd values, and the sandbox continues to work",
  {
    challenge: "MFA_SETUP",
    trackDevices: true,
  },
  async ({ sandbox }) => {
    const { Session } = (await enter(sandbox)).body;
    const odd: unknown[] = [null, 1, true, [], {}, { toString: 1 }, "", "x", "__proto__", "a.b.c"];
    for (const [operation, fields] of Object.entries(FIELDS)) {
      for (const value of odd) {
        const body = Object.fromEntries(fields.map((field) => [field, value]));
        for (const more of [{}, { Session }]) {
          const { status, body: answer } = await operate(sandbox, operation, { ...body, ...more });
          // AssociateSoftwareToken needs only a session, so it can succeed with this one.
          const expected = operation === "AssociateSoftwareToken" && "Session" in more
            ? [200, 400]
            : [400];
          assertEquals(expected.includes(status), true, `${operation} ${JSON.stringify(value)}`);
          if (status === 400) assertEquals(typeof answer.__type, "string");
        }
      }
    }
    assertEquals((await enter(sandbox)).body.ChallengeName, "MFA_SETUP");
  },
);
