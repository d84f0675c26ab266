/**
 * Operations that the API document does not show: devices, refresh tokens that rotate, and what a
 * logout tells the provider.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import data from "../../support/data/device_verifiers.json" with { type: "json" };
import { deviceVerifier } from "../../../src/provider/device.ts";
import { Secret } from "../../../src/platform/secret.ts";
import { portless, rejection, type Sent, signedIn } from "../../support/portless.ts";
import { errorAnswer, tokenAnswer } from "../../support/answers.ts";

for (const [at, { groupKey, deviceKey, password, salt, verifier }] of data.vectors.entries()) {
  Deno.test(`the verifier of a device password is what Python computes (${at})`, async () => {
    const device = { groupKey: new Secret(groupKey), key: new Secret(deviceKey) };
    const made = await deviceVerifier(device, new Secret(password), Uint8Array.fromBase64(salt));
    assertEquals(made, { verifier, salt });
  });
}

const DEVICE = { DeviceKey: "eu-west-1_0f1e2d3c", DeviceGroupKey: "-AbCdEfGh" };
const TOKENS = { AccessToken: "an-access-token", ExpiresIn: 1_800 };
const LOGIN = { ...TOKENS, RefreshToken: "a-refresh-token", NewDeviceMetadata: DEVICE };

/** A provider that makes a device of each login, and refuses every refresh that does not name it. */
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

for (
  const [what, answer] of [["nothing", {}], ["a user's consent", {
    UserConfirmationNecessary: true,
  }]] as const
) {
  Deno.test(`a login confirms its device, and the provider wants ${what} more`, async () => {
    await using world = tracking(() => Response.json(answer));
    const status = await world.session.login();
    assertEquals([status.state, status.warnings], ["valid", []]);
    const [, confirmed, ...more] = world.sent;
    assertEquals([confirmed?.flow, more.length], ["ConfirmDevice", 0]);
    const { AccessToken, DeviceKey, DeviceName, DeviceSecretVerifierConfig } = confirmed?.body ??
      {};
    assertEquals([AccessToken, DeviceKey, DeviceName], [
      ...[LOGIN.AccessToken, DEVICE.DeviceKey, "platform-auth"],
    ]);
    const { PasswordVerifier, Salt } = DeviceSecretVerifierConfig as Record<string, string>;
    const [salt, verifier] = [Salt, PasswordVerifier].map((text = "") =>
      Uint8Array.fromBase64(text)
    );
    assertEquals(salt?.length, 16);
    assert(verifier && verifier.length > 370 && (verifier[0] ?? 128) < 128);
  });
}

Deno.test("an unconfirmed device is a warning, and requests contain it all the same", async () => {
  const refusals = [
    () => errorAnswer("InvalidParameterException", "no such device"),
    () => new Response("<html>a login page</html>"),
  ];
  for (const refusal of refusals) {
    await using world = tracking(refusal);
    const login = await world.session.login();
    assertEquals(login.state, "valid");
    assertMatch(
      login.warnings.join(),
      /did not confirm this device \(status \d+, .*; if it does, run login\(\{ force: true \}\)/,
    );
    assertEquals((await world.session.refresh()).state, "valid");
    const { warnings } = await world.session.login({ portalToken: "bearer an-opaque-token" });
    assertEquals(warnings.filter((each) => each.includes("device")), []);
    await world.session.login();
    assertEquals((await world.session.logout()).warnings, []);
  }
});

for (
  const [trackDevices, rotateRefreshTokens] of [[true, "get-tokens"], ["ask", true]] as const
) {
  Deno.test(`a session can be refreshed in a pool that tracks devices (${trackDevices}, ${rotateRefreshTokens})`, async () => {
    await using world = await signedIn({
      file: true,
      sandbox: { trackDevices, rotateRefreshTokens },
    });
    const [{ deviceKey, confirmed, name, verifier } = {}, ...more] = world.sandbox.devices;
    assertEquals([confirmed, name, more], [true, "platform-auth", []]);
    const sent = world.sent.find(({ flow }) => flow === "ConfirmDevice")?.body;
    assertEquals(sent?.DeviceKey, deviceKey);
    assertEquals(sent?.DeviceSecretVerifierConfig, {
      PasswordVerifier: verifier?.passwordVerifier,
      Salt: verifier?.salt,
    });
    for (const session of [world.session, world.another(), world.another()]) {
      assertEquals((await session.refresh()).warnings, []);
    }
    // Without its device the session would be over.
    const line = /^AUTH_SESSION=.*\n/m;
    Deno.writeTextFileSync(
      world.envFile,
      Deno.readTextFileSync(world.envFile).replace(line, ""),
    );
    assertEquals((await rejection(world.another().refresh())).code, "REFRESH_REJECTED");
  });
}
