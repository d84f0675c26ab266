/** Device tracking: how a login confirms its device, and how a refresh sends the device key. */
import { assertEquals } from "@std/assert";
import data from "../../support/data/device_verifiers.json" with { type: "json" };
import { deviceVerifier } from "../../../src/provider/device.ts";
import { Secret } from "../../../src/platform/secret.ts";
import { portless, rejection, type Sent, signedIn } from "../../support/portless.ts";
import { errorAnswer, tokenAnswer } from "../../support/answers.ts";

Deno.test("deviceVerifier() returns the verifiers that Python calculates", async () => {
  for (const { groupKey, deviceKey, password, salt, verifier } of data.vectors) {
    const device = { groupKey: new Secret(groupKey), key: new Secret(deviceKey) };
    const made = await deviceVerifier(device, new Secret(password), Uint8Array.fromBase64(salt));
    assertEquals(made, { verifier, salt });
  }
});

const DEVICE = { DeviceKey: "eu-west-1_0f1e2d3c", DeviceGroupKey: "-AbCdEfGh" };
const TOKENS = { AccessToken: "an-access-token", ExpiresIn: 1_800 };
const LOGIN = { ...TOKENS, RefreshToken: "a-refresh-token", NewDeviceMetadata: DEVICE };

/** A provider that registers a device at each login, and refuses a refresh without this device. */
function tracking(confirm: () => Response) {
  return portless({
    file: true,
    provider: ({ flow, parameters, body }: Sent) => {
      if (flow === "USER_PASSWORD_AUTH") return tokenAnswer(LOGIN);
      if (flow === "ConfirmDevice") return confirm();
      if (flow === "RevokeToken") return new Response("");
      return [parameters.DEVICE_KEY, body.DeviceKey].includes(DEVICE.DeviceKey)
        ? tokenAnswer(TOKENS)
        : errorAnswer("NotAuthorizedException", "Invalid Refresh Token");
    },
  });
}

Deno.test("each refresh sends the device key, even if confirming the device failed", async () => {
  const refusals = [
    () => errorAnswer("InvalidParameterException", "no such device"),
    () => new Response("<html>a login page</html>"),
  ];
  for (const refusal of refusals) {
    await using world = tracking(refusal);
    const login = await world.session.login();
    assertEquals([login.state, login.warnings], ["valid", []]);
    assertEquals((await world.session.refresh()).state, "valid");
    assertEquals((await world.session.logout()).warnings, []);
  }
});

for (const trackDevices of [true, "ask"] as const) {
  Deno.test(`sessions can be refreshed in a pool that tracks devices (${trackDevices})`, async () => {
    await using world = await signedIn({
      file: true,
      sandbox: { trackDevices, rotateRefreshTokens: "get-tokens" },
    });
    assertEquals(world.session.status().warnings, []);
    assertEquals(world.sent.map(({ flow }) => flow), ["USER_PASSWORD_AUTH", "ConfirmDevice"]);
    const [{ deviceKey, confirmed, name, verifier } = {}, ...more] = world.sandbox.devices;
    assertEquals([confirmed, name, more], [true, "platform-auth", []]);
    const sent = world.sent[1]?.body;
    assertEquals(sent?.DeviceKey, deviceKey);
    assertEquals(sent?.DeviceSecretVerifierConfig, {
      PasswordVerifier: verifier?.passwordVerifier,
      Salt: verifier?.salt,
    });
    for (const session of [world.session, world.another(), world.another()]) {
      assertEquals((await session.refresh()).warnings, []);
    }
    // A refresh without the device is refused.
    const text = Deno.readTextFileSync(world.envFile);
    Deno.writeTextFileSync(world.envFile, text.replace(/^AUTH_SESSION=.*\n/m, ""));
    assertEquals((await rejection(world.another().refresh())).code, "REFRESH_REJECTED");
  });
}
