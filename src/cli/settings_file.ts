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

/** The settings of a `.env` that the accounts of a subscription share: all but user name and password. */
export const SHARED_SETTINGS: readonly string[] = Object.values(SETTINGS)
  .filter(({ readFrom }) => readFrom === "environment and file")
  .map(({ variable }) => variable)
  .filter((name) => name !== VARIABLES.username && name !== VARIABLES.password);

/** Most logins and refreshes are shorter; one with retries may take up to its deadline. */
const LOCK_MS = 5_000;

/**
 * Sets or removes (`undefined`) settings in a `.env`. A new one gets the comments of `.env.example`. A
 * missing folder is created. In a work tree, the lines that keep the file out of git are added to
 * `.gitignore`.
 *
 * @param seen The values in the file when the caller decided on the changes.
 * @returns The lines that were added to `.gitignore`.
 * @throws {ConfigError} `ENV_FILE` or `PERMISSION` if it cannot be written, or if another program has
 *   changed one of these settings since.
 */
export async function saveSettings(
  path: string,
  seen: ReadonlyMap<string, string>,
  changes: ReadonlyMap<string, string | undefined>,
): Promise<string[]> {
  refuseWithoutPermission(path);
  makeFolder(path);
  const { default: example } = await import("../../.env.example", { with: { type: "text" } });
  // An edit keeps the place of an existing line, so each setting is filled in below its comment.
  const template = example.replace(
    /^#([A-Z_]+)=.*$/gm,
    (line, key) => changes.get(key) === undefined ? line : `${key}=`,
  );
  // First, because another program could otherwise commit the file in between.
  const ignored = await ignoreInGit(path);
  const { file, lock } = await lockEnvFile(path, LOCK_MS, worldOf({}));
  try {
    if (file instanceof ConfigError) throw file;
    // The tokens that the holder is about to save belong to another account than these settings.
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
      `Cannot write ${path}: its folder cannot be created`,
      "name another one",
      error,
    );
  }
}

/** Settings that no sandbox writes, and that name an endpoint. */
const OTHER_ENDPOINTS = ["AUTH_REGION", "AUTH_PROVIDER_HOST", "AUTH_PROVIDER_DOMAIN"];

/**
 * Writes the settings of a sandbox into the `.env` of a folder. Replaces those of an earlier sandbox and
 * removes its tokens. A file with any other setting is left unchanged: a real account behind a tunnel has
 * its endpoint on loopback, too.
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
    // The user named a folder, so the advice about a file does not fit.
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
  const changes = new Map<string, string | undefined>(Object.entries(settings));
  for (const key of TOKEN_KEYS) changes.set(key, undefined);
  await saveSettings(path, values, changes);
  return path;
}
