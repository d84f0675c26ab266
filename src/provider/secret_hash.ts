import { typeError } from "../errors/errors.ts";

/**
 * Computes the SECRET_HASH of a request to the provider: the HMAC-SHA-256 of the user name followed
 * by the app client id, with the app client secret as the key, in base64.
 *
 * @param username The user name; for a refresh, the name in the access token.
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
      "Cannot compute SECRET_HASH: clientSecret is empty; a public client needs no SECRET_HASH",
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
