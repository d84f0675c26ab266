import type { Account } from "../accounts.ts";
import { addEntry } from "../records.ts";

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
  readonly grant: Grant;
  revoked: boolean;
  /** When the first successor was issued. */
  replacedAt?: number;
  /** The newest successor. */
  successor?: Entry;
  /** A later use of its predecessor made another successor. */
  outdated: boolean;
}

/** The opaque refresh tokens that are out, with their lifetime, revocation and rotation. */
export class RefreshTokens {
  #entries = new Map<string, Entry>();
  #options: { lifetimeMs: number; graceMs: number; now: () => number };

  constructor(options: { lifetimeMs: number; graceMs: number; now: () => number }) {
    this.#options = options;
  }

  /** Makes the refresh token of a login; of many tokens only the newest are known. */
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
   * Gives a token's successor, whose time still runs from the login. A second successor, within the
   * grace of the first one, puts the first and all that came of it out of use.
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

  /** Revokes the tokens so far, of one account or of all. */
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
