import { createSession, type SessionOptions } from "../../../mod.ts";
import { newStoreKey } from "../../../src/session/sealing.ts";
import { inFolder } from "../../support/child_deno.ts";
import { subject } from "../../support/needs.ts";
import { rounds } from "../../support/property.ts";
import { startClient } from "../processes/client_process.ts";
import { assertServedTogether } from "../processes/one_refresh.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { NO_REDIS, type RedisServer, startRedis } from "../../support/redis_server.ts";

const CALLS = 25;
const PROCESSES = rounds(4, 40);

/** A change to the server once all processes are running. */
type Trouble = (server: RedisServer) => Promise<void>;

/** Processes begin together on one expired session in a store, while refresh tokens rotate without grace. */
async function assertOneRefreshInStore(trouble: Trouble): Promise<void> {
  await using world = await startSandbox({
    rotateRefreshTokens: true,
    accessTokenSeconds: 1_800,
  });
  await inFolder(async (folder) => {
    await using server = await startRedis(folder);
    const { envFile: _, exportEnv: __, ...settings } = world.settings;
    const options: SessionOptions = { ...settings, store: server.url, storeKey: newStoreKey() };
    // By this clock the login was an hour ago.
    await createSession({ ...options, now: () => Date.now() - 3_600_000 }).login();
    const clients = Array.from({ length: PROCESSES }, () => startClient("call", options, CALLS));
    const served = assertServedTogether(world, clients, CALLS);
    await Promise.all(clients.map(({ ready }) => ready));
    await trouble(server);
    await served;
  });
}

subject(NO_REDIS, "processes with one session in Redis", (test) => {
  test(
    `one refresh serves ${PROCESSES} processes on one expired session in a store`,
    () => assertOneRefreshInStore(() => Promise.resolve()),
  );
});
