import { onDisk } from "../api/save_errors.ts";
import { lockEnvFile, readEnvFile, updateEnvFile } from "../settings/env_file.ts";
import { ignoreInGit } from "../files/git.ts";
import { filePath, fileUrl, folderOf } from "../files/paths.ts";
import { worldOf } from "../platform/world.ts";
import { ConfigError } from "../errors/errors.ts";
import { SETTING_RULES, VARIABLES } from "../settings/options.ts";
import { TOKEN_KEYS } from "../session/stored_tokens.ts";

/**
 * The settings that all accounts of a subscription share: all settings that a `.env` can contain,
 * except user name and password.
 */
export const SHARED_SETTINGS: readonly string[] = Object.values(SETTING_RULES)
  .filter(({ notInFile }) => !notInFile)
  .map(({ variable }) => variable)
  .filter((name) => name !== VARIABLES.username && name !== VARIABLES.password);

/**
 * Time limit for acquiring the lock of the `.env`. Most logins and refreshes release the lock
 * sooner.
 */
const LOCK_MS = 5_000;

/**
 * Sets or removes (`undefined`) settings in a `.env`. A missing folder is created. In a git work
 * tree, `.gitignore` gets the lines that keep the file out of git.
 *
 * @param folder How a missing folder is created.
 * @returns The lines that were added to `.gitignore`.
 * @throws {ConfigError} `ENV_FILE`, `FILE` or `PERMISSION` if a file cannot be written.
 */
export async function saveSettings(
  path: string,
  changes: ReadonlyMap<string, string | undefined>,
  folder: Deno.MkdirOptions = {},
): Promise<string[]> {
  await onDisk(path, () => Deno.mkdir(folderOf(path), { ...folder, recursive: true }));
  // Git must ignore the new file before the file exists, so that no other program can commit it.
  const ignored = ignoreInGit(path);
  const { file, lock } = await lockEnvFile(path, LOCK_MS, worldOf({}));
  try {
    // The process that holds the lock is about to save tokens, which would not belong to the new
    // settings.
    if (lock.state === "busy") {
      const problem =
        `Cannot write ${path}: another process is about to save a session in this file`;
      throw new ConfigError("ENV_FILE", problem, "run this command again in a moment");
    }
    await updateEnvFile(file, changes, lock.state === "held");
  } finally {
    lock.release();
  }
  return ignored;
}

/**
 * Writes the settings of a sandbox into the `.env` of a folder. If the file has the sandbox's
 * client id, replaces the settings of the earlier sandbox and removes its tokens. Otherwise a file
 * with settings or tokens of an account is left unchanged.
 *
 * @returns The path of the file.
 * @throws {ConfigError} `INVALID_SETTING` if the file has settings of another account; `ENV_FILE`,
 * `FILE` or `PERMISSION` if a file cannot be written.
 */
export async function saveSandboxSettings(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const path = filePath(fileUrl(`${folder || "."}/.env`));
  const { values, problem } = readEnvFile(path);
  if (problem) throw problem;
  const others = [...Object.keys(settings), ...TOKEN_KEYS].filter((name) => values.get(name));
  if (others.length > 0 && values.get("APP_CLIENT_ID") !== settings.APP_CLIENT_ID) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot write ${path}: it has settings of another account (${others.join(", ")})`,
      "choose another folder",
    );
  }
  const removed = TOKEN_KEYS.map((name) => [name, undefined] as const);
  await saveSettings(path, new Map([...Object.entries(settings), ...removed]));
  return path;
}
