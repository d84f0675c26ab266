import { createHmac, timingSafeEqual } from "node:crypto";

/** SECRET_HASH as section 5.3 defines it. */
export function secretHash(username: string, clientId: string, clientSecret: string): string {
  return createHmac("sha256", clientSecret).update(username + clientId).digest("base64");
}

/** Compares two texts without telling by the time taken where they differ. */
export function sameText(sent: string, expected: string): boolean {
  const left = new TextEncoder().encode(sent);
  const right = new TextEncoder().encode(expected);
  return left.length === right.length && timingSafeEqual(left, right);
}
