import { createHmac } from "node:crypto";

/** Seconds for which a code is shown. */
const TOTP_SECONDS = 30;

/** Whole seconds until the next code. */
export function totpSecondsLeft(timeMs: number): number {
  return Math.ceil(TOTP_SECONDS - timeMs / 1000 % TOTP_SECONDS);
}

/** The index of the 30-second step that contains a time. */
export function totpStep(timeMs: number): number {
  return Math.floor(timeMs / 1000 / TOTP_SECONDS);
}

/** Computes the code of a step, as in RFC 6238 with SHA-1. */
export function totpCode(key: Uint8Array, step: number, digits = 6): string {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const mac = createHmac("sha1", key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Base32 of RFC 4648 without padding, the format in which authenticator apps accept a secret. */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => BASE32[parseInt(five.padEnd(5, "0"), 2)]).join("");
}

/** Reads base32 as people paste it: possibly in groups, in lower case or with padding. */
function fromBase32(text: string): Uint8Array | undefined {
  const letters = text.toUpperCase().replaceAll(/[\s-]|=+$/g, "");
  if (!/^[A-Z2-7]{16,}$/.test(letters)) return undefined;
  const bits = [...letters].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0"));
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  return Uint8Array.from(bytes, (byte) => parseInt(byte, 2));
}

/**
 * Reads the secret of an authenticator app, as base32 or in an otpauth address. Returns `undefined`
 * if the address has other settings than SHA-1, 6 digits and 30 seconds.
 */
export function authenticatorKey(text: string): Uint8Array | undefined {
  if (!/^otpauth:/i.test(text)) return fromBase32(text);
  const address = URL.parse(text);
  if (address?.host !== "totp") return undefined;
  const parameters: Record<string, string> = Object.fromEntries(address.searchParams);
  const { algorithm = "SHA1", digits = "6", period = "30", secret = "" } = parameters;
  const usual = `${algorithm.toUpperCase()} ${digits} ${period}` === `SHA1 6 ${TOTP_SECONDS}`;
  return usual ? fromBase32(secret) : undefined;
}
