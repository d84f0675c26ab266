/** A process that is killed while it logs in, refreshes and saves. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { readClaims } from "../../../src/platform/claims.ts";
import { lockEnvFile, readEnvFile } from "../../../src/settings/env_file.ts";
import { createSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { serveLocal } from "../../support/local_server.ts";
import { startClient } from "./client_process.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

const WINDOWS = Deno.build.os === "windows";

const OURS = /^(ACCESS_TOKEN|REFRESH_TOKEN|ACCESS_TOKEN_EXPIRES_AT|AUTHENTICATED_AT|AUTH_SESSION)=/;

/** Kills a process at random moments, and asserts after each kill that the next process works. */
export async function assertKillsHarmless(times: number): Promise<void> {
  await using sandbox = createSandbox({ rotateRefreshTokens: true });
  /** The refresh tokens that the provider issued, the newest last. */
  const issued: unknown[] = [];
  await using provider = serveLocal(async (request) => {
    const { method, headers } = request;
    // A killed process may have sent only a part of its request.
    const body = await request.text().catch(() => "");
    const response = await sandbox.handle(new Request(sandbox.authUrl, { method, headers, body }));
    const result = (await response.clone().json()).AuthenticationResult;
    if (result) issued.push(result.RefreshToken);
    return response;
  });
  await inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    const settings = { ...sandbox.settings, authUrl: provider.origin };
    await writeEnv(folder, { ...variablesOf(settings), MINE: "'kept # as it is'" });
    const foreign = foreignLines(envFile);
    for (let time = 0; time < times; time++) {
      const child = startClient("churn", { envFile });
      await child.ready;
      await new Promise((done) => setTimeout(done, Math.random() * 40));
      child.kill("SIGKILL");
      assertEquals((await child.ended).signal, WINDOWS ? null : "SIGKILL");
      assertWhole(envFile, foreign);
      // A token is saved before the next request is sent, so a kill loses at most the newest one.
      const saved = readEnvFile(envFile).values.get("REFRESH_TOKEN");
      assert(issued.slice(-2).includes(saved), "more than one token was lost");
      assertEquals(namesIn(folder).filter((name) => !/^\.env(\.lock|\.tmp)?$/.test(name)), []);
      const { lock } = await lockEnvFile(envFile, 0, { monotonic: () => 0, sleep: async () => {} });
      assertEquals(lock.state, "held", "the lock of the killed process is free");
      lock.release();
      if (await refreshed(envFile) === "REFRESH_REJECTED") {
        assert(saved !== issued.at(-1), "the newest token was refused");
      }
      assertWhole(envFile, foreign);
    }
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

/** The outcome of a refresh in the next process. It fails if the newest refresh token was lost. */
async function refreshed(envFile: string): Promise<string> {
  const next = createSession({ envFile });
  const outcome = await next.refresh().then(({ state }) => state, ({ code }) => code);
  assert(["valid", "REFRESH_REJECTED"].includes(outcome), outcome);
  return outcome;
}
