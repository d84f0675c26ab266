import { createSession, type SessionOptions } from "../../../mod.ts";
import { newStoreKey } from "../../../src/session/sealing.ts";
import { inFolder } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { rounds } from "../../support/property.ts";
import { startClient } from "../processes/client_process.ts";
import { assertServedTogether } from "../processes/one_refresh.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";

const CALLS = 25;
const PROCESSES = rounds(4, 40);

testNeeding(
  NO_REDIS,
  `${PROCESSES} processes with one expired session in a store send one refresh`,
  async () => {
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
      await assertServedTogether(world, clients, CALLS);
    });
  },
);
