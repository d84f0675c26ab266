/** Many processes that need a new token at the same moment. */
import { assertEquals } from "@std/assert";
import { createSession } from "../../mod.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { type ClientProcess, type Report, startClient } from "./client_process.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";

/** How many processes, and what their provider is like. */
export interface Crowd {
  readonly processes: number;
  readonly callsEach: number;
  /** How refresh tokens rotate. Default `true`: by InitiateAuth. */
  readonly rotation?: true | "get-tokens";
  /** How often the access token expires, each time for other processes. Default 1. */
  readonly periods?: number;
}

/**
 * Lets processes start together on one expired `.env`, while refresh tokens rotate without grace
 * and devices are tracked, and asserts that one refresh served them all, and none was refused.
 */
export async function assertOneRefresh(crowd: Crowd): Promise<void> {
  const { processes, callsEach, rotation = true, periods = 1 } = crowd;
  await using world = await startSandbox({
    rotateRefreshTokens: rotation,
    graceSeconds: 0,
    trackDevices: true,
  });
  const asked = () =>
    world.requests.map(({ operation, authFlow = operation, status }) => `${authFlow} ${status}`);
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await writeEnv(folder, variablesOf(world.settings));
    const first = createSession({ envFile });
    const { refreshableUntil } = await first.login();
    // Which operation the provider wants is learned once, by a refusal; the processes find it in the file.
    if (rotation === "get-tokens") await first.refresh();
    const before = asked().length;

    for (let period = 0; period < periods; period++) {
      await expire(envFile);
      await assertServed(
        Array.from({ length: processes }, () => startClient("call", { envFile }, callsEach)),
        callsEach,
      );
    }
    // One more, for the process that comes after.
    const last = createSession({ envFile });
    assertEquals((await last.refresh()).refreshableUntil, refreshableUntil);
    const operation = rotation === true ? "REFRESH_TOKEN_AUTH" : "GetTokensFromRefreshToken";
    const wanted = Array.from({ length: periods + 1 }, () => `${operation} 200`);
    assertEquals(asked().slice(before), wanted);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(names, [".env", ".env.lock"]);
  });
}

/** Logs in on a `.env` in this folder, and lets the access token be over. @returns Its path. */
export async function writeExpired({ settings }: Sandbox, folder: string): Promise<string> {
  const envFile = `${folder}/.env`;
  await writeEnv(folder, variablesOf(settings));
  await createSession({ envFile }).login();
  await expire(envFile);
  return envFile;
}

async function expire(envFile: string): Promise<void> {
  const text = await Deno.readTextFile(envFile);
  const ended = new Date(Date.now() - 60_000).toISOString();
  await Deno.writeTextFile(envFile, text.replace(/^(ACCESS_TOKEN_EXPIRES_AT=).*$/m, `$1${ended}`));
}

/**
 * Lets processes begin together after one login, and asserts that one refresh serves all their
 * calls.
 */
export async function assertServedTogether(
  world: Sandbox,
  clients: readonly ClientProcess[],
  callsEach: number,
): Promise<void> {
  await assertServed(clients, callsEach);
  const flows = world.requests.map(({ authFlow, status }) => `${authFlow} ${status}`);
  assertEquals(flows, ["USER_PASSWORD_AUTH 200", "REFRESH_TOKEN_AUTH 200"]);
}

/** Lets processes begin together. @returns What each tells in the end. */
export async function runTogether(clients: readonly ClientProcess[]): Promise<Report[]> {
  await Promise.all(clients.map(({ ready }) => ready));
  await Promise.all(clients.map((client) => client.go()));
  const reports = await Promise.all(clients.map(({ report }) => report));
  await Promise.all(clients.map(({ ended }) => ended));
  return reports;
}

/** Lets processes begin together, and asserts that all their calls succeed with one token. */
async function assertServed(clients: readonly ClientProcess[], callsEach: number): Promise<void> {
  const reports = await runTogether(clients);
  for (const report of reports) assertEquals(report.outcomes, { "200": callsEach });
  assertEquals(new Set(reports.flatMap(({ tokens }) => tokens)).size, 1);
  assertEquals(reports.flatMap(({ warnings }) => warnings), []);
}
