/** Makes a key for an encrypted store, as `openssl rand -base64 32` prints it. */
export function newStoreKey(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64();
}
