/** Processes that go on calling while their store is in trouble again and again: `deno task soak`. */
import { assert, assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { newStoreKey } from "../../src/session/sealing.ts";
import { startClient } from "../processes/client_process.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { subject } from "../support/needs.ts";
import { rounds, SOAK } from "../support/property.ts";
import { NO_REDIS, type RedisServer, startRedis } from "../support/redis_server.ts";
import { pause } from "./in_cluster.ts";

const PROCESSES = 8;
const LIVES = rounds(2, 10);
const CALLS = 20 * LIVES;
const TOKEN_SECONDS = 6;
const TIMEOUT_MS = 4_000;
/** One trouble begins so long after another, and a pause lasts so long. */
const EVERY_MS = 2_500;
const LASTS_MS = 1_000;

type Trouble = (server: RedisServer) => Promise<void>;

const TROUBLES: Record<string, Trouble> = {
  "is left alone": () => Promise.resolve(),
  async "is killed and started again"(server) {
    await server.kill();
    await pause(LASTS_MS);
    await server.start();
  },
  async "stands still"(server) {
    await server.pause();
    await pause(LASTS_MS);
    await server.resume();
  },
  async "is emptied"(server) {
    await server.tell("FLUSHALL");
  },
};

/** How often each outcome was there. */
function sum(all: readonly Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [name, count] of all.flatMap((each) => Object.entries(each))) {
    total[name] = (total[name] ?? 0) + count;
  }
  return total;
}

/** @param rotating Whether the provider replaces a refresh token at each use, without grace. */
async function figures(trouble: Trouble, rotating: boolean) {
  await using world = await startSandbox({
    rotateRefreshTokens: rotating,
    accessTokenSeconds: TOKEN_SECONDS,
  });
  return await inFolder(async (folder) => {
    await using server = await startRedis(folder);
    const { envFile: _, exportEnv: __, ...settings } = world.settings;
    const store = { store: server.url, storeKey: newStoreKey() };
    await createSession({ ...settings, ...store }).login();
    const options: SessionOptions = { ...settings, ...store, timeoutMs: TIMEOUT_MS };
    const everyMs = LIVES * TOKEN_SECONDS * 1_000 / CALLS;
    const clients = Array.from(
      { length: PROCESSES },
      () => startClient("call", options, CALLS, everyMs),
    );
    await Promise.all(clients.map((client) => client.go()));
    const ended = Promise.all(clients.map(({ report }) => report));
    const over = new AbortController();
    ended.finally(() => over.abort()).catch(() => {});
    while (!over.signal.aborted) {
      await pause(EVERY_MS, over.signal);
      if (!over.signal.aborted) await trouble(server);
    }
    const reports = await ended;
    await Promise.all(clients.map(({ ended }) => ended));
    const { "200": answered = 0, ...failed } = sum(reports.map(({ outcomes }) => outcomes));
    const asked = world.requests.filter(({ authFlow }) => authFlow === "REFRESH_TOKEN_AUTH");
    return {
      answered,
      failed,
      lives: new Set(reports.flatMap(({ tokens }) => tokens)).size,
      refreshes: asked.filter(({ status }) => status === 200).length,
      refused: asked.filter(({ status }) => status !== 200).length,
    };
  });
}

if (SOAK > 0) {
  subject(NO_REDIS, "processes whose store is in trouble", (test) => {
    for (const [what, trouble] of Object.entries(TROUBLES)) {
      test(`${PROCESSES} processes of ${CALLS} calls each while their store ${what}`, async () => {
        // Whoever missed the last refresh may be the first to bring a session back, with a token that
        // was replaced. See docs/clusters.md.
        const found = await figures(trouble, what !== "is emptied");
        console.log(what, found);
        // A token counts whole seconds: one that could not be replaced early ends up to a second before its
        // session knows. That is a sixth of its life here.
        const { "401": ended = 0, ...failed } = found.failed;
        assertEquals(failed, {});
        assert(ended < PROCESSES * CALLS / 10, `${ended} calls with a token that had just ended`);
        assertEquals(found.answered + ended, PROCESSES * CALLS);
        // No request with a refresh token that was replaced.
        assertEquals(found.refused, 0);
        assert(found.lives >= LIVES && found.refreshes <= found.lives, JSON.stringify(found));
      });
    }
  });
}
