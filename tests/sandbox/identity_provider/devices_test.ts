import { assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { type Answer, type Body, fault, refreshBody, sandboxTest, send } from "../requests.ts";
import { enter, operate } from "./steps.ts";

interface NewDevice {
  readonly login: Answer;
  readonly deviceKey: string;
}

/** Logs in from a new device. */
async function newDevice(sandbox: Sandbox): Promise<NewDevice> {
  const login = await enter(sandbox);
  const metadata = login.result.NewDeviceMetadata as unknown as Record<string, string>;
  assertEquals(Object.keys(metadata), ["DeviceKey", "DeviceGroupKey"]);
  return { login, deviceKey: metadata.DeviceKey ?? "" };
}

function confirm(sandbox: Sandbox, { login, deviceKey }: NewDevice, bytes = 384): Promise<Answer> {
  const base64 = (length: number) => new Uint8Array(length).fill(255).toBase64();
  return operate(sandbox, "ConfirmDevice", {
    AccessToken: login.result.AccessToken,
    DeviceKey: deviceKey,
    DeviceName: "notebook of ada",
    DeviceSecretVerifierConfig: { PasswordVerifier: base64(bytes), Salt: base64(16) },
  });
}

sandboxTest("a refresh is accepted only with the key of the confirmed device", {
  trackDevices: true,
}, async ({ sandbox }) => {
  const [device, other] = [await newDevice(sandbox), await newDevice(sandbox)];
  const refresh = (parameters: Body) =>
    send(sandbox, refreshBody(sandbox, device.login.result.RefreshToken, parameters));
  const invalid = "400 NotAuthorizedException: Invalid Refresh Token";
  assertEquals(fault(await refresh({ DEVICE_KEY: device.deviceKey })), invalid);
  assertMatch(fault(await confirm(sandbox, device, 32)), /has 32 bytes, not 376 to 385/);
  const { status, body } = await confirm(sandbox, device);
  assertEquals([status, body], [200, { UserConfirmationNecessary: false }]);
  await confirm(sandbox, other);
  assertEquals(fault(await refresh({})), invalid);
  assertEquals(fault(await refresh({ DEVICE_KEY: other.deviceKey })), invalid);
  const answer = await refresh({ DEVICE_KEY: device.deviceKey });
  assertEquals([answer.status, "NewDeviceMetadata" in answer.result], [200, false]);
  assertMatch(fault(await confirm(sandbox, device)), /^400 DeviceKeyExistsException/);
});
