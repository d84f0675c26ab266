import { typeError } from "../errors/errors.ts";

/**
 * Computes SECRET_HASH (section 5.3 of the API document): HMAC with SHA-256 over the user name
 * immediately followed by the app client id, keyed with the app client secret, base64-encoded.
 *
 * @param username The login name, or on a refresh the name that the provider knows.
 * @param clientId The app client id of the subscription.
 * @param clientSecret The app client secret of the subscription; must not be empty.
 * @throws {TypeError} If an argument is not a string, or the secret is empty.
 *
 * @example
 * ```ts
 * import { computeSecretHash } from "@platform-auth/platform-auth";
 *
 * const hash = await computeSecretHash("ada", "example-client", "example-secret");
 * console.log(hash.length); // 44: 32 bytes in base64
 * ```
 */
export async function computeSecretHash(
  username: string,
  clientId: string,
  clientSecret: string,
): Promise<string> {
  for (const [name, value] of Object.entries({ username, clientId, clientSecret })) {
    if (typeof value !== "string") {
      throw typeError(
        `Cannot compute SECRET_HASH: ${name} must be a string, not ${typeof value}`,
      );
    }
  }
  if (clientSecret === "") {
    throw typeError(
      "Cannot compute SECRET_HASH: clientSecret is empty; a public client has none",
    );
  }
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey(
    "raw",
    encoder.encode(clientSecret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(username + clientId));
  return new Uint8Array(mac).toBase64();
}
