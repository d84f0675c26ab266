import { Secret } from "../../values/secret.ts";
import { linesOf } from "../stored_tokens.ts";
import { REFRESH_DAYS, type Tokens } from "../../values/tokens.ts";

const DAY_MS = 86_400_000;
const DAYS_MS = REFRESH_DAYS * DAY_MS;

/** Tokens as they are kept: what a `.env` has as lines, as JSON. */
export function textOf(tokens: Tokens): Secret {
  return new Secret(JSON.stringify(Object.fromEntries(linesOf(tokens))));
}

/** Until when tokens are kept: about as long as the refresh token is good; an access token alone, as long as that is. */
export function keepMsOf(tokens: Tokens | undefined, now: number): number {
  const { authenticatedAt = now, expiresAt, refreshToken } = tokens ?? {};
  const leftMs = (refreshToken ? authenticatedAt + DAYS_MS : expiresAt ?? Infinity) - now;
  // The 30 days are an estimate, and over only if the provider says so.
  const isKept = leftMs === Infinity || (refreshToken && leftMs < DAY_MS);
  return Math.ceil(isKept ? DAYS_MS : Math.max(leftMs, 60_000));
}

/** The lines that were kept as JSON; `undefined` if it is something else. */
export function linesIn(text: string): Record<string, string | undefined> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isLines = typeof value === "object" && value !== null &&
      Object.values(value).every((each) => typeof each === "string");
    return isLines ? value as Record<string, string> : undefined;
  } catch {
    return undefined;
  }
}
