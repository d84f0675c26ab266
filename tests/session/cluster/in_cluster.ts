/** Sessions of several machines that share a store. */
import type { Session, SessionOptions } from "../../../mod.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { inFolder } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { type Portless, portless } from "../../support/portless.ts";
import { NO_REDIS, type RedisServer, startRedis } from "../../support/redis_server.ts";

/** A store, and a provider whose refresh tokens rotate. */
export interface Cluster {
  readonly server: RedisServer;
  readonly world: Portless;
  readonly storeKey: string;
  session(more?: SessionOptions): Session;
}

/** Registers a test of sessions that share a store. The test needs Redis. */
export function clusterTest(name: string, use: (cluster: Cluster) => Promise<void>): void {
  testNeeding(NO_REDIS, name, () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder);
      await using world = portless({
        sandbox: { rotateRefreshTokens: true },
        session: { timeout: patient },
      });
      const store = { store: server.url, storeKey: newStoreKey() };
      const session = (more?: SessionOptions) => world.another({ ...store, ...more });
      await use({ server, world, storeKey: store.storeKey, session });
    }));
}

/** Lengthens all timeouts, because a busy machine may respond too late for them. */
function patient(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.max(ms, 30_000));
}
