import type { Account } from "../accounts.ts";
import { addEntry } from "../records.ts";

/** The login that a refresh token belongs to. */
export interface Grant {
  readonly account: Account;
  readonly authenticatedAt: number;
  readonly originJti: string;
}

/** Result of a check of a refresh token. */
export type RefreshCheck =
  | { ok: true; grant: Grant }
  | { ok: false; reason: "unknown" | "expired" | "revoked" | "replaced" };

interface Entry {
  readonly grant: Grant;
  revoked: boolean;
  /** When the first successor was issued. */
  replacedAt?: number;
  /** The newest successor. */
  successor?: Entry;
  /** Its predecessor was used again and has a newer successor. */
  outdated: boolean;
}

/** The refresh tokens issued so far, with lifetime, revocation and rotation. */
export class RefreshTokens {
  #entries = new Map<string, Entry>();
  #options: { lifetimeMs: number; graceMs: number; now: () => number };

  constructor(options: { lifetimeMs: number; graceMs: number; now: () => number }) {
    this.#options = options;
  }

  /** Makes the refresh token of a login. Only the newest tokens are kept. */
  issue(grant: Grant): string {
    return this.#add({ grant, revoked: false, outdated: false });
  }

  check(token: string): RefreshCheck {
    const entry = this.#entries.get(token);
    const { lifetimeMs, graceMs, now } = this.#options;
    if (entry === undefined) return { ok: false, reason: "unknown" };
    if (entry.revoked) return { ok: false, reason: "revoked" };
    if (now() >= entry.grant.authenticatedAt + lifetimeMs) return { ok: false, reason: "expired" };
    const graceIsOver = entry.replacedAt !== undefined && now() >= entry.replacedAt + graceMs;
    if (entry.outdated || graceIsOver) return { ok: false, reason: "replaced" };
    return { ok: true, grant: entry.grant };
  }

  /**
   * Replaces a token. The lifetime of the new one still counts from the login. If the token was
   * replaced before, within the grace, its earlier successors stop working.
   */
  rotate(token: string, grant: Grant): string {
    const next: Entry = { grant, revoked: false, outdated: false };
    const entry = this.#entries.get(token);
    if (entry !== undefined) {
      for (let old = entry.successor; old !== undefined; old = old.successor) old.outdated = true;
      entry.replacedAt ??= this.#options.now();
      entry.successor = next;
    }
    return this.#add(next);
  }

  /** Revokes the tokens issued so far, of one account or of all. */
  revoke(account?: Account): void {
    for (const entry of this.#entries.values()) {
      if (account === undefined || entry.grant.account === account) entry.revoked = true;
    }
  }

  #add(entry: Entry): string {
    const token = crypto.getRandomValues(new Uint8Array(192)).toBase64({ alphabet: "base64url" });
    addEntry(this.#entries, token, entry);
    return token;
  }
}
