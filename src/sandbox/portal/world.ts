/** What the portal needs from the rest of the sandbox: accounts, tokens, a clock and names. */
export interface PortalWorld {
  /** Checks a password with the same rules as the token endpoint, lockout included. */
  authenticate(
    username: string,
    password: string,
  ): Promise<{ ok: true; username: string } | { ok: false; lockedSeconds?: number }>;
  /** Issues a bare access token, without the word `bearer`, for a user that is signed in. */
  issueAccessToken(username: string): Promise<{ accessToken: string; expiresAt: Date }>;
  /** Milliseconds since 1970, from the clock of the sandbox. */
  now(): number;
  /** Name of the platform, shown as the title of the pages. */
  platformName: string;
  /** Data sets to list after the sign-in; `path` is relative to {@linkcode PortalWorld.apiUrl}. */
  datasets: { name: string; description: string; path: string }[];
  /** Origin of the data platform API. */
  apiUrl: string;
}
