import { createHmac, timingSafeEqual } from "../node_crypto.ts";
import { CLIENT_ID, type SandboxConfig } from "../options.ts";
import {
  type Fields,
  notAuthorized,
  optionalText,
  requiredText,
  ServiceError,
} from "./wire_format.ts";

/** SECRET_HASH as section 5.3 defines it. */
function secretHash(username: string, clientId: string, clientSecret: string): string {
  return createHmac("sha256", clientSecret).update(username + clientId).digest("base64");
}

/** Compares two strings in constant time, so that the time does not reveal where they differ. */
export function sameText(sent: string, expected: string): boolean {
  const left = new TextEncoder().encode(sent);
  const right = new TextEncoder().encode(expected);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Refuses a request from another app client. */
export function checkClient(body: Fields): void {
  const clientId = requiredText(body, "ClientId");
  if (clientId !== CLIENT_ID) {
    throw new ServiceError(
      "ResourceNotFoundException",
      `User pool client ${clientId} does not exist.`,
    );
  }
}

/** Checks SECRET_HASH, which must have been computed with this user name. */
export function checkSecretHash(
  config: SandboxConfig,
  sent: string | undefined,
  username: string,
  rule: { required: boolean; mismatch: string },
): void {
  if (sent === undefined) {
    if (!rule.required) return;
    throw notAuthorized(
      `Client ${CLIENT_ID} is configured with secret but SECRET_HASH was not received`,
    );
  }
  const secret = config.clientSecret;
  if (secret === undefined || !sameText(sent, secretHash(username, CLIENT_ID, secret))) {
    throw notAuthorized(rule.mismatch);
  }
}

/** Checks the client secret of an operation that sends it in plain text. */
export function checkClientSecret({ clientSecret }: SandboxConfig, body: Fields): void {
  const sent = optionalText(body, "ClientSecret");
  if (clientSecret !== undefined && sent === undefined) {
    throw notAuthorized(
      `Client ${CLIENT_ID} is configured for secret but secret was not received`,
    );
  }
  if (sent !== undefined && (clientSecret === undefined || !sameText(sent, clientSecret))) {
    throw notAuthorized(`Unable to verify secret for client ${CLIENT_ID}`);
  }
}
