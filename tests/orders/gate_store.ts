import type { World } from "../../src/platform/world.ts";
import { ConfigError, ProviderError } from "../../src/errors/errors.ts";
import type {
  Change,
  Stored,
  TokenStore,
  Updated,
  WaitOptions,
  Write as Wanted,
} from "../../src/session/store.ts";
import { readStored, recordOf } from "../../src/session/stored_tokens.ts";
import { makeTokens, type Tokens } from "../../src/provider/tokens.ts";
import type { Gates } from "./gates.ts";
import { type Provider, tokenName, withoutTimes } from "./provider.ts";
import type { Scenario } from "./scenario.ts";

/** A write that reached the store. */
export interface Write {
  readonly by: number;
  /** The login whose tokens were written; `undefined`: the tokens were taken out. */
  readonly login: string | undefined;
  readonly text: string;
}

/**
 * The store that the sessions share: lines, as in a `.env`, a number that grows with each write, a
 * lock.
 */
export class SharedPlace {
  lines = "";
  number = 0;
  /** The session that holds the lock. */
  holder: number | undefined;
  /** All writes, the first one first. */
  readonly writes: Write[] = [];

  constructor(readonly scenario: Scenario, readonly gates: Gates, readonly provider: Provider) {}

  put(by: number, tokens: Tokens | undefined): void {
    this.lines = textOf(tokens);
    this.number++;
    const name = tokens && tokenName(tokens.accessToken.reveal());
    this.writes.push({ by, login: name?.login, text: name?.text ?? "none" });
  }

  /** Everything that sessions can observe here, and what the final check inspects. */
  get contents(): unknown {
    return [this.text, this.holder, this.writes];
  }

  /** The lines without times, after the number of the last write. */
  get text(): string {
    return `${this.number} ${withoutTimes(this.lines)}`;
  }

  /** @returns The number of the last write. */
  look(): number {
    this.gates.touch("store", "read");
    this.gates.learn(`${this.number}`);
    return this.number;
  }

  /** A text that changes with the content. */
  get revision(): string {
    return this.scenario.store === "by text" ? this.lines : `${this.number}`;
  }

  /** The process of a session ends, and its lock with it. */
  crash(session: number): void {
    if (this.holder === session) this.holder = undefined;
  }
}

/** The shared place as one session sees it. Its lock and its writes are gates. */
export class GateStore implements TokenStore {
  readonly #place: SharedPlace;
  readonly #session: number;
  readonly #world: () => World;
  #seen: { revision: string; stored: Stored } | undefined;

  constructor(place: SharedPlace, session: number, world: () => World) {
    this.#place = place;
    this.#session = session;
    this.#world = world;
  }

  /** The state that it remembers. */
  get memory(): unknown {
    return withoutTimes(this.#seen?.revision ?? "");
  }

  readonly place = undefined;

  peek(): Stored {
    const { gates, revision, lines } = this.#place;
    const isNews = this.#seen?.revision !== revision;
    gates.touch("store", "read");
    gates.learn(`${isNews ? "news" : "seen"}: ${this.#place.text}`);
    if (this.#seen?.revision === revision) return this.#seen.stored;
    const stored = { tokens: tokensIn(lines, this.#world()) };
    this.#seen = { revision, stored };
    return stored;
  }

  async update(wait: WaitOptions, change: Change): Promise<Updated> {
    const place = this.#place;
    const isHeld = await this.#lock(wait);
    try {
      const now = this.peek();
      const write = await change(now, { isHeld, ...(!isHeld && BUSY) });
      return write === undefined ? { stored: now } : await this.#write(write);
    } finally {
      if (isHeld && !place.gates.isDead(this.#session)) {
        place.holder = undefined;
        place.gates.touch("lock", "written");
      }
    }
  }

  /** @returns Whether the lock is held. */
  async #lock({ signal, isServed }: WaitOptions): Promise<boolean> {
    const place = this.#place;
    const { gates, provider } = place;
    signal?.throwIfAborted();
    let known = place.look();
    for (;;) {
      const way = provider.isOpen ? "" : await gates.wait(this.#session, "lock", () => {
        if (place.holder === undefined) return [""];
        const hasNews = isServed !== undefined && place.number !== known;
        const mayBeBusy = provider.budget.busy;
        return [...(hasNews ? ["asked again"] : []), ...(mayBeBusy ? ["never free"] : [])];
      }, signal);
      gates.touch("lock", "written");
      if (way === "never free") {
        provider.budget = { ...provider.budget, busy: (provider.budget.busy ?? 0) - 1 };
        provider.faults.add("busy");
        return false;
      }
      if (way === "asked again") {
        known = place.look();
        if (isServed?.()) return false;
        continue;
      }
      place.holder = this.#session;
      return true;
    }
  }

  async #write(write: Wanted): Promise<Updated> {
    const place = this.#place;
    const { gates, provider, scenario } = place;
    // As with a .env, what was adopted last must still be there.
    const expected = write.isFinal ? undefined : this.#seen?.revision;
    const isFree = provider.isOpen;
    const ways = () => provider.budget.failedWrites ? ["", "fails"] : [""];
    const way = isFree ? "" : await gates.wait(this.#session, "write", ways);
    const isOther = expected !== undefined && expected !== place.revision;
    gates.touch("store", "written");
    gates.learn(isOther ? "others wrote" : `${place.number}`);
    if (way === "fails") {
      provider.budget = {
        ...provider.budget,
        failedWrites: (provider.budget.failedWrites ?? 0) - 1,
      };
      provider.faults.add("failedWrites");
      const problem = new ConfigError("ENV_FILE", "Cannot write the store", "make room");
      return { problem, stored: this.peek() };
    }
    if (isOther) return { stored: this.peek() };
    const { tokens } = write;
    place.put(this.#session, tokens);
    const stored = { tokens };
    this.#seen = { revision: place.revision, stored };
    if (scenario.slowWrites && !isFree) await gates.wait(this.#session, "written");
    return { stored };
  }
}

const BUSY = {
  problem: new ProviderError("TIMEOUT", "Another session holds the lock", "try again"),
  isOptional: true,
};

function textOf(tokens: Tokens | undefined): string {
  return JSON.stringify(recordOf(tokens));
}

function tokensIn(text: string, world: World): Tokens | undefined {
  const lines: Record<string, string> = JSON.parse(text || "{}");
  const { parts } = readStored((key) => lines[key], "store", {
    clientId: "c",
    provider: undefined,
  });
  return parts && makeTokens(parts, world);
}
