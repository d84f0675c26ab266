/** What an access token says of itself, read without checking its signature: to plan with, not to trust. */
export interface Claims {
  /** Issued at, seconds since 1970 by the provider's clock. */
  readonly iat?: number;
  /** Expires at, seconds since 1970 by the provider's clock. */
  readonly exp?: number;
  readonly sub?: string;
  readonly username?: string;
  readonly clientId?: string;
  readonly tokenUse?: string;
}

/** Reads the claims of a JWT; an opaque or odd token has none, which is not an error. */
export function readClaims(token: string): Claims {
  const parts = token.split(".");
  if (parts.length !== 3) return {};
  let claims: unknown;
  try {
    const bytes = Uint8Array.fromBase64(parts[1] ?? "", { alphabet: "base64url" });
    claims = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
  if (typeof claims !== "object" || claims === null) return {};
  const found = claims as Record<string, unknown>;
  return {
    ...number("iat", found.iat),
    ...number("exp", found.exp),
    ...text("sub", found.sub),
    ...text("username", found.username),
    ...text("clientId", found.client_id),
    ...text("tokenUse", found.token_use),
  };
}

/** Instants after the year 9999 do not fit a `Date` that ISO text can tell. */
const LATEST_SECONDS = 253_402_300_799;

function number(name: string, value: unknown): Record<string, number> {
  const usable = typeof value === "number" && value >= 0 && value <= LATEST_SECONDS;
  return usable ? { [name]: value } : {};
}

function text(name: string, value: unknown): Record<string, string> {
  return typeof value === "string" && value !== "" ? { [name]: value } : {};
}
