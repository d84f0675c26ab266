/**
 * One key for the sandboxes of all tests: making an RSA key takes a quarter of a second, and each file
 * of tests would make one. Import it for its effect, before a sandbox signs. The key is good for nothing
 * else.
 */
import KEY from "../data/sandbox_key.json" with { type: "json" };

const { subtle } = crypto;
const generateKey = subtle.generateKey.bind(subtle);

async function keyOfAll(): Promise<CryptoKeyPair> {
  const { kty, n, e } = KEY;
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  return {
    privateKey: await subtle.importKey("jwk", KEY, algorithm, true, ["sign"]),
    publicKey: await subtle.importKey("jwk", { kty, n, e }, algorithm, true, ["verify"]),
  };
}

Object.assign(subtle, {
  generateKey: (...given: Parameters<typeof generateKey>) =>
    "modulusLength" in Object(given[0]) ? keyOfAll() : generateKey(...given),
});
