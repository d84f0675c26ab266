/** Checks of where the tokens are kept or come from: the `.env`, a store, or a command. */
import { failedCheck, type Finding } from "./finding.ts";
import { grantsOthers, missingWritePermission } from "../settings/env_file.ts";
import {
  gitIgnores,
  gitTracking,
  ignoreAdvice,
  mayRunGit,
  untrackCommand,
} from "../platform/git.ts";
import { ownUid } from "../settings/env_location.ts";
import { lookAt, mayRead, realPath } from "../platform/look.ts";
import { displayPath, folderOf } from "../platform/paths.ts";
import type { SettingsFault } from "../provider/provider_settings.ts";
import type { Configuration } from "../session/configuration.ts";
import { Notices } from "../session/notices.ts";
import { STORE_ANSWER_SHARE } from "../session/plan.ts";
import { AuthError } from "../errors/errors.ts";
import { remainingMs, type Tokens } from "../provider/tokens.ts";
import { durationText } from "../errors/amounts.ts";

/**
 * Checks of the `.env`: found, readable, writable, private, and not in version control.
 *
 * @param fault What was said of the settings already, with the names that were probably meant.
 */
export async function checkEnvFile(
  configuration: Configuration,
  fault: SettingsFault | undefined,
): Promise<Finding[]> {
  const name = ".env";
  const { envFile, settings } = configuration;
  const missing = fault?.code === "MISSING_SETTINGS" ? fault.settings.map((it) => it.name) : [];
  const { suggestionsFor, suggestionsOn } = await import("../settings/suggestions.ts");
  // The message about missing settings has these.
  const told = suggestionsFor(settings, missing).map(({ problem }) => problem);
  const notes = [...settings.notes, ...suggestionsOn(settings)]
    .filter(({ problem }) => missing.length === 0 || !told.includes(problem))
    .map(({ problem, fix }): Finding => ({ name, level: "warn", message: problem, fix }));
  if (envFile === undefined) {
    return [...notes, { name, level: "ok", message: "none: the session is in memory only" }];
  }
  const place = displayPath(envFile);
  const problem = settings.file.problem ?? missingWritePermission(envFile);
  if (problem) return [...notes, failedCheck(name, problem)];
  const unwritable = whyUnwritable(folderOf(realPath(envFile)));
  if (unwritable !== undefined) {
    const message = `${place} cannot be written, so the session is in memory only: ${unwritable}`;
    const finding: Finding = { name, level: "warn", message, fix: ANOTHER_FILE };
    return [...notes, finding, ...await checkGit(envFile)];
  }
  if (!settings.file.exists) {
    const message = `${place} is not there yet: the first login creates it`;
    return [...notes, { name, level: "ok", message }, ...await checkGit(envFile)];
  }
  return [
    ...notes,
    checkPrivacy(envFile, lookAt(envFile)?.mode ?? null),
    ...await checkGit(envFile),
  ];
}

const ANOTHER_FILE = "make its folder writable, or name another file in AUTH_ENV_FILE; with " +
  "AUTH_ENV_FILE=false this is not said any more";

/** Why no file can be made in a folder, as far as a look tells: nothing is written. */
function whyUnwritable(folder: string): string | undefined {
  if (!mayRead(folder)) return undefined;
  const info = lookAt(folder);
  if (info === undefined) return "its folder does not exist";
  return isOnReadOnlyDisk(folder) ? "its disk is read-only" : whyForbidden(info, ownUid());
}

/**
 * Why a user may not make files in a folder with this owner and these permission bits, as far as they
 * tell.
 */
function whyForbidden(
  { uid, mode }: Pick<Deno.FileInfo, "uid" | "mode">,
  own: number | undefined,
): string | undefined {
  // Windows has no such bits, and to root they do not matter.
  if (uid === null || mode === null || own === undefined || own === 0) return undefined;
  if (uid === own) return (mode & 0o200) === 0 ? "its folder is marked as read-only" : undefined;
  // Whether this user is in the group is not known.
  return (mode & 0o022) === 0 ? "its folder belongs to another user" : undefined;
}

