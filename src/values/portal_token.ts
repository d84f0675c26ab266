import { ConfigError, typeError } from "./errors.ts";

const NEXT_STEP =
  'choose "Copy Token" in the user menu of the portal and paste the whole string (bearer eyJ…)';

/**
 * Turns what the portal's "Copy Token" put on the clipboard (section 2.3 of the API document) into
 * the bare access token. The word `bearer`, quotes around the string, and line breaks that a mail
 * or a terminal put into it are removed.
 *
 * @param text The portal string, with or without the leading `bearer `.
 * @throws {TypeError} If the argument is not a string.
 * @throws {ConfigError} `INVALID_PORTAL_TOKEN` if it is empty or cannot be a token; the message tells what was seen, never the text.
 *
 * @example
 * ```ts
 * import { parsePortalToken } from "@platform-auth/platform-auth";
 *
 * console.log(parsePortalToken(' "bearer abc.def.ghi" ')); // abc.def.ghi
 * ```
 */
export function parsePortalToken(text: string): string {
  if (typeof text !== "string") {
    throw typeError(`Cannot read the portal token: expected a string, not ${typeof text}`);
  }
  const trimmed = text.replace(/^[\s"'`“”‘’«»\u200b\ufeff]+|[\s"'`“”‘’«»\u200b\ufeff]+$/g, "");
  const token = trimmed
    // A line of a .env.
    .replace(/^(export\s+)?ACCESS_TOKEN\s*=[\s"']*/, "")
    .replace(/^(authorization\s*:\s*)?bearer(?![^\s:"'])[\s:"']*/i, "")
    .replace(/[ \t]*[\r\n]+[ \t]*/g, "");
  if (token === "") {
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      `Cannot read the portal token: the text is empty; ${NEXT_STEP}`,
    );
  }
  const odd = token.search(/[^A-Za-z0-9._~+/=-]/);
  if (odd >= 0) {
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      `Cannot read the portal token: character ${odd + 1} of ${token.length} is ${
        describe(token.charCodeAt(odd))
      }, which no token holds; ${NEXT_STEP}`,
    );
  }
  // Five parts are an encrypted token: that is how refresh tokens look.
  if (token.split(".").length === 5 && token.startsWith("eyJ")) {
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      `Cannot read the portal token: this looks like a refresh token; ${NEXT_STEP}`,
    );
  }
  return token;
}

function describe(code: number): string {
  if (code === 0x20 || code === 0x09) return "a space";
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return "a control character";
  return code > 0x7f ? "not an ASCII character" : "a punctuation mark";
}
