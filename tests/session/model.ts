/** The expected behavior of sessions on one `.env`: a second, very simple implementation. */

export interface Held {
  readonly access: string;
  readonly refresh: string | undefined;
  readonly issuedAt: number;
}

/** The knowledge of one session. */
interface Memory {
  held: Held | undefined;
  /** The file as this session last read or wrote it. */
  seen: Held | undefined;
  /** Why it ended. */
  ended: string | undefined;
  replaced: string | undefined;
  /** The token to which the API responded with 401. */
  rejected: string | undefined;
  restUntil: number;
}

export const LIFETIME = 1_800;
/** Before its end a token is replaced; the exact moment is left to chance, and the tests keep off it. */
const LEAD = 180;
const REST = 30;

/** Outcome of a call: a status, or the code of an error. */
export type Outcome = string;

export class SessionModel {
  now = 0;
  file: Held | undefined;
  readonly live = new Set<string>();
  /** Refresh tokens that others took the place of. */
  readonly spent = new Set<string>();
  /** Tokens that the API rejects. */
  readonly dead = new Set<string>();
  readonly issued: string[] = [];
  logins = 0;
  refreshes = 0;
  /** The fate of the next refresh. */
  trouble: "none" | "down" | "lost" = "none";
  readonly #memories = new Map<number, Memory>();
  readonly #rotating: boolean;
  /** Gives the tokens that a real session just got: their names are the provider's choice. */
  readonly #fresh: () => Held;

  constructor(rotating: boolean, fresh: () => Held) {
    this.#rotating = rotating;
    this.#fresh = fresh;
  }

  login(session: number): Outcome {
    this.logins++;
    this.#memories.delete(session);
    this.#save(this.#load(session));
    return "valid";
  }

  logout(session: number): Outcome {
    this.file = undefined;
    this.#memories.delete(session);
    this.#load(session);
    return "done";
  }

  crash(session: number): void {
    this.#memories.delete(session);
  }

  refresh(session: number): Outcome {
    const memory = this.#load(session);
    this.#catchUp(memory);
    return this.#renew(memory) ?? "valid";
  }

  call(session: number): Outcome {
    const memory = this.#load(session);
    if (!this.#isFresh(memory.held)) {
      this.#catchUp(memory);
      if (!memory.held) return memory.ended ?? "NO_SESSION";
      if (!this.#isFresh(memory.held)) {
        const good = memory.held.refresh === undefined && this.#left(memory.held) > 0;
        const code = good ? undefined : this.#renew(memory);
        if (code !== undefined) return code;
      }
    }
    const used = memory.held;
    if (!this.dead.has(used?.access ?? "")) return "200";
    if (this.#replaceRejected(memory, used)) return "200";
    // A session that is over is reported, a transient failure returns the API's response.
    if (memory.held === undefined) return memory.ended ?? "NO_SESSION";
    return memory.held.refresh === undefined ? memory.ended ?? "401" : "401";
  }

  stateOf(session: number): string {
    const memory = this.#load(session);
    this.#catchUp(memory);
    const { held, ended } = memory;
    if (held === undefined) return ended === "REFRESH_REJECTED" ? "expired" : "none";
    if (!held.refresh && memory.rejected === held.access) return "rejected";
    if (this.#left(held) > 0) return "valid";
    return held.refresh ? "refreshable" : "expired";
  }

  #replaceRejected(memory: Memory, used: Held | undefined): boolean {
    this.#catchUp(memory);
    const { held } = memory;
    if (held && held.access === used?.access) memory.rejected = held.access;
    if (held && held.access !== used?.access) {
      const isSent = this.#left(held) > 0;
      const helps = isSent && !this.dead.has(held.access);
      // The API rejects this one, too: now it is refreshed.
      if (isSent && !helps) return this.#replaceRejected(memory, held);
      // Tokens that another session obtained in the meantime are as useful as a refresh.
      if (helps) memory.restUntil = 0;
      return helps;
    }
    if (!held?.refresh || memory.replaced === held.access || this.now < memory.restUntil) {
      return false;
    }
    memory.replaced = held.access;
    memory.restUntil = this.now + REST;
    if (this.#renew(memory) !== undefined) return false;
    memory.restUntil = 0;
    return true;
  }

  /** A code if there are no new tokens. */
  #renew(memory: Memory): string | undefined {
    const { held } = memory;
    if (!held) return memory.ended ?? "NO_SESSION";
    if (!held.refresh) return memory.ended ?? "CANNOT_REFRESH";
    const { trouble } = this;
    this.trouble = "none";
    this.refreshes += trouble === "down" ? 4 : trouble === "lost" ? 2 : 1;
    if (trouble === "down") return "SERVER_ERROR";
    const isLive = this.live.has(held.refresh);
    if (this.#rotating && isLive) {
      this.live.delete(held.refresh);
      this.spent.add(held.refresh);
    }
    // If refresh tokens rotate, the new one was in the lost response.
    if (!isLive || (trouble === "lost" && this.#rotating)) {
      memory.ended = "REFRESH_REJECTED";
      memory.held = this.#left(held) > 0 ? { ...held, refresh: undefined } : undefined;
      this.file = memory.seen = memory.held;
      return memory.ended;
    }
    this.#save(memory);
    return undefined;
  }

  #save(memory: Memory): void {
    const next = this.#fresh();
    this.live.add(next.refresh ?? "");
    this.issued.push(next.access);
    this.file = memory.seen = memory.held = next;
  }

  #catchUp(memory: Memory): void {
    const { file } = this;
    const same = file?.access === memory.seen?.access && file?.refresh === memory.seen?.refresh;
    if (same) return;
    // Written later, so newer: whatever the times in the tokens.
    Object.assign(memory, { seen: file, held: file, ended: undefined, rejected: undefined });
  }

  #load(session: number): Memory {
    return this.#memories.getOrInsertComputed(session, () => ({
      held: this.file,
      seen: this.file,
      ended: undefined,
      replaced: undefined,
      rejected: undefined,
      restUntil: 0,
    }));
  }

  #left(held: Held): number {
    return held.issuedAt + LIFETIME - this.now;
  }

  #isFresh(held: Held | undefined): boolean {
    return held !== undefined && this.#left(held) > LEAD;
  }
}
