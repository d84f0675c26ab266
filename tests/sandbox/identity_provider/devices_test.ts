import { assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { type Answer, type Body, fault, refreshBody, sandboxTest, send } from "../requests.ts";
import { enter, operate } from "./steps.ts";

const INVALID = "400 NotAuthorizedException: Invalid Refresh Token";
const base64 = (bytes: number): string => new Uint8Array(bytes).fill(255).toBase64();

/** A login from a device that nobody knows yet. */
async function newDevice(sandbox: Sandbox): Promise<{ login: Answer; deviceKey: string }> {
  const login = await enter(sandbox);
  const metadata = login.result.NewDeviceMetadata as unknown as Record<string, string>;
  assertEquals(Object.keys(metadata), ["DeviceKey", "DeviceGroupKey"]);
  return { login, deviceKey: metadata.DeviceKey ?? "" };
}

function confirm(
  sandbox: Sandbox,
  { login, deviceKey }: { login: Answer; deviceKey: string },
  bytes = 384,
): Promise<Answer> {
  return operate(sandbox, "ConfirmDevice", {
    AccessToken: login.result.AccessToken,
    DeviceKey: deviceKey,
    DeviceName: "notebook of ada",
    DeviceSecretVerifierConfig: { PasswordVerifier: base64(bytes), Salt: base64(16) },
  });
}

function refresh(sandbox: Sandbox, login: Answer, parameters: Body = {}): Promise<Answer> {
  return send(sandbox, refreshBody(sandbox, login.result.RefreshToken, parameters));
}

sandboxTest("trackDevices: a refresh has the key of a confirmed device, or is refused", {
  trackDevices: true,
}, async ({ sandbox }) => {
  const device = await newDevice(sandbox);
  const { login, deviceKey } = device;
  assertEquals(fault(await refresh(sandbox, login, { DEVICE_KEY: deviceKey })), INVALID);
  assertMatch(fault(await confirm(sandbox, device, 32)), /has 32 bytes, not 376 to 385/);
  const confirmed = await confirm(sandbox, device);
  assertEquals([confirmed.status, confirmed.body], [200, { UserConfirmationNecessary: false }]);
  assertEquals([...sandbox.devices], [{
    username: "student",
    deviceKey,
    name: "notebook of ada",
    confirmed: true,
    verifier: { passwordVerifier: base64(384), salt: base64(16) },
  }]);
  assertEquals(fault(await refresh(sandbox, login)), INVALID);
  const other = await newDevice(sandbox);
  await confirm(sandbox, other);
  assertEquals(fault(await refresh(sandbox, login, { DEVICE_KEY: other.deviceKey })), INVALID);
  const answer = await refresh(sandbox, login, { DEVICE_KEY: deviceKey });
  assertEquals([answer.status, "NewDeviceMetadata" in answer.result], [200, false]);
  assertMatch(fault(await confirm(sandbox, device)), /^400 DeviceKeyExistsException/);
  sandbox.removeDevices();
  assertEquals(
    fault(await refresh(sandbox, login, { DEVICE_KEY: deviceKey })),
    "400 ResourceNotFoundException: Device does not exist.",
  );
});
