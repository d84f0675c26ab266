import { failedCheck, type Finding } from "../display/diagnosis.ts";
import { grantsOthers, missingWritePermission } from "../dotenv/file.ts";
import { gitIgnores, gitTracking, ignoreAdvice, mayRunGit, untrackCommand } from "../files/git.ts";
import type { Configuration } from "../session/configuration.ts";
import { displayPath } from "../files/paths.ts";

/** Checks of the `.env`: found, readable, writable, private, and not in version control. */
export async function checkEnvFile(configuration: Configuration): Promise<Finding[]> {
  const name = ".env";
  const { envFile, settings } = configuration;
  const notes = settings.notes.map(({ problem, fix }): Finding => ({
    name,
    level: "warn",
    message: problem,
    fix,
  }));
  if (envFile === undefined) {
    return [...notes, { name, level: "ok", message: "none: the session is in memory only" }];
  }
  const place = displayPath(envFile);
  const problem = settings.file.problem ?? missingWritePermission(envFile);
  if (problem) return [...notes, failedCheck(name, problem)];
  if (!settings.file.exists) {
    const message = `${place} is not there yet: the first login creates it`;
    return [...notes, { name, level: "ok", message }, ...await checkGit(envFile)];
  }
  return [...notes, checkPrivacy(envFile, Deno.statSync(envFile).mode), ...await checkGit(envFile)];
}

/** Who can read a `.env` with these permission bits. On Windows they are made up, so nothing is claimed. */
export function checkPrivacy(
  envFile: string,
  mode: number | null,
  windows: boolean = Deno.build.os === "windows",
): Finding {
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

async function checkGit(envFile: string): Promise<Finding[]> {
  const name = "version control";
  // Both at once: a git that hangs takes a second.
  const [tracking, ignored] = await Promise.all([gitTracking(envFile, true), gitIgnores(envFile)]);
  if (tracking === "outside") return [];
  if (tracking === "tracked") {
    return [{
      name,
      level: "fail",
      message: "git tracks the .env: the next commit would publish your tokens",
      fix: `run: ${untrackCommand(envFile)}; ${ignoreAdvice(envFile)}; ` +
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
