import { missingWritePermission, updateEnvFile } from "../dotenv/file.ts";
import { ignoreInGit } from "../dotenv/git_tracking.ts";
import { lockBeside } from "../dotenv/lock.ts";
import { worldOf } from "../runtime/world.ts";

/** Longer than another process needs for a refresh that it saves. */
const LOCK_MS = 5_000;

/**
 * Sets or removes (`undefined`) settings in a `.env`. One that is not there yet gets the comments of
 * `.env.example`. In a work tree, `.gitignore` gets the lines that keep it out of version control.
 *
 * @returns The lines that `.gitignore` got.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written.
 */
export async function saveSettings(
  path: string,
  changes: ReadonlyMap<string, string | undefined>,
): Promise<string[]> {
  const missing = missingWritePermission(path);
  if (missing) throw missing;
  const { default: example } = await import("../../.env.example", { with: { type: "text" } });
  // An edit keeps the place of a line that is there: these are filled in where the comments explain them.
  const template = example.replace(
    /^#([A-Z_]+)=.*$/gm,
    (line, key) => changes.get(key) === undefined ? line : `${key}=`,
  );
  // Before it is written: else another program could take it into a commit in between.
  const ignored = ignoreInGit(path);
  const lock = await lockBeside(path, LOCK_MS, worldOf({}));
  try {
    await updateEnvFile(path, changes, lock.held, undefined, template);
  } finally {
    lock.release();
  }
  return ignored;
}
