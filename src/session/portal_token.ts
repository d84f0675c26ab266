import { counted } from "../errors/amounts.ts";
import { ConfigError, typeError } from "../errors/errors.ts";
import { unseen } from "../errors/escape.ts";
import { isJwt } from "../platform/claims.ts";

/** Minimum length of a token that is not a JWT. Shorter text is more likely to be a word. */
export const SHORTEST_OPAQUE_TOKEN = 20;

/**
 * Matches characters that mail programs, terminals and editors put around a string. The lookbehind
 * keeps the running time linear.
 */
const WRAPPING = /^[\s"'`“”‘’«»]+|(?<![\s"'`“”‘’«»])[\s"'`“”‘’«»]+$/g;

/**
 * Extracts the access token from a string that "Copy Token" in the portal copied. Removes the word
 * `bearer`, surrounding quotes and invisible characters, and line breaks that a mail program or a
 * terminal added. A token that is not a JWT must have the word `bearer` and at least 20
 * characters.
 *
 * @param text The portal string. Only a JWT may lack the leading `bearer `.
 * @throws {TypeError} If the argument is not a string.
 * @throws {ConfigError} `INVALID_PORTAL_TOKEN` if the text is empty or is not a portal string. The
 *   message describes the text but never quotes it.
 *
 * @example
 * ```ts
 * import { parsePortalToken } from "@platform-auth/platform-auth";
 *
 * console.log(parsePortalToken(' "bearer 5f1c0de2a9b84c7f93d1" ')); // 5f1c0de2a9b84c7f93d1
 * ```
 */
export function parsePortalToken(text: string): string {
  return readPortalToken(text);
}

/** Returns the words for the portal in a sentence, with the portal's address if that is set. */
export function portalName(address: string | undefined): string {
  // Callers put a space after the address, because a notebook turns the address into a link, and a
  // comma would become part of the link.
  return address === undefined ? "the portal" : `the portal ${address}`;
}

/**
 * Does the same as {@linkcode parsePortalToken}.
 *
 * @param options.address The portal's address, which the error message shows.
 * @param options.isToken Whether the text is known to be a token, such as a stored one. Such a token
 * may be short, and needs no word `bearer`.
 * @throws {ConfigError} `INVALID_PORTAL_TOKEN` if the text is not a portal string.
 */
export function readPortalToken(
  text: string,
  { address, isToken = false }: { address?: string | undefined; isToken?: boolean } = {},
): string {
  const refusal = (why: string) =>
    portalTokenError(`Cannot read the portal string: ${why}`, address);
  if (typeof text !== "string") {
    throw typeError(`Cannot read the portal string: expected text, not ${typeof text}`);
  }
  const given = text.replace(unseen(), " ").replace(WRAPPING, "");
  const rest = given.replace(/^(authorization\s*:\s*)?bearer(?![^\s:"'])[\s:"']*/i, "");
  const token = rest.split(/[\r\n]+/).map((line) => line.trim()).join("");
  if (token === "") throw refusal("the text is empty");
  const isMeantAsJwt = token.startsWith("eyJ") || isJwt(token);
  // Any other text may be a user name or a password, which must not become a token.
  if (!isToken && !isMeantAsJwt && rest === given) {
    throw refusal('this is not a portal string: a portal string begins with the word "bearer"');
  }
  const strange = token.search(/[^A-Za-z0-9._~+/=-]/);
  if (strange >= 0) {
    throw refusal(`character ${strange + 1} of ${token.length} cannot occur in a token`);
  }
  const parts = token.split(".").filter((part) => part !== "").length;
  // An encrypted token, such as a refresh token, has five parts.
  if (isMeantAsJwt && parts === 5) throw refusal("this looks like a refresh token");
  if (isToken) return token;
  if (isMeantAsJwt && !isJwt(token)) {
    throw refusal(parts < 3 ? "this is only the beginning of a token" : "the token is damaged");
  }
  if (!isMeantAsJwt && token.length < SHORTEST_OPAQUE_TOKEN) {
    throw refusal(`a token of ${counted(token.length, "character")} is too short`);
  }
  return token;
}

/** The error for a text that is not a portal string. */
export function portalTokenError(problem: string, address: string | undefined): ConfigError {
  return new ConfigError(
    "INVALID_PORTAL_TOKEN",
    problem,
    `choose "Copy Token" in the user menu of ${portalName(address)} and paste the whole string ` +
      "(bearer …)",
  );
}
