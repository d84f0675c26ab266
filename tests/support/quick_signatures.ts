/**
 * Quick keys and signatures for the sandboxes of tests: an RSA key takes a quarter of a second, an RSA
 * signature two milliseconds, and tests need thousands. Nobody else checks these tokens, so a keyed
 * hash is enough. `access_token_test.ts` tests real signatures. Import this module for its effect.
 */
const { subtle } = crypto;
const signOther = subtle.sign.bind(subtle);

const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
/** The length of an RSA signature with a key of 2,048 bits. */
const BITS = 2_048;
const secret = await subtle.importKey("raw", new Uint8Array(32), "HKDF", false, ["deriveBits"]);

function quickSignature(data: BufferSource): Promise<ArrayBuffer> {
  const keyed = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: data };
  return subtle.deriveBits(keyed, secret, BITS);
}

const n = new Uint8Array(BITS / 8).fill(255).toBase64({ alphabet: "base64url", omitPadding: true });
const jwk = { kty: "RSA", n, e: "AQAB" };
const publicKey = await subtle.importKey("jwk", jwk, RSA, true, ["verify"]);
const privateKey = {
  [Symbol.toStringTag]: "CryptoKey",
  type: "private",
  usages: ["sign"],
  algorithm: publicKey.algorithm,
};

// Only sandboxes make pairs of keys and check signatures. Secret hashes are also signatures.
Object.assign(subtle, {
  generateKey: () => Promise.resolve({ privateKey, publicKey }),
  sign: (...given: Parameters<typeof signOther>) =>
    Object(given[0]).name === RSA.name ? quickSignature(given[2]) : signOther(...given),
  verify: async (_: unknown, _key: unknown, signature: Uint8Array, data: BufferSource) =>
    new Uint8Array(await quickSignature(data)).toBase64() === signature.toBase64(),
});
