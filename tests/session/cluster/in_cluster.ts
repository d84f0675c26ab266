/** Sessions of several machines that share a store. */
import type { createSession, SessionOptions } from "../../../mod.ts";
import type { SandboxOptions } from "../../../src/sandbox/mod.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { inFolder } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { type Portless, portless, statusOf, type TestOptions } from "../../support/portless.ts";
import { NO_REDIS, type RedisServer, startRedis } from "../../support/redis_server.ts";

/** A store, and a provider whose refresh tokens rotate. */
export interface Cluster {
  readonly server: RedisServer;
  readonly world: Portless;
  readonly store: SessionOptions;
  session(more?: TestOptions): ReturnType<typeof createSession>;
}

/**
 * Registers a test of sessions that share a store. The test needs Redis.
 * @param isKept Whether the store still has its data after a kill.
 */
export function clusterTest(
  name: string,
  use: (cluster: Cluster) => Promise<void>,
  { isKept = true, sandbox }: { isKept?: boolean; sandbox?: SandboxOptions } = {},
): void {
  testNeeding(NO_REDIS, name, () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder, isKept);
      await using world = portless({
        sandbox: { rotateRefreshTokens: true, ...sandbox },
        session: { timeout: patient },
      });
      const store = { store: server.url, storeKey: newStoreKey() };
      await use({
        server,
        world,
        store,
        session: (more) => world.another({ ...store, ...more }),
      });
    }));
}

/**
 * Lengthens all timeouts, because a busy machine may respond too late for them. A test of a server
 * that does not respond has a timeout of its own.
 */
export function patient(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.max(ms, 30_000));
}

/** Makes a call, and returns the status of its response. */
export const call = (session: { authFetch: ReturnType<typeof createSession>["authFetch"] }) =>
  statusOf(session.authFetch("/v1/whoami"));
