import { ConfigError } from "../errors/errors.ts";
import { Secret } from "../platform/secret.ts";

const KEY_BYTES = 32;
const IV_BYTES = 12;
const BASE64 = { alphabet: "base64url", omitPadding: true } as const;

/** The position of a record in a store. */
export interface RecordPosition {
  /** The name of the record, without line breaks. */
  readonly name: string;
  readonly number: number;
}

/** Makes a key for `AUTH_STORE_KEY`: 256 random bits. */
export function newStoreKey(): string {
  return crypto.getRandomValues(new Uint8Array(KEY_BYTES)).toBase64(BASE64);
}

/**
 * Encrypts a record of a store with AES-GCM. The record can be decrypted only under the name and
 * number for which it was encrypted. Therefore, someone without the key cannot pass off an old
 * record as the latest one to a process that knows a later one.
 */
export class Seal {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** @throws {ConfigError} `INVALID_SETTING` if the text is not a key of 256 bits. */
  static async with(key: Secret): Promise<Seal> {
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      // A key that another program generated may be in plain base64, with padding.
      const text = key.reveal().replaceAll("+", "-").replaceAll("/", "_");
      bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    } catch {
      bytes = new Uint8Array();
    }
    if (bytes.length !== KEY_BYTES) {
      throw new ConfigError(
        "INVALID_SETTING",
        "Cannot use AUTH_STORE_KEY (storeKey): it is not a key of 43 characters",
        "generate one with platform-auth store-key, and set the same key on all machines",
      );
    }
    return new Seal(
      await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]),
    );
  }

  async close(text: Secret, place: RecordPosition): Promise<string> {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const plain = new TextEncoder().encode(text.reveal());
    const sealed = await crypto.subtle.encrypt(paramsOf(iv, place), this.#key, plain);
    return `${iv.toBase64(BASE64)}.${new Uint8Array(sealed).toBase64(BASE64)}`;
  }

  /**
   * @returns `undefined` if the record was encrypted with another key or for another position, or
   * was not encrypted.
   */
  async open(sealed: string, place: RecordPosition): Promise<Secret | undefined> {
    try {
      const [iv = new Uint8Array(), data = new Uint8Array()] = sealed.split(".")
        .map((part) => Uint8Array.fromBase64(part, { alphabet: "base64url" }));
      const plain = await crypto.subtle.decrypt(paramsOf(iv, place), this.#key, data);
      return new Secret(new TextDecoder().decode(plain));
    } catch (error) {
      // The record is not base64, or the key does not fit.
      if (!(error instanceof SyntaxError || error instanceof DOMException)) throw error;
      return undefined;
    }
  }
}

function paramsOf(iv: Uint8Array<ArrayBuffer>, { name, number }: RecordPosition): AesGcmParams {
  const additionalData = new TextEncoder().encode(`${name}\n${number}`);
  return { name: "AES-GCM", iv, additionalData };
}
