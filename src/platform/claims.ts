/**
 * The claims of an access token. The token's signature is not checked, so the claims may decide
 * when to refresh, but they prove nothing.
 */
export interface Claims {
  /** Issued at, seconds since 1970 by the provider's clock. */
  readonly iat?: number;
  /** Expires at, seconds since 1970 by the provider's clock. */
  readonly exp?: number;
  readonly sub?: string;
  readonly username?: string;
  readonly clientId?: string;
  readonly tokenUse?: string;
  /** Scopes, separated by spaces. */
  readonly scope?: string;
}

/** Reads the claims of a JWT. An opaque or invalid token has no claims, which is not an error. */
export function readClaims(token: string): Claims {
  const [, payload = "", ...others] = token.split(".");
  const found = others.length === 1 ? membersIn(payload) : undefined;
  if (found === undefined) return {};
  return {
    ...number("iat", found.iat),
    ...number("exp", found.exp),
    ...text("sub", found.sub),
    ...text("username", found.username),
    ...text("clientId", found.client_id),
    ...text("tokenUse", found.token_use),
    ...text("scope", found.scope),
  };
}

/** Whether a text has the form of a JWT: three parts in base64url, the first two of which are JSON. */
export function isJwt(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 3 && parts.every((part) => /^[\w-]+$/.test(part)) &&
    parts.slice(0, 2).every((part) => membersIn(part) !== undefined);
}

/** Reads the JSON object in a part of a JWT. */
function membersIn(part: string): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.fromBase64(part, { alphabet: "base64url" });
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}

/** The end of the year 9999, after which times have no ordinary ISO text. */
const LATEST_SECONDS = 253_402_300_799;

function number(name: string, value: unknown): Record<string, number> {
  const usable = typeof value === "number" && value >= 0 && value <= LATEST_SECONDS;
  return usable ? { [name]: value } : {};
}

function text(name: string, value: unknown): Record<string, string> {
  return typeof value === "string" && value !== "" ? { [name]: value } : {};
}