/** A disk that is read-only refuses to rename before it looks for the file, which is not there. */
function isOnReadOnlyDisk(folder: string): boolean {
  const missing = `${folder}/${crypto.randomUUID()}`;
  try {
    Deno.renameSync(missing, `${missing}.tmp`);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EROFS";
  }
  return false;
}

/** Who can read a `.env` with these permission bits. On Windows they are made up, so nothing is claimed. */
function checkPrivacy(envFile: string, mode: number | null): Finding {
  const name = ".env";
  const place = displayPath(envFile);
  if (grantsOthers(mode)) {
    return {
      name,
      level: "warn",
      message: `${place} can be read by other users of this computer`,
      fix: `run: chmod 600 ${envFile} (the next login does it, too)`,
    };
  }
  const who = Deno.build.os === "windows"
    ? "; who can read it, the permissions of its folder decide"
    : " and private";
  return { name, level: "ok", message: `${place} is there${who}` };
}

async function checkGit(envFile: string): Promise<Finding[]> {
  const name = "version control";
  // Both at once: a git that hangs takes a second.
  const [tracking, ignored] = await Promise.all([gitTracking(envFile), gitIgnores(envFile)]);
  if (tracking === "outside") return [];
  if (tracking === "tracked") {
    return [{
      name,
      level: "fail",
      message: "git tracks the .env: the next commit would publish your tokens",
      fix: `run: ${untrackCommand(envFile)}; ${ignored ? "" : `${ignoreAdvice(envFile)}; `}` +
        "and log in anew if it was pushed",
    }];
  }
  if (tracking === "unknown" || ignored === undefined) {
    const step = mayRunGit()
      ? "see what git status says in its folder"
      : "run with --allow-run=git";
    return [{
      name,
      level: "skip",
      message: "git did not tell whether it tracks or ignores the .env",
      fix: `${step}; or ${ignoreAdvice(envFile)}`,
    }];
  }
  if (ignored) return [{ name, level: "ok", message: "git ignores the .env" }];
  return [{
    name,
    level: "warn",
    message: "git does not ignore the .env and the temporary file beside it",
    fix: ignoreAdvice(envFile),
  }];
}

/** What was found in a store. */
interface Found {
  readonly checks: Finding[];
  readonly tokens?: Tokens | undefined;
}

/** Asks the store that other machines share whether it does what a session needs. Nothing stays there. */
export async function checkStore(
  configuration: Configuration,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const name = "store";
  const notices = new Notices();
  try {
    const { RedisStore } = await import("../session/cluster/redis_store.ts");
    const store = await RedisStore.open(() => configuration, notices);
    await store.probe(configuration.settings.timeoutMs * STORE_ANSWER_SHARE, signal);
    const { problem } = store;
    const { tokens } = store.read();
    if (problem) return { checks: [failedCheck(name, problem)], tokens };
    const isIgnored = notices.has("STORED_IGNORED");
    const held = tokens ? "a session" : isIgnored ? "a session that cannot be used" : "no session";
    const message = `answers, and holds ${held}`;
    const warnings = notices.all.filter(({ level }) => level === "warning")
      .map(({ problem, fix }): Finding => ({ name, level: "warn", message: problem, fix }));
    return { checks: [{ name, level: "ok", message }, ...warnings], tokens };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { checks: [failedCheck(name, error)] };
  }
}

/** Runs the command that gives tokens. The token is used to ask the API, and dropped. */
export async function checkTokenCommand(
  configuration: Configuration,
  signal: AbortSignal | undefined,
): Promise<{ check: Finding; tokens?: Tokens }> {
  const name = "token command";
  const { tokensByCommand } = await import("../session/cluster/token_command.ts");
  try {
    const place = { configuration, notices: new Notices() };
    const tokens = await tokensByCommand(place, configuration.settings.timeoutMs, signal);
    const left = remainingMs(tokens, configuration.world);
    const span = left === undefined ? "with an unknown expiry" : `good for ${durationText(left)}`;
    return { check: { name, level: "ok", message: `gives a token ${span}` }, tokens };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { check: failedCheck(name, error) };
  }
}
