/** Many processes that need a new token at the same moment. */
import { assertEquals } from "@std/assert";
import { createSession, type SessionStore } from "../../../mod.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { settingsStore } from "../../../src/redis/settings_store.ts";
import { resolveSettings } from "../../../src/settings/settings.ts";
import { type ClientOptions, sessionWith, startClient } from "./client_process.ts";
import { openSqlite, sqliteIn } from "../../support/sqlite_store.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

const ENDED = new Date(Date.now() - 60_000).toISOString();

/** Saves a session with an expired access token in a folder. Returns the options that find it. */
type Save = (world: Sandbox, folder: string) => Promise<ClientOptions>;

/**
 * Starts processes that share an expired session, and asserts that one refresh serves all of them.
 * The pool tracks devices, and a replaced refresh token is revoked at once.
 */
export async function assertOneRefresh(
  save: Save,
  processes: number,
  callsEach: number,
): Promise<void> {
  await using world = await startSandbox({
    rotateRefreshTokens: true,
    graceSeconds: 0,
    trackDevices: true,
  });
  await inFolder(async (folder) => {
    const options = await save(world, folder);
    const before = world.requests.length;
    const files = namesIn(folder);
    const clients = Array.from(
      { length: processes },
      () => startClient("call", options, callsEach),
    );
    await Promise.all(clients.map(({ ready }) => ready));
    await Promise.all(clients.map((client) => client.go()));
    const reports = await Promise.all(clients.map(({ report }) => report));
    await Promise.all(clients.map(({ ended }) => ended));
    for (const report of reports) assertEquals(report.outcomes, { "200": callsEach });
    assertEquals(new Set(reports.flatMap(({ tokens }) => tokens)).size, 1);
    assertEquals(reports.flatMap(({ warnings }) => warnings), []);
    // A later process can refresh with the saved refresh token.
    assertEquals((await (await sessionWith(options)).refresh()).state, "valid");
    const flows = world.requests.slice(before).map(({ authFlow, status }) =>
      `${authFlow} ${status}`
    );
    assertEquals(flows, ["REFRESH_TOKEN_AUTH 200", "REFRESH_TOKEN_AUTH 200"]);
    assertEquals(namesIn(folder), files);
  });
}

export const inEnvFile: Save = async ({ settings }, folder) => {
  const envFile = `${folder}/.env`;
  await writeEnv(folder, variablesOf(settings));
  await createSession({ envFile }).login();
  const text = await Deno.readTextFile(envFile);
  await Deno.writeTextFile(envFile, text.replace(/^(ACCESS_TOKEN_EXPIRES_AT=).*$/m, `$1${ENDED}`));
  return { envFile };
};

/** Saves the session in the store that the documentation shows. */
export const inSqlite: Save = async ({ settings }, folder) => {
  const sqlite = sqliteIn(folder);
  const options = { ...settings, envFile: false, sqlite } as const;
  await (await sessionWith(options)).login();
  await expire(await openSqlite(sqlite));
  return options;
};

/** Saves the session on a Redis server. */
export const inRedis = (url: string): Save => async ({ settings }) => {
  const options = { ...settings, envFile: false, store: url } as const;
  await createSession(options).login();
  await expire((await settingsStore(resolveSettings(options, false))).store);
  return options;
};

async function expire(store: SessionStore): Promise<void> {
  const { signal } = new AbortController();
  await using lock = await store.lock(signal);
  await lock.write({ ...await store.read(signal), ACCESS_TOKEN_EXPIRES_AT: ENDED }, signal);
}
