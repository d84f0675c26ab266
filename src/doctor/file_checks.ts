import { type Check, failedCheck } from "../display/diagnosis.ts";
import { grantsOthers, missingWritePermission } from "../dotenv/file.ts";
import { gitIgnores, gitTracking, ignoreAdvice, untrackCommand } from "../files/git_tracking.ts";
import type { Configuration } from "../session/configuration.ts";
import { displayPath } from "../files/paths.ts";

/** Checks of the `.env`: found, readable, writable, private, and not in version control. */
export function checkEnvFile(configuration: Configuration): Check[] {
  const name = ".env";
  const { envFile, settings } = configuration;
  const notes = settings.notes.map((note): Check => ({ name, level: "warn", message: note }));
  if (envFile === undefined) {
    return [...notes, { name, level: "ok", message: "none: the session is in memory only" }];
  }
  const place = displayPath(envFile);
  const problem = settings.file.problem ?? missingWritePermission(envFile);
  if (problem) return [...notes, failedCheck(name, problem)];
  if (!settings.file.exists) {
    const message = `${place} is not there yet: the first login creates it`;
    return [...notes, { name, level: "ok", message }, ...checkGit(envFile)];
  }
  return [...notes, checkPrivacy(envFile, Deno.statSync(envFile).mode), ...checkGit(envFile)];
}

/** Who can read a `.env` with these permission bits. On Windows they are made up, so nothing is claimed. */
export function checkPrivacy(
  envFile: string,
  mode: number | null,
  windows: boolean = Deno.build.os === "windows",
): Check {
  const name = ".env";
  const place = displayPath(envFile);
  if (grantsOthers(mode, windows)) {
    return {
      name,
      level: "warn",
      message: `${place} can be read by other users of this computer`,
      fix: `run: chmod 600 ${envFile} (the next login does it, too)`,
    };
  }
  const who = windows ? "; who can read it, the permissions of its folder decide" : " and private";
  return { name, level: "ok", message: `${place} is there${who}` };
}

function checkGit(envFile: string): Check[] {
  const name = "version control";
  switch (gitTracking(envFile)) {
    case "tracked":
      return [{
        name,
        level: "fail",
        message: "git tracks the .env: the next commit would publish your tokens",
        fix: `run: ${untrackCommand(envFile)}; ${ignoreAdvice(envFile)}; ` +
          "and log in anew if it was pushed",
      }];
    case "untracked":
      return [{ name, ...ignored(envFile) }];
    case "outside":
      return [];
  }
}

function ignored(envFile: string): Omit<Check, "name"> {
  switch (gitIgnores(envFile)) {
    case true:
      return { level: "ok", message: "git ignores the .env" };
    case false:
      return {
        level: "warn",
        message: "git does not ignore the .env and the temporary file beside it",
        fix: ignoreAdvice(envFile),
      };
    case undefined:
      return {
        level: "skip",
        message: "git was not asked whether it ignores the .env",
        fix: `run with --allow-run=git; or ${ignoreAdvice(envFile)}`,
      };
  }
}
