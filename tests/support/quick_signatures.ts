/**
 * Fast signatures for sandboxes without a port. An RSA signature takes two milliseconds, each login
 * needs two, and tests make thousands of these sandboxes. Nobody else checks such a sandbox's tokens,
 * so a keyed hash is enough. `tests/sandbox` tests real signatures.
 */
const { subtle } = crypto;
const [signRsa, verifyRsa] = [subtle.sign.bind(subtle), subtle.verify.bind(subtle)];

const HMAC = { name: "HMAC", hash: "SHA-256" };
const key = await subtle.importKey("raw", new Uint8Array(32), HMAC, false, ["sign"]);
/** The length of an RSA signature with a key of 2,048 bits, in bytes. */
const LENGTH = 256;

function isRsa(algorithm: unknown): boolean {
  const name = typeof algorithm === "string" ? algorithm : Reflect.get(Object(algorithm), "name");
  return name === "RSASSA-PKCS1-v1_5";
}

async function quickSignature(data: BufferSource): Promise<ArrayBuffer> {
  const hash = new Uint8Array(await signRsa(HMAC, key, data));
  const signature = new Uint8Array(LENGTH);
  for (let at = 0; at < LENGTH; at += hash.length) signature.set(hash, at);
  return signature.buffer;
}

Object.assign(subtle, {
  sign: (...given: Parameters<typeof signRsa>) =>
    isRsa(given[0]) ? quickSignature(given[2]) : signRsa(...given),
  verify: async (...given: Parameters<typeof verifyRsa>) => {
    if (!isRsa(given[0])) return await verifyRsa(...given);
    const expected = new Uint8Array(await quickSignature(given[3])).toBase64();
    const bytes = ArrayBuffer.isView(given[2])
      ? new Uint8Array(given[2].buffer, given[2].byteOffset, given[2].byteLength)
      : new Uint8Array(given[2]);
    return bytes.toBase64() === expected;
  },
});
