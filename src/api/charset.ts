/** Decodes bodies in the charset that a response declares. */

/** Returns the charset that a response declares; UTF-8 if it declares none. */
export function charsetOf(headers: Headers): string {
  const type = headers.get("content-type") ?? "";
  // Two servers may each have added a content type, so a comma ends the value.
  return /;\s*charset\s*=\s*["']?([^\s;,"']+)/i.exec(type)?.[1] ?? "utf-8";
}

/** Decodes a body. Returns `undefined` if the body is not text in the charset of the response. */
export function strictText(bytes: Uint8Array, headers: Headers): string | undefined {
  if (bytes.length === 0) return "";
  try {
    return new TextDecoder(charsetOf(headers), { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Decodes a body for an error message. Replaces bytes that are not text with a replacement
 * character. Returns an empty text if the runtime does not know the charset.
 */
export function lenientText(bytes: Uint8Array, headers: Headers): string {
  try {
    return new TextDecoder(charsetOf(headers)).decode(bytes);
  } catch {
    return "";
  }
}

/** Whether a decoded body is text. If not, a message must not quote it. */
export function isText(decoded: string): boolean {
  // deno-lint-ignore no-control-regex -- control characters other than blanks and ESC
  return !/[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd]/.test(decoded);
}
