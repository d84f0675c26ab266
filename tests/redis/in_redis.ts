/** Stores on a real Redis server. */
import { redisStore, type RedisStoreOptions, type SessionStore } from "../../src/redis/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { NO_REDIS, type RedisServer, startRedis } from "../support/redis_server.ts";

/** The key of the record of a store without a name. */
export const RECORD = "platform-auth:3:{default}";

/** Opens another store for the same record, as another process does. */
export type Open = (options?: RedisStoreOptions) => SessionStore;

/** Registers a test that needs Redis. */
export function redisTest(
  name: string,
  use: (server: RedisServer, open: Open) => Promise<void>,
): void {
  testNeeding(NO_REDIS, name, () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder);
      await use(server, (options) => redisStore(server.url, options));
    }));
}

/** A signal for work that succeeds, however busy this machine is. */
export function patient(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
