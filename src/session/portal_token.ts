import { ConfigError, typeError } from "../errors/errors.ts";

/** Maximum length of the text, in characters. A token has a few thousand. */
const MAX_LENGTH = 1_048_576;

/** Characters that mail programs, terminals and editors put around a string. */
const WRAPPING = /[\s"'`“”‘’«»\u200b\ufeff]/;

/**
 * Extracts the access token from a string that "Copy Token" in the portal copied. Removes the word
 * `bearer`, surrounding quotes, and line breaks that a mail program or a terminal added.
 *
 * @param text The portal string, with or without the leading `bearer `.
 * @throws {TypeError} If the argument is not a string.
 * @throws {ConfigError} `INVALID_PORTAL_TOKEN` if the text is empty, is longer than 1 048 576
 *   characters, or cannot be a token. The message describes the text but never quotes it.
 *
 * @example
 * ```ts
 * import { parsePortalToken } from "@platform-auth/platform-auth";
 *
 * console.log(parsePortalToken(' "bearer abc.def.ghi" ')); // abc.def.ghi
 * ```
 */
export function parsePortalToken(text: string): string {
  return readPortalToken(text);
}

/** Returns the words for the portal in a sentence, with the portal's address if that is set. */
export function portalName(address: string | undefined): string {
  // Callers put a space after the address. A notebook turns the address into a link, of which a
  // comma would become a part.
  return address === undefined ? "the portal" : `the portal ${address}`;
}

/**
 * Does the same as {@linkcode parsePortalToken}.
 *
 * @param address The portal's address, which the error message shows.
 * @throws {ConfigError} `INVALID_PORTAL_TOKEN` if the text is not a portal string.
 */
export function readPortalToken(text: string, address?: string): string {
  const refusal = (why: string) =>
    portalTokenError(`Cannot read the portal token: ${why}`, address);
  if (typeof text !== "string") {
    throw typeError(`Cannot read the portal token: expected a string, not ${typeof text}`);
  }
  if (text.length > MAX_LENGTH) {
    throw refusal(
      `the text is too large: ${text.length} characters, and the limit is ${MAX_LENGTH}`,
    );
  }
  // Each pattern is anchored, so that the running time stays linear.
  const token = unwrapped(text)
    // The text may be a line of a `.env`.
    .replace(/^(export\s+)?ACCESS_TOKEN\s*=[\s"']*/, "")
    .replace(/^(authorization\s*:\s*)?bearer(?![^\s:"'])[\s:"']*/i, "")
    .split(/[\r\n]+/).map((line) => line.trim()).join("");
  if (token === "") throw refusal("the text is empty");
  const strange = token.search(/[^A-Za-z0-9._~+/=-]/);
  if (strange >= 0) {
    throw refusal(`character ${strange + 1} of ${token.length} cannot occur in a token`);
  }
  // An encrypted token, such as a refresh token, has five parts.
  if (token.split(".").length === 5 && token.startsWith("eyJ")) {
    throw refusal("this looks like a refresh token");
  }
  return token;
}

function unwrapped(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && WRAPPING.test(text.charAt(start))) start++;
  while (end > start && WRAPPING.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** The error for a text that is not a portal string. */
export function portalTokenError(problem: string, address: string | undefined): ConfigError {
  return new ConfigError(
    "INVALID_PORTAL_TOKEN",
    problem,
    `choose "Copy Token" in the user menu of ${portalName(address)} and paste the whole string ` +
      "(bearer eyJ…)",
  );
}
