/** Many processes that need a new token at the same moment. */
import { assertEquals } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { type ClientProcess, startClient } from "./client_process.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

/**
 * Starts processes on one expired `.env` and asserts that one refresh serves all of them. The pool
 * tracks devices, and a replaced refresh token is revoked at once.
 */
export async function assertOneRefresh(processes: number, callsEach: number): Promise<void> {
  await using world = await startSandbox({
    rotateRefreshTokens: true,
    graceSeconds: 0,
    trackDevices: true,
  });
  await inFolder(async (folder) => {
    const envFile = await writeExpired(world, folder);
    const before = world.requests.length;
    await assertServed(
      Array.from({ length: processes }, () => startClient("call", { envFile }, callsEach)),
      callsEach,
    );
    // A later process can refresh with the saved refresh token.
    assertEquals((await createSession({ envFile }).refresh()).state, "valid");
    const flows = world.requests.slice(before).map(({ authFlow, status }) =>
      `${authFlow} ${status}`
    );
    assertEquals(flows, ["REFRESH_TOKEN_AUTH 200", "REFRESH_TOKEN_AUTH 200"]);
    assertEquals(namesIn(folder), [".env", ".env.lock"]);
  });
}

/** Writes a `.env` with an expired access token into this folder. @returns The path of the file. */
export async function writeExpired({ settings }: Sandbox, folder: string): Promise<string> {
  const envFile = `${folder}/.env`;
  await writeEnv(folder, variablesOf(settings));
  await createSession({ envFile }).login();
  const text = await Deno.readTextFile(envFile);
  const ended = new Date(Date.now() - 60_000).toISOString();
  await Deno.writeTextFile(envFile, text.replace(/^(ACCESS_TOKEN_EXPIRES_AT=).*$/m, `$1${ended}`));
  return envFile;
}

/** Lets processes begin together, and asserts that all their calls succeed with one token. */
export async function assertServed(
  clients: readonly ClientProcess[],
  callsEach: number,
): Promise<void> {
  await Promise.all(clients.map(({ ready }) => ready));
  await Promise.all(clients.map((client) => client.go()));
  const reports = await Promise.all(clients.map(({ report }) => report));
  await Promise.all(clients.map(({ ended }) => ended));
  for (const report of reports) assertEquals(report.outcomes, { "200": callsEach });
  assertEquals(new Set(reports.flatMap(({ tokens }) => tokens)).size, 1);
  assertEquals(reports.flatMap(({ warnings }) => warnings), []);
}
