import type { AuthError } from "../../errors/errors.ts";
import type { Tokens } from "../../values/tokens.ts";
import type { Configuration } from "../configuration.ts";
import type { Notices } from "../notices.ts";
import type { SharedStore, StoreLock, Waiting } from "../shared_store.ts";
import type { News } from "../state.ts";

/** A store that other machines share. It is loaded when it is first asked; until then nothing is known of it. */
export class StoreOnDemand implements SharedStore {
  readonly #open: () => Promise<SharedStore>;
  #opening: Promise<SharedStore> | undefined;
  #store: SharedStore | undefined;

  constructor(configuration: () => Configuration, notices: Notices) {
    this.#open = async () =>
      await (await import("./redis_store.ts")).RedisStore.open(configuration, notices);
    notices.set(
      "store unread",
      "the store of AUTH_STORE was not asked yet: the first call does it",
    );
  }

  get problem(): AuthError | undefined {
    return this.#store?.problem;
  }

  read(): Tokens | undefined {
    return this.#store?.read();
  }

  news(): News {
    return this.#store?.news() ?? { kind: "same" };
  }

  async sync(isPatient: boolean): Promise<void> {
    await (await this.ready()).sync?.(isPatient);
  }

  async withLock<T>(
    waitMs: number,
    work: (lock: StoreLock) => Promise<T>,
    waiting?: Waiting,
  ): Promise<T> {
    return await (await this.ready()).withLock(waitMs, work, waiting);
  }

  async save(held: () => Tokens | undefined, lock: StoreLock, over: boolean): Promise<News> {
    return await (await this.ready()).save(held, lock, over);
  }

  async clear(lock: StoreLock): Promise<void> {
    await (await this.ready()).clear(lock);
  }

  /** @throws {ConfigError} If the settings, a permission or the package are not there. Asked again, it looks again. */
  async ready(): Promise<SharedStore> {
    this.#opening ??= this.#open();
    try {
      return this.#store = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}
