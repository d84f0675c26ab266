/**
 * One key for the sandboxes of all tests of a user: making an RSA key takes a quarter of a second, and
 * each test file would make one. The first file that needs the key saves it in the system's folder for
 * temporary files. Import this module for its effect, before a sandbox signs.
 */
const { subtle } = crypto;
const generateKey = subtle.generateKey.bind(subtle);

const ALGORITHM = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const FOLDER = Deno.env.get("TMPDIR") ?? Deno.env.get("TEMP") ?? "/tmp";
const FILE = `${FOLDER}/platform-auth-tests-key-${Deno.uid()}.json`;

async function keyOfAll(): Promise<CryptoKeyPair> {
  const key = await readKey() ?? await makeKey();
  const { kty, n, e } = key;
  return {
    privateKey: await subtle.importKey("jwk", key, ALGORITHM, true, ["sign"]),
    publicKey: await subtle.importKey("jwk", { kty, n, e } as JsonWebKey, ALGORITHM, true, [
      "verify",
    ]),
  };
}

async function readKey(): Promise<JsonWebKey | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(FILE));
  } catch {
    return undefined;
  }
}

/** Makes and saves the key. The file appears only once complete, because test files run side by side. */
async function makeKey(): Promise<JsonWebKey> {
  const parameters = { modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]) };
  const { privateKey } = await generateKey(
    { ...ALGORITHM, ...parameters },
    true,
    ["sign", "verify"],
  );
  const key = await subtle.exportKey("jwk", privateKey);
  const own = `${FILE}.${crypto.randomUUID()}`;
  await Deno.writeTextFile(own, JSON.stringify(key), { mode: 0o600 });
  await Deno.rename(own, FILE);
  return key;
}

Object.assign(subtle, {
  generateKey: (...given: Parameters<typeof generateKey>) =>
    "modulusLength" in Object(given[0]) ? keyOfAll() : generateKey(...given),
});
