import type { Account } from "../accounts.ts";
import { addEntry } from "../records.ts";

/** The login to which a refresh token belongs. */
export interface Grant {
  readonly account: Account;
  readonly authenticatedAt: number;
  readonly originJti: string;
  /** The device that logged in, if devices are tracked. */
  readonly deviceKey?: string | undefined;
}

/** The reason why a refresh token is refused. */
export type RefreshRefusal = "unknown" | "expired" | "revoked" | "replaced";

/** Result of checking a refresh token. */
export type RefreshCheck = { ok: true; grant: Grant } | { ok: false; reason: RefreshRefusal };

/** The refresh tokens of one login. */
interface Family {
  readonly grant: Grant;
  revoked: boolean;
  /** The first and the most recent token. */
  original: string;
  newest: string;
}

interface Entry {
  readonly family: Family;
  /** Time at which the first successor of the token was issued. */
  replacedAt?: number;
  /** The newest token that replaced this one. */
  successor?: Entry;
  /** Whether the previous token was used again and has a newer successor. */
  outdated: boolean;
}

/** All issued refresh tokens, with their lifetime, revocation and rotation. */
export class RefreshTokens {
  #entries = new Map<string, Entry>();
  #families = new Map<string, Family>();
  #options: { lifetimeMs: number; graceMs: number; now: () => number };

  constructor(options: { lifetimeMs: number; graceMs: number; now: () => number }) {
    this.#options = options;
  }

  /** Issues the refresh token of a login. */
  issue(grant: Grant): string {
    const family: Family = { grant, revoked: false, original: "", newest: "" };
    addEntry(this.#families, grant.originJti, family);
    return this.#add({ family, outdated: false });
  }

  check(token: string): RefreshCheck {
    const entry = this.#entries.get(token);
    const { lifetimeMs, graceMs, now } = this.#options;
    if (entry === undefined) return { ok: false, reason: "unknown" };
    const { grant, revoked } = entry.family;
    if (revoked) return { ok: false, reason: "revoked" };
    if (now() >= grant.authenticatedAt + lifetimeMs) return { ok: false, reason: "expired" };
    const graceIsOver = entry.replacedAt !== undefined && now() >= entry.replacedAt + graceMs;
    if (entry.outdated || graceIsOver) return { ok: false, reason: "replaced" };
    return { ok: true, grant };
  }

  /**
   * Replaces a token. The lifetime of the new token also starts at the login. In the grace period,
   * a token can be replaced again. Its earlier successors then stop working.
   */
  rotate(token: string, grant: Grant): string {
    const entry = this.#entries.get(token);
    if (entry === undefined) return this.issue(grant);
    const next: Entry = { family: entry.family, outdated: false };
    for (let old = entry.successor; old !== undefined; old = old.successor) old.outdated = true;
    entry.replacedAt ??= this.#options.now();
    entry.successor = next;
    return this.#add(next);
  }

  /** Revokes the tokens issued so far to one account, or to all accounts. */
  revoke(account?: Account): void {
    for (const { family } of this.#entries.values()) {
      if (account === undefined || family.grant.account === account) family.revoked = true;
    }
  }

  /**
   * Ends the login to which a token belongs, if the token is the first or the newest token of the
   * login. Any other token changes nothing.
   */
  revokeToken(token: string): void {
    const family = this.#entries.get(token)?.family;
    if (family === undefined) return;
    if (token === family.original || token === family.newest) family.revoked = true;
  }

  /** Whether the login with this `origin_jti` was ended. */
  isRevoked(originJti: unknown): boolean {
    return typeof originJti === "string" && this.#families.get(originJti)?.revoked === true;
  }

  #add(entry: Entry): string {
    const token = crypto.getRandomValues(new Uint8Array(192)).toBase64({ alphabet: "base64url" });
    entry.family.original ||= token;
    entry.family.newest = token;
    addEntry(this.#entries, token, entry);
    return token;
  }
}
