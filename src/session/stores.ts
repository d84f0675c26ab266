import type { Configuration } from "./configuration.ts";
import { EnvStore } from "./env_store.ts";
import type { Notices } from "./notices.ts";
import { MEMORY_ONLY, type TokenStore } from "./store.ts";
import { StoreOnDemand } from "./store_on_demand.ts";

/** A session as its store knows it. */
export interface StoredSession {
  /** Replaced when the settings change. */
  readonly configuration: Configuration;
  readonly notices: Notices;
}

/** Opens the store that the settings name. A new kind of store is added here. */
export function openStore(session: StoredSession): TokenStore {
  const { configuration: { envFile, isByCommand, storeHost }, notices } = session;
  const configuration = () => session.configuration;
  if (isByCommand) return MEMORY_ONLY;
  if (storeHost !== undefined) {
    return new StoreOnDemand(storeHost, notices, async () => {
      const { RedisStore } = await import("./redis/redis_store.ts");
      return await RedisStore.open(configuration, notices);
    });
  }
  return envFile === undefined ? MEMORY_ONLY : new EnvStore(envFile, configuration, notices);
}
