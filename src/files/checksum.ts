/**
 * Returns the FNV-1a hash of a text. It is not a protection: anyone can find another text with the
 * same hash. The hashes of the Web Crypto API are only asynchronous.
 */
export function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
