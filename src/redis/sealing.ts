import { ConfigError } from "../errors/errors.ts";
import { recordIn } from "./record.ts";
import type { SessionRecord, SessionStore } from "../settings/session_store.ts";

const KEY_BYTES = 32;
const IV_BYTES = 12;
const BASE64 = { alphabet: "base64url", omitPadding: true } as const;
/** The version of the encrypted text. Text of another version cannot be decrypted. */
const VERSION = "platform-auth:3";

/**
 * Encrypts the record of any store with AES-GCM. The store then contains the record
 * `{ SEALED: "…" }`, or `{}` after a logout. Someone who can read the store, but does not have the
 * key, cannot read the tokens. Someone who can write to the store can put an earlier record back,
 * but cannot make a new one.
 *
 * A record that was not encrypted with this key contains no session: calls fail, and the next login
 * replaces it.
 *
 * @example
 * ```ts ignore
 * import { sealed } from "@platform-auth/platform-auth/redis";
 * configure({ store: sealed(inTable("session.db"), key) }); // a store of your own
 * ```
 *
 * @param key 32 bytes in base64, such as from `openssl rand -base64 32`.
 * @param name The session's name, if one key encrypts several. A record can be read only under the
 * name for which it was encrypted.
 * @throws {ConfigError} `INVALID_SETTING` if the text is not such a key.
 */
export function sealed(store: SessionStore, key: string, name = ""): SessionStore {
  const imported = importedKey(key);
  return {
    read: async (signal) => await opened(await store.read(signal), await imported, name),
    async lock(signal) {
      const lock = await store.lock(signal);
      return {
        write: async (record, signal) =>
          await lock.write(await closed(record, await imported, name), signal),
        [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose](),
      };
    },
  };
}

function importedKey(key: string): Promise<CryptoKey> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    // A key that another program generated may be in plain base64, with padding.
    const text = key.replaceAll("+", "-").replaceAll("/", "_");
    bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    bytes = new Uint8Array();
  }
  if (bytes.length !== KEY_BYTES) {
    throw new ConfigError(
      "INVALID_SETTING",
      "Cannot use the key of the store (AUTH_STORE_KEY): it is not 32 bytes in base64",
      "make a key with openssl rand -base64 32, and set the same key on all machines",
    );
  }
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

async function closed(record: SessionRecord, key: CryptoKey, name: string): Promise<SessionRecord> {
  if (Object.keys(record).length === 0) return record;
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const text = new TextEncoder().encode(JSON.stringify(record));
  const data = new Uint8Array(await crypto.subtle.encrypt(paramsOf(iv, name), key, text));
  return { SEALED: `${iv.toBase64(BASE64)}.${data.toBase64(BASE64)}` };
}

async function opened(
  record: SessionRecord | undefined,
  key: CryptoKey,
  name: string,
): Promise<SessionRecord | undefined> {
  if (record === undefined || Object.keys(record).length === 0) return record;
  const { SEALED = "" } = record;
  try {
    const [iv = new Uint8Array(), data = new Uint8Array()] = SEALED.split(".")
      .map((part) => Uint8Array.fromBase64(part, { alphabet: "base64url" }));
    const text = await crypto.subtle.decrypt(paramsOf(iv, name), key, data);
    return recordIn(new TextDecoder().decode(text)) ?? { SEALED };
  } catch (error) {
    // The text is not base64, or the key does not fit.
    if (!(error instanceof SyntaxError || error instanceof DOMException)) throw error;
    // Any other line, such as a token, is dropped, because someone without the key added it.
    return { SEALED };
  }
}

function paramsOf(iv: Uint8Array<ArrayBuffer>, name: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(`${VERSION}:${name}`) };
}
