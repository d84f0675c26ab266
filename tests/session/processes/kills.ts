/** A process that is killed while it logs in, refreshes and saves. */
import { assertEquals, assertMatch } from "@std/assert";
import { AuthError, createSession } from "../../../mod.ts";
import { lockEnvFile, readEnvFile } from "../../../src/settings/env_file.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder } from "../../support/child_deno.ts";
import { startClient } from "./client_process.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

/** The outcomes of the later processes. */
export interface Kills {
  /** The session was good, or a refresh made it good. */
  working: number;
  /** The response with the next refresh token was lost with the process. */
  rejected: number;
  /** How long the processes after waited for a lock or between attempts, in milliseconds. */
  waited: number;
}

const WINDOWS = Deno.build.os === "windows";

const OURS = /^(ACCESS_TOKEN|REFRESH_TOKEN|ACCESS_TOKEN_EXPIRES_AT|AUTHENTICATED_AT|AUTH_SESSION)=/;

/** Kills a process that often, at random moments, and holds what must be true after each. */
export async function assertKillsHarmless(times: number): Promise<Kills> {
  const kills: Kills = { working: 0, rejected: 0, waited: 0 };
  await using sandbox = await startSandbox({ rotateRefreshTokens: true });
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await writeEnv(folder, { ...variablesOf(sandbox.settings), MINE: "'kept # as it is'" });
    const foreign = foreignLines(envFile);
    for (let time = 0; time < times; time++) {
      const child = startClient("churn", { envFile });
      await child.ready;
      await new Promise((done) => setTimeout(done, Math.random() * 40));
      child.kill("SIGKILL");
      assertEquals((await child.ended).signal, WINDOWS ? null : "SIGKILL");
      assertWhole(envFile, foreign);
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
      assertEquals(names.filter((name) => !/^\.env(\.lock|\.tmp)?$/.test(name)), []);
      const { lock } = await lockEnvFile(envFile, 0, { monotonic: () => 0, sleep: async () => {} });
      assertEquals(lock.state, "held", "the lock of the killed process is free");
      lock.release();
      await goOn(envFile, kills);
      assertWhole(envFile, foreign);
    }
  });
  return kills;
}

function foreignLines(envFile: string): string[] {
  return Deno.readTextFileSync(envFile).split("\n").filter((line) => !OURS.test(line));
}

/** Old or new, whole: the lines of the user are all there, and each of ours at most once. */
function assertWhole(envFile: string, foreign: string[]): void {
  assertEquals(foreignLines(envFile), foreign);
  const { values, problem } = readEnvFile(envFile);
  assertEquals(problem, undefined);
  const claims = values.get("ACCESS_TOKEN")?.split(".");
  assertEquals(claims?.length, 3);
  JSON.parse(new TextDecoder().decode(
    Uint8Array.fromBase64(claims?.[1] ?? "", { alphabet: "base64url" }),
  ));
  // A refresh token that was rejected is gone; an access token that is good stays.
  const refreshToken = values.get("REFRESH_TOKEN");
  if (refreshToken !== undefined) assertEquals(refreshToken.length, 256);
  assertMatch(values.get("ACCESS_TOKEN_EXPIRES_AT") ?? "", /^\d{4}-.*Z$/);
  if (!WINDOWS) assertEquals((Deno.statSync(envFile).mode ?? 0) & 0o777, 0o600);
  const keys = Deno.readTextFileSync(envFile).match(new RegExp(OURS, "gm")) ?? [];
  assertEquals(new Set(keys).size, keys.length);
}

/** The next one on the file refreshes with what it finds there. */
async function goOn(envFile: string, kills: Kills): Promise<void> {
  const sleep = (ms: number) => {
    kills.waited += ms;
    return new Promise<void>((done) => setTimeout(done, ms));
  };
  const next = createSession({ envFile, sleep });
  try {
    assertEquals((await next.refresh()).state, "valid");
    const answer = await next.authFetch("/v1/whoami");
    await answer.body?.cancel();
    assertEquals(answer.status, 200);
    kills.working++;
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    assertEquals(error.code, "REFRESH_REJECTED", error.message);
    kills.rejected++;
  }
}
