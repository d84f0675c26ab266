import type { Account } from "../accounts.ts";

/** What a refresh token stands for. */
export interface Grant {
  readonly account: Account;
  readonly authenticatedAt: number;
  readonly originJti: string;
}

/** What came of presenting a refresh token. */
export type RefreshCheck =
  | { ok: true; grant: Grant }
  | { ok: false; reason: "unknown" | "expired" | "revoked" | "replaced" };

interface Entry {
  grant: Grant;
  revoked: boolean;
  replacedAt: number | undefined;
}

/** The opaque refresh tokens that are out, with their lifetime, revocation and rotation. */
export class RefreshTokens {
  #entries = new Map<string, Entry>();
  #options: { lifetimeMs: number; graceMs: number; now: () => number };

  constructor(options: { lifetimeMs: number; graceMs: number; now: () => number }) {
    this.#options = options;
  }

  /** Makes a token; its time runs from the login, so a rotated one gains none. */
  issue(grant: Grant): string {
    const token = crypto.getRandomValues(new Uint8Array(192)).toBase64({ alphabet: "base64url" });
    this.#entries.set(token, { grant, revoked: false, replacedAt: undefined });
    return token;
  }

  check(token: string): RefreshCheck {
    const entry = this.#entries.get(token);
    const { lifetimeMs, graceMs, now } = this.#options;
    if (entry === undefined) return { ok: false, reason: "unknown" };
    if (entry.revoked) return { ok: false, reason: "revoked" };
    if (now() >= entry.grant.authenticatedAt + lifetimeMs) return { ok: false, reason: "expired" };
    if (entry.replacedAt !== undefined && now() >= entry.replacedAt + graceMs) {
      return { ok: false, reason: "replaced" };
    }
    return { ok: true, grant: entry.grant };
  }

  /** Gives the token's successor; the grace runs from the first replacement. */
  rotate(token: string, grant: Grant): string {
    const entry = this.#entries.get(token);
    if (entry !== undefined) entry.replacedAt ??= this.#options.now();
    return this.issue(grant);
  }

  revokeAll(): void {
    for (const entry of this.#entries.values()) entry.revoked = true;
  }
}
