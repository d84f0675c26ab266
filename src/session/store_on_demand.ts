import type { Tokens } from "../provider/tokens.ts";
import type { Notices } from "./notices.ts";
import {
  type Decide,
  NOTHING,
  type Place,
  type Stored,
  type TokenStore,
  type Updated,
  type Wait,
} from "./store.ts";

/** A store on a server: its code is loaded, and its address checked, by the first call that needs it. */
export class StoreOnDemand implements TokenStore {
  readonly place: Place;
  readonly #open: () => Promise<TokenStore>;
  #opening: Promise<TokenStore> | undefined;
  #store: TokenStore | undefined;

  constructor(host: string, notices: Notices, open: () => Promise<TokenStore>) {
    this.place = { store: host };
    this.#open = open;
    notices.set(
      "STORE_UNREAD",
      "the store of AUTH_STORE has not been read yet: the first call reads it",
    );
  }

  peek(): Stored {
    return this.#store?.peek() ?? NOTHING;
  }

  async look(wait: Wait): Promise<void> {
    await (await this.#opened()).look?.(wait);
  }

  async update(wait: Wait, decide: Decide): Promise<Updated> {
    return await (await this.#opened()).update(wait, decide);
  }

  refusal(tokens: Tokens): ReturnType<NonNullable<TokenStore["refusal"]>> {
    return this.#store?.refusal?.(tokens);
  }

  async probe(signal: AbortSignal | undefined): Promise<void> {
    await (await this.#opened()).probe?.(signal);
  }

  /** @throws {ConfigError} If a setting, a permission or a package is missing; the next call retries. */
  async #opened(): Promise<TokenStore> {
    this.#opening ??= this.#open();
    try {
      return this.#store = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}
