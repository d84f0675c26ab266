/** A process that is killed while it logs in, refreshes and saves. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { readClaims } from "../../../src/platform/claims.ts";
import { lockEnvFile, readEnvFile } from "../../../src/settings/env_file.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { startClient } from "./client_process.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

const WINDOWS = Deno.build.os === "windows";

const OURS = /^(ACCESS_TOKEN|REFRESH_TOKEN|ACCESS_TOKEN_EXPIRES_AT|AUTHENTICATED_AT|AUTH_SESSION)=/;

/** Kills a process at random moments, and asserts after each kill that the next process works. */
export async function assertKillsHarmless(times: number): Promise<void> {
  await using sandbox = await startSandbox({ rotateRefreshTokens: true });
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await writeEnv(folder, { ...variablesOf(sandbox.settings), MINE: "'kept # as it is'" });
    const foreign = foreignLines(envFile);
    let refreshed = 0;
    for (let time = 0; time < times; time++) {
      const child = startClient("churn", { envFile });
      await child.ready;
      await new Promise((done) => setTimeout(done, Math.random() * 40));
      child.kill("SIGKILL");
      assertEquals((await child.ended).signal, WINDOWS ? null : "SIGKILL");
      assertWhole(envFile, foreign);
      assertEquals(namesIn(folder).filter((name) => !/^\.env(\.lock|\.tmp)?$/.test(name)), []);
      const { lock } = await lockEnvFile(envFile, 0, { monotonic: () => 0, sleep: async () => {} });
      assertEquals(lock.state, "held", "the lock of the killed process is free");
      lock.release();
      if (await refreshes(envFile)) refreshed++;
      assertWhole(envFile, foreign);
    }
    assert(refreshed > 0);
  });
}

function foreignLines(envFile: string): string[] {
  return Deno.readTextFileSync(envFile).split("\n").filter((line) => !OURS.test(line));
}

/** Asserts that the `.env` contains each line of the user, and each session key at most once. */
function assertWhole(envFile: string, foreign: string[]): void {
  assertEquals(foreignLines(envFile), foreign);
  const { values, problem } = readEnvFile(envFile);
  assertEquals(problem, undefined);
  assertEquals(typeof readClaims(values.get("ACCESS_TOKEN") ?? "").exp, "number");
  // A rejected refresh token is removed; a valid access token stays.
  assertEquals(values.get("REFRESH_TOKEN")?.length ?? 256, 256);
  assertMatch(values.get("ACCESS_TOKEN_EXPIRES_AT") ?? "", /^\d{4}-.*Z$/);
  if (!WINDOWS) assertEquals((Deno.statSync(envFile).mode ?? 0) & 0o777, 0o600);
  const keys = Deno.readTextFileSync(envFile).match(new RegExp(OURS, "gm")) ?? [];
  assertEquals(new Set(keys).size, keys.length);
}

/** Whether the next process can refresh. It cannot if the newest refresh token was lost. */
async function refreshes(envFile: string): Promise<boolean> {
  const next = createSession({ envFile });
  const outcome = await next.refresh().then(({ state }) => state, ({ code }) => code);
  assert(["valid", "REFRESH_REJECTED"].includes(outcome), outcome);
  return outcome === "valid";
}
