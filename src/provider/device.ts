import { Secret } from "../platform/secret.ts";
import type { World } from "../platform/world.ts";
import type { NewDevice } from "./protocol.ts";
import type { Provider } from "./provider.ts";
import { confirmDeviceRequest } from "./requests.ts";
import { send } from "./send.ts";

/** The 3072-bit prime of RFC 5054. */
const PRIME = BigInt(
  "0xFFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD" +
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED" +
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F" +
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B" +
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510" +
    "15728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7" +
    "ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C" +
    "BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF",
);
/** RFC 5054 uses the generator 5 with this prime; the service uses 2, as in RFC 3526. */
const GENERATOR = 2n;

/**
 * Confirms the device that the provider created for a login. Only a login by SRP would need the
 * device's random password, so the password is not saved.
 */
export async function confirmDevice(
  provider: Provider,
  accessToken: Secret,
  device: NewDevice,
  world: World,
  signal: AbortSignal | undefined,
): Promise<void> {
  const password = new Secret(crypto.getRandomValues(new Uint8Array(40)).toBase64());
  // The service does not document whether the salt is read as bytes or as a signed number. With this
  // first byte, both are the same.
  const salt = new Uint8Array([1, ...crypto.getRandomValues(new Uint8Array(15))]);
  const verifier = await deviceVerifier(device, password, salt);
  const request = confirmDeviceRequest(provider, accessToken, device.key, verifier);
  await send(request, world, provider.timeoutMs, { signal });
}

/** The base64 values that a provider stores instead of a device's password. */
export interface DeviceVerifier {
  readonly verifier: string;
  readonly salt: string;
}

/**
 * Computes the SRP verifier of a device's password: g^x, where x is H(salt | H(group | key | ":" |
 * password)) and H is SHA-256.
 */
export async function deviceVerifier(
  { groupKey, key }: NewDevice,
  password: Secret,
  salt: Uint8Array<ArrayBuffer>,
): Promise<DeviceVerifier> {
  const identity = `${groupKey.reveal()}${key.reveal()}:${password.reveal()}`;
  const inner = await sha256(new TextEncoder().encode(identity));
  const x = await sha256(new Uint8Array([...salt, ...inner]));
  const verifier = power(GENERATOR, BigInt(`0x${x.toHex()}`), PRIME);
  return { verifier: signedBytes(verifier).toBase64(), salt: salt.toBase64() };
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = result * result % modulus;
    if (bit === "1") result = result * base % modulus;
  }
  return result;
}

/** Encodes a positive number as signed bytes, with a leading zero byte if the first bit is set. */
function signedBytes(value: bigint): Uint8Array {
  const hex = value.toString(16);
  const whole = hex.length % 2 === 1 ? `0${hex}` : hex;
  return Uint8Array.fromHex(/^[89a-f]/.test(whole) ? `00${whole}` : whole);
}
