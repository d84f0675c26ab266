import type { Account } from "../accounts.ts";
import type { SandboxConfig } from "../options.ts";
import { addRecord } from "../records.ts";
import type { Grant } from "./refresh_tokens.ts";
import {
  type Fields,
  invalidParameter,
  requiredFields,
  requiredText,
  ServiceError,
} from "./wire_format.ts";

/** A device from which a user logged in. */
export interface Device {
  /** The user name in the pool. */
  username: string;
  /** The key that each refresh from this device must contain. */
  deviceKey: string;
  /** The name that the client sent in ConfirmDevice. */
  name?: string;
  /** Whether ConfirmDevice was called for the device. Until then, its refreshes are refused. */
  confirmed: boolean;
  /**
   * The values that ConfirmDevice received, in base64, so that a test can check how a client
   * computed them.
   */
  verifier?: { passwordVerifier: string; salt: string };
}

/** The part of a login's response that describes a new device. */
interface DeviceMetadata {
  DeviceKey: string;
  DeviceGroupKey: string;
}

// Accepted lengths of a verifier. A verifier is a number below a 3072-bit prime, so it has 384
// bytes. Java's BigInteger adds a sign byte, and leading zeros may be missing.
const VERIFIER_BYTES = { least: 376, most: 385 };
const SALT_BYTES = { least: 16, most: 64 };

/** The devices of all users. */
export class Devices {
  readonly list: Device[] = [];
  readonly #track: SandboxConfig["trackDevices"];
  readonly #group = `-${crypto.randomUUID().slice(0, 8)}`;

  constructor(track: SandboxConfig["trackDevices"]) {
    this.#track = track;
  }

  /**
   * Returns the device of a login: the device that the request names, or a new device.
   *
   * @throws {ServiceError} If the request names a device that does not belong to the user.
   */
  atLogin(
    { username }: Account,
    known: string | undefined,
  ): { deviceKey: string; metadata?: DeviceMetadata } | undefined {
    if (this.#track === false) return undefined;
    if (known !== undefined) return this.#find(username, known);
    const deviceKey = `sandbox-1_${crypto.randomUUID()}`;
    addRecord(this.list, { username, deviceKey, confirmed: false });
    if (this.#track === "withheld") return { deviceKey };
    return { deviceKey, metadata: { DeviceKey: deviceKey, DeviceGroupKey: this.#group } };
  }

  /**
   * Whether a refresh contains the key of the device that logged in, and this device is confirmed.
   *
   * @throws {ServiceError} If the device was removed.
   */
  allows({ account, deviceKey }: Grant, sent: string | undefined): boolean {
    if (deviceKey === undefined) return true;
    return sent === deviceKey && this.#find(account.username, deviceKey).confirmed;
  }

  /**
   * Confirms a device of a user.
   *
   * @throws {ServiceError} If there is no such device, or a field is invalid.
   */
  confirm({ username }: Account, body: Fields): Fields {
    const device = this.#find(username, requiredText(body, "DeviceKey"));
    const name = requiredText(body, "DeviceName");
    const config = requiredFields(body, "DeviceSecretVerifierConfig");
    const verifier = {
      passwordVerifier: base64Field(config, "PasswordVerifier", VERIFIER_BYTES),
      salt: base64Field(config, "Salt", SALT_BYTES),
    };
    if (device.confirmed) {
      throw new ServiceError("DeviceKeyExistsException", "Device is already confirmed.");
    }
    Object.assign(device, { name, confirmed: true, verifier });
    return { UserConfirmationNecessary: this.#track === "ask" };
  }

  /**
   * Forgets all devices, as if they had been removed elsewhere, for example in the provider's
   * console.
   */
  removeAll(): void {
    this.list.length = 0;
  }

  #find(username: string, deviceKey: string): Device {
    const device = this.list.find((each) =>
      each.username === username && each.deviceKey === deviceKey
    );
    if (device !== undefined) return device;
    throw new ServiceError("ResourceNotFoundException", "Device does not exist.");
  }
}

function base64Field(
  fields: Fields,
  name: string,
  { least, most }: { least: number; most: number },
): string {
  const text = requiredText(fields, name);
  let length: number;
  try {
    length = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" }).length;
  } catch {
    throw invalidParameter(`${name} is not base64`);
  }
  if (length >= least && length <= most) return text;
  throw invalidParameter(`${name} has ${length} bytes, not ${least} to ${most}`);
}
