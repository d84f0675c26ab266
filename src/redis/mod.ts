/**
 * Keeps a session on a Redis or Valkey server, so that several machines share it. `AUTH_STORE` and
 * the option `store` need only an address; import this module to choose the session's name or a key
 * in a program, or to encrypt a store of your own.
 *
 * ```ts ignore
 * import { configure } from "@platform-auth/platform-auth";
 * import { redisStore } from "@platform-auth/platform-auth/redis";
 *
 * const key = Deno.env.get("AUTH_STORE_KEY");
 * configure({ store: redisStore("rediss://user:password@redis.example.com:6379/0#ada", { key }) });
 * ```
 *
 * @module
 */
export { redisStore, type RedisStoreOptions } from "./redis_store.ts";
export { sealed } from "./sealing.ts";
export type { SessionLock, SessionRecord, SessionStore } from "../settings/session_store.ts";
