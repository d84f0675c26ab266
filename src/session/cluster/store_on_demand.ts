import type { AuthError } from "../../errors/errors.ts";
import type { Configuration } from "../configuration.ts";
import type { Notices } from "../notices.ts";
import {
  NOTHING,
  type RemoteStore,
  type SessionStore,
  type Stored,
  type Transaction,
  type Wait,
} from "../store.ts";
import type { RedisStore } from "./redis_store.ts";

/**
 * A store that other machines share. It is loaded when it is first asked; until then nothing is known
 * of it.
 */
export class StoreOnDemand implements SessionStore, RemoteStore {
  readonly #open: () => Promise<RedisStore>;
  #opening: Promise<RedisStore> | undefined;
  #store: RedisStore | undefined;

  constructor(configuration: () => Configuration, notices: Notices) {
    this.#open = async () =>
      await (await import("./redis_store.ts")).RedisStore.open(configuration, notices);
    notices.set(
      "STORE_UNREAD",
      "the store of AUTH_STORE was not asked yet: the first call does it",
    );
  }

  get remote(): RemoteStore {
    return this;
  }

  get problem(): AuthError | undefined {
    return this.#store?.problem;
  }

  get stays(): boolean {
    return this.#store?.stays ?? false;
  }

  read(): Stored {
    return this.#store?.read() ?? NOTHING;
  }

  async look(waitMs: number, signal?: AbortSignal): Promise<void> {
    await (await this.#opened()).look(waitMs, signal);
  }

  async transaction<T>(work: (transaction: Transaction) => Promise<T>, wait: Wait): Promise<T> {
    return await (await this.#opened()).transaction(work, wait);
  }

  async ready(): Promise<void> {
    await this.#opened();
  }

  /**
   * @throws {ConfigError} If the settings, a permission or the package are not there. Asked again, it
   * looks again.
   */
  async #opened(): Promise<RedisStore> {
    this.#opening ??= this.#open();
    try {
      return this.#store = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}
