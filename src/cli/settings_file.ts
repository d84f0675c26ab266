import {
  lockEnvFile,
  missingWritePermission,
  readEnvFile,
  updateEnvFile,
} from "../settings/env_file.ts";
import { ignoreInGit } from "../platform/git.ts";
import { filePath, fileUrl, folderOf } from "../platform/paths.ts";
import { worldOf } from "../platform/world.ts";
import { ConfigError, missingPermission } from "../errors/errors.ts";
import { SETTINGS, VARIABLES } from "../settings/options.ts";
import { TOKEN_KEYS } from "../session/stored_tokens.ts";
import { readClaims } from "../provider/tokens.ts";

/**
 * What the accounts of a subscription share. User name and password are the user's own. Settings that are
 * never read from a `.env`, such as a command that gives tokens, are left out.
 */
export const SHARED_SETTINGS: readonly string[] = Object.values(SETTINGS)
  .filter(({ readFrom }) => readFrom === "environment and file")
  .map(({ variable }) => variable)
  .filter((name) => name !== VARIABLES.username && name !== VARIABLES.password);

/** Longer than most logins and refreshes take; one with many tries takes up to its deadline. */
const LOCK_MS = 5_000;

/**
 * Sets or removes (`undefined`) settings in a `.env`. One that is not there yet gets the comments of
 * `.env.example`, and its folder is made. In a work tree, `.gitignore` gets the lines that keep it out
 * of version control.
 *
 * @param seen What the file held when the caller decided on the changes.
 * @returns The lines that `.gitignore` got.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written, or if another program changed
 *   one of these settings since.
 */
export async function saveSettings(
  path: string,
  seen: ReadonlyMap<string, string>,
  changes: ReadonlyMap<string, string | undefined>,
): Promise<string[]> {
  refuseWithoutPermission(path);
  makeFolder(path);
  const { default: example } = await import("../../.env.example", { with: { type: "text" } });
  // An edit keeps the place of a line that is there: these are filled in where the comments explain them.
  const template = example.replace(
    /^#([A-Z_]+)=.*$/gm,
    (line, key) => changes.get(key) === undefined ? line : `${key}=`,
  );
  // Before it is written: else another program could take it into a commit in between.
  const ignored = await ignoreInGit(path);
  const { file, lock } = await lockEnvFile(path, LOCK_MS, worldOf({}));
  try {
    if (file instanceof ConfigError) throw file;
    // What the holder is about to save would stand beside these settings, and belong to another account.
    if (lock.state === "busy") {
      const problem = `Cannot write ${path}: another process is about to save a session in it`;
      throw new ConfigError("ENV_FILE", problem, "run this command again in a moment");
    }
    const isAsSeen = (now: ReadonlyMap<string, string>) => {
      const changed = [...changes.keys()].filter((name) => now.get(name) !== seen.get(name));
      if (changed.length === 0) return true;
      const names = changed.join(", ");
      const problem = `Cannot write ${path}: another program has just changed ${names}`;
      throw new ConfigError("ENV_FILE", problem, "run this command again");
    };
    await updateEnvFile(file, changes, lock.state === "held", isAsSeen, template);
  } finally {
    lock.release();
  }
  return ignored;
}

/** @throws {ConfigError} `PERMISSION` if the file must not be written without a permission prompt. */
export function refuseWithoutPermission(path: string): void {
  if (missingWritePermission(path) === undefined) return;
  const folder = folderOf(path);
  const flags = `--allow-read=${folder} --allow-write=${folder}`;
  throw missingPermission(`write ${path}`, { flags });
}

function makeFolder(path: string): void {
  try {
    Deno.mkdirSync(folderOf(path), { recursive: true });
  } catch (error) {
    throw new ConfigError(
      "ENV_FILE",
      `Cannot write ${path}: its folder cannot be made`,
      "name another one",
      error,
    );
  }
}

/**
 * Copies the settings of a `.env` into another one, for another account of the same subscription. User
 * name, password and tokens stay behind: they are the account's own.
 *
 * @throws {ConfigError} `ENV_FILE`, `PERMISSION`; `INVALID_SETTING` if the other file has other settings.
 */
export async function copySettings(from: string, to: string): Promise<void> {
  const [source, target] = [readEnvFile(from), readEnvFile(to)];
  const problem = source.problem ?? target.problem;
  if (problem) throw problem;
  if (!source.exists) {
    throw new ConfigError("ENV_FILE", `Cannot read ${from}: it is not there`, "check its path");
  }
  const found = SHARED_SETTINGS.flatMap((name) => {
    const [value, before] = [source.values.get(name), target.values.get(name)];
    return value === undefined || value === before ? [] : [{ name, value, before }];
  });
  const others = found.filter(({ before }) => before).map(({ name }) => name);
  if (others.length > 0) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot copy settings to ${to}: it has others (${others.join(", ")})`,
      "name another file",
    );
  }
  if (found.length > 0) {
    await saveSettings(to, target.values, new Map(found.map(({ name, value }) => [name, value])));
  }
}

/** Settings that no sandbox writes, and that lead to an account as those do that it writes. */
const OTHER_ENDPOINTS = ["AUTH_REGION", "AUTH_PROVIDER_HOST", "AUTH_PROVIDER_DOMAIN"];

/**
 * Writes the settings of a sandbox into the `.env` of a folder. What an earlier sandbox wrote there is
 * replaced, its tokens are taken out. A file with a line of anybody else is left alone: a real account
 * behind a tunnel has its endpoint on loopback, too.
 *
 * @param couldBe Whether a sandbox could have written this line.
 * @returns The path of the file.
 * @throws {ConfigError} `INVALID_SETTING` if the file has other settings, `ENV_FILE`, `PERMISSION`.
 */
export async function saveSandboxSettings(
  folder: string,
  settings: Readonly<Record<string, string>>,
  couldBe: (name: string, value: string) => boolean,
): Promise<string> {
  const path = filePath(fileUrl(`${folder || "."}/.env`));
  try {
    return await replaceSandboxSettings(path, settings, couldBe);
  } catch (error) {
    // A folder was named, so what to do about a file does not fit.
    if (!(error instanceof ConfigError && error.code === "ENV_FILE")) throw error;
    throw new ConfigError("ENV_FILE", error.problem, "name another folder", error);
  }
}

async function replaceSandboxSettings(
  path: string,
  settings: Readonly<Record<string, string>>,
  couldBe: (name: string, value: string) => boolean,
): Promise<string> {
  const { values, problem } = readEnvFile(path);
  if (problem) throw problem;
  const isSet = (name: string) => Boolean(values.get(name));
  const clientId = settings.APP_CLIENT_ID;
  const isOwnClient = values.get("APP_CLIENT_ID") === clientId;
  const { clientId: holder } = readClaims(values.get("ACCESS_TOKEN") ?? "");
  const others = [
    ...Object.keys(settings).filter((name) =>
      isSet(name) && !(isOwnClient && couldBe(name, values.get(name) ?? ""))
    ),
    ...OTHER_ENDPOINTS.filter(isSet),
    ...TOKEN_KEYS.filter((name) => isSet(name) && !(isOwnClient && holder === clientId)),
  ];
  if (others.length > 0) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot write ${path}: it has settings of another account (${others.join(", ")})`,
      "name another folder",
    );
  }
  const over = TOKEN_KEYS.map((key) => [key, undefined] as const);
  await saveSettings(
    path,
    values,
    new Map<string, string | undefined>([...Object.entries(settings), ...over]),
  );
  return path;
}
