/** Checks the source of the tokens: the `.env`, a store, or the option `token`. */
import { onDisk } from "../api/save_errors.ts";
import { AuthError } from "../errors/errors.ts";
import { durationText } from "../errors/amounts.ts";
import { infoAt, isMounted, realPath } from "../files/file_info.ts";
import { ignoreAdvice, isGitIgnored } from "../files/git.ts";
import { displayPath } from "../files/paths.ts";
import { remove } from "../files/replace_file.ts";
import { remainingMs } from "../provider/tokens.ts";
import type { Configuration } from "../session/configuration.ts";
import { Memory } from "../session/memory.ts";
import type { SessionStatus } from "../session/status.ts";
import { tokensOf } from "../session/state.ts";
import type { StoredSession, Vault } from "../session/vaults/vault.ts";
import { grantsOthers, missingFilePermission, MOUNTED, openFile } from "../settings/env_file.ts";
import type { Checks, Source } from "./facts.ts";
import { attempt, failed, ok, skip, warn, warnOf } from "./finding.ts";

/** The checks of the source of the tokens. */
export const STORAGE_CHECKS: Checks = {
  "token option": ({ configuration: { isLent }, source }) => isLent ? source?.finding : undefined,

  "store": ({ source }) => source?.finding,

  ".env": async ({ configuration: { settings }, source }) => {
    const { tokenFile } = settings;
    if (source !== undefined) return undefined;
    if (tokenFile === undefined) return ok("none: the session is in memory only");
    const place = displayPath(tokenFile);
    const problem = settings.file.problem ?? missingFilePermission(tokenFile);
    if (problem) return failed(problem);
    // Only an attempt to create a file shows whether the system allows it.
    const made = await attempt(undefined, () => onDisk(place, () => trialFile(tokenFile)));
    if (made instanceof AuthError) {
      return warn(
        `${made.problem}, so the session is in memory only`,
        "make its folder writable, or set AUTH_ENV_FILE to another file; AUTH_ENV_FILE=false " +
          "keeps the session in memory without this warning",
      );
    }
    if (!settings.file.exists) return ok(`${place} does not exist yet: the first login creates it`);
    if (isMounted(realPath(tokenFile), trialPath(tokenFile), made)) {
      return warn(
        `Cannot write ${place}: ${MOUNTED.reason}, so the session is in memory only`,
        MOUNTED.fix,
      );
    }
    if (grantsOthers(infoAt(tokenFile)?.mode)) {
      const { problem, fix } = openFile(place);
      if (grantsOthers(made.mode)) return warn(problem, fix);
      return warn(
        `other users of this computer can read ${place}`,
        `run: chmod 600 ${tokenFile}`,
      );
    }
    return ok(`${place} exists`);
  },

  "version control": ({ configuration: { settings } }) => {
    const { tokenFile } = settings;
    if (tokenFile === undefined || settings.file.problem) return undefined;
    const isIgnored = isGitIgnored(tokenFile);
    if (isIgnored === undefined) return undefined;
    return isIgnored
      ? ok(".gitignore covers the .env")
      : warn(".gitignore does not cover the .env and its temporary file", ignoreAdvice(tokenFile));
  },
};

/** An unused path next to a `.env`. */
function trialPath(envFile: string): string {
  return `${realPath(envFile)}.${crypto.randomUUID()}.tmp`;
}

/** Creates a private file next to a `.env`, and removes it. */
function trialFile(envFile: string): Deno.FileInfo {
  const path = trialPath(envFile);
  const file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
  const info = file.statSync();
  file.close();
  remove(path);
  return info;
}

/** Each step of a check may take this share of the time limit of a call. */
const STEP_SHARE = 0.25;

/**
 * Checks whether a session can use a store on a server: reads the store, then takes its lock, and
 * writes nothing.
 */
export async function checkStore(
  vault: Vault,
  session: StoredSession,
  signal: AbortSignal | undefined,
): Promise<Source | undefined> {
  if (vault.read === undefined) return undefined;
  const { timeoutMs } = session.configuration.settings;
  const wait = { ms: timeoutMs * STEP_SHARE, isNeeded: true, signal };
  // A check neither reads nor sets tokens in the environment.
  const configuration = session.configuration.outOfEnvironment();
  const memory = new Memory({ configuration, notices: session.notices }, () => vault);
  const failure = await attempt(signal, async () => {
    memory.adopt(await vault.read?.(wait));
    await using lock = await vault.lock(wait);
    if (lock.problem) throw lock.problem;
  });
  const tokens = tokensOf(memory.current);
  if (failure instanceof AuthError) return { finding: failed(failure), tokens };
  const finding = warnOf(session.notices.all, "reachable, but ") ??
    ok(`reachable, with ${tokens ? "a" : "no"} session`);
  return { finding, tokens };
}

/** Calls the option `token`, unless a logout forbids that. Only the checks use the token. */
export async function tryToken(
  configuration: Configuration,
  { canRefresh }: SessionStatus,
  signal: AbortSignal | undefined,
): Promise<Source> {
  if (!canRefresh) return { finding: skip("not called: logout() ended the session") };
  const { lentTokens } = await import("../session/lent_token.ts");
  const tokens = await attempt(
    signal,
    () => lentTokens(configuration, configuration.settings.timeoutMs, signal),
  );
  if (tokens instanceof AuthError) return { finding: failed(tokens) };
  const left = remainingMs(tokens, configuration.world);
  const span = left === undefined ? "with an unknown expiry" : `valid for ${durationText(left)}`;
  return { finding: ok(`lends a token ${span}`), tokens };
}
