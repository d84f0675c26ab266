import { ACCOUNT_SETTINGS, type AccountSetting, valueProblem } from "../account_settings.ts";
import type { Answer, Given } from "../command.ts";
import { readInputText } from "../input.ts";
import { FAILED, say, UsageError } from "../output.ts";
import { readReply } from "../reply.ts";
import { saveSettings } from "../settings_file.ts";
import { configure, doctor } from "../../default_session.ts";
import { ConfigError } from "../../errors/errors.ts";
import { environment } from "../../platform/environment.ts";
import { infoAt, mayRead, resolvedPath } from "../../platform/file_info.ts";
import { readMasked } from "../../platform/masked_input.ts";
import { displayPath } from "../../platform/paths.ts";
import { readVisible } from "../../platform/terminal.ts";
import { endpointText } from "../../settings/endpoint.ts";
import { missingFilePermission } from "../../settings/env_file.ts";
import { isOfAnotherUser, nearestEnvFile, ownEnvFile } from "../../settings/env_location.ts";
import { ENV_FILE_VARIABLE, type SettingName, VARIABLES } from "../../settings/options.ts";
import { resolveSettings } from "../../settings/settings.ts";
import { apiHosts } from "../../settings/trust.ts";

const PASTE = "Paste the reply of your subscription's support channel (the\n" +
  "text is not shown), and end it with an empty line. Or press\n" +
  "Enter to be prompted for each setting:";

export async function run(
  { options: { from, global = false }, envFile, json }: Given<{ from: string; global: boolean }>,
): Promise<Answer> {
  const file = global ? globalFile() : envFile;
  const outcome = await writeSettings(file, from, !json, global ? 0o700 : undefined);
  if (global && file) configure({ envFile: file });
  const diagnosis = await doctor();
  const isDone = diagnosis.ok && Object.keys(outcome.rejected).length === 0;
  return {
    value: { ...outcome, diagnosis },
    text: `${outcomeText(outcome)}\n\n${Deno.inspect(diagnosis)}`,
    status: isDone ? 0 : FAILED,
  };
}

/**
 * Reads settings from the reply and, in a terminal, prompts for settings that are missing. An
 * existing value is replaced only if the user agrees.
 *
 * @param envFile The `.env` to write. Default: the file that `AUTH_ENV_FILE` names, or else the
 * nearest `.env`.
 * @param from The file with the reply; `-` for standard input. By default, the user pastes the
 * reply in a terminal.
 * @returns The names of the settings, without the values: a user may have put a secret in the wrong
 * setting.
 * @throws {ConfigError} `MISSING_SETTINGS` if the reply contains no settings, or if settings are
 * missing and no prompt is possible. In both cases, nothing is written.
 */
async function writeSettings(
  envFile: string | undefined,
  from: string | undefined,
  mayPrompt: boolean,
  folderMode: number | undefined,
) {
  const named = (envFile ?? environment(ENV_FILE_VARIABLE)) || nearestFile();
  const { envFile: file, file: found } = resolveSettings({ envFile: named }, true);
  if (file === undefined) throw new UsageError("init writes a .env", "pass one with --env-file");
  const problem = found.problem ?? missingFilePermission(file);
  if (problem) throw problem;

  const prompts = mayPrompt && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const isComplete = missingIn(found.values).length === 0;
  const text = await replyText(from, prompts, isComplete);
  const reply = readReply(text);
  const isUseless = reply.values.size + reply.rejected.size === 0;
  if (from === undefined && isUseless && text.trim() !== "") {
    say("Found no settings in the reply; enter each setting at the prompt");
  }
  if (from !== undefined && isUseless) {
    throw new ConfigError(
      "MISSING_SETTINGS",
      "Cannot find a setting in the reply",
      "write each setting on its own line, such as APP_CLIENT_ID=…, or run platform-auth init without --from",
    );
  }
  const changes = new Map<string, string>();
  const kept: string[] = [];
  for (const [name, value] of reply.values) {
    const before = found.values.get(name) ?? "";
    if (before === value && found.values.has(name)) continue;
    const replaces = before === "" ||
      (prompts && agrees(`${name} is set in ${displayPath(file)} and differs. Replace it? [y/N]`));
    if (replaces) changes.set(name, value);
    else kept.push(name);
  }
  const rejected = new Map(reply.rejected);
  const missing: string[] = [];
  const valuesNow = () => new Map([...found.values, ...changes]);
  for (const setting of missingIn(valuesNow())) {
    const { name } = setting;
    const [host] = receivers(valuesNow()).password;
    const value = prompts ? await promptFor(setting, rejected.get(name), host) : undefined;
    if (value === undefined) {
      missing.push(name);
      continue;
    }
    changes.set(name, value);
    rejected.delete(name);
  }
  if (!prompts) refuseWithout(missing, rejected, file, from);
  const hosts = receivers(valuesNow());
  // The author of the reply chose the hosts, so the user must see them before any setting is
  // written.
  for (const [what, names] of changes.size === 0 ? [] : Object.entries(hosts)) {
    for (const host of names) {
      say(`The ${what} will be sent to ${host}: check that this is the right host`);
    }
  }
  const ignored = changes.size === 0 ? [] : await saveSettings(file, changes, folderMode);
  return {
    /** The file itself, if the path is a link. */
    file: resolvedPath(file),
    written: [...changes.keys()],
    /** Settings that keep their value although the reply contains a different one. */
    kept,
    missing,
    rejected: Object.fromEntries(rejected),
    /** The lines that were added to `.gitignore`. */
    ignored,
    ...overridden(file),
    passwordHosts: hosts.password,
    tokenHosts: hosts.token,
  };
}

/** @throws {ConfigError} `ENV_FILE` if the `.env` in the working folder belongs to another user. */
function nearestFile(): string {
  const { path, foreign: [foreign = ""] } = nearestEnvFile();
  if (path === undefined) throw ofAnotherUser(foreign);
  return path;
}

function ofAnotherUser(path: string): ConfigError {
  return new ConfigError(
    "ENV_FILE",
    `Cannot write ${path}: it belongs to another user`,
    "remove it, or pass another file with --env-file",
  );
}

/**
 * Returns the path of the user's own `.env`.
 * @throws {UsageError} If the environment does not contain the user's folder.
 * @throws {ConfigError} `ENV_FILE` if the file belongs to another user.
 */
function globalFile(): string {
  const path = ownEnvFile();
  const info = path !== undefined && mayRead(path) ? infoAt(path) : undefined;
  if (path !== undefined && info && isOfAnotherUser(info)) throw ofAnotherUser(path);
  if (path !== undefined) return path;
  const folder = Deno.build.os === "windows" ? "APPDATA" : "HOME";
  throw new UsageError(
    `init --global cannot find your configuration folder: ${folder} is not set`,
    `set ${folder}, or pass a file with --env-file`,
  );
}

/** Returns the hosts to which a client with these settings sends the password and the token. */
function receivers(lines: ReadonlyMap<string, string>): { password: string[]; token: string[] } {
  const text = (name: SettingName) => lines.get(VARIABLES[name])?.trim() || undefined;
  const host = URL.parse(endpointText({ text }) ?? "")?.host;
  return { password: host ? [host] : [], token: apiHosts(text) };
}

/**
 * If the file is the user's own `.env` but a login in this folder uses another `.env`, returns that
 * other file.
 */
function overridden(file: string): { usedHere?: string } {
  if (file !== ownEnvFile()) return {};
  const { envFile } = resolveSettings({}, true);
  return envFile === undefined || envFile === file ? {} : { usedHere: envFile };
}

type Outcome = Awaited<ReturnType<typeof writeSettings>>;

function outcomeText(outcome: Outcome): string {
  const { file, written, kept, missing, rejected, ignored, usedHere } = outcome;
  const path = displayPath(file);
  const again = "run platform-auth init again";
  return [
    written.length === 0 ? `${path} is unchanged` : `Wrote ${path}: ${written.join(", ")}`,
    ...Object.entries(rejected).map(([name, why]) => `! ${name} in the reply is not used: ${why}`),
    ...kept.map((name) =>
      `! ${name} keeps its value, although the reply has a different value; to use the reply, remove the line of ${name} from the file and ${again}`
    ),
    ...missing.map((name) => `! ${name} is not set yet; ${again}`),
    ...(usedHere ? [`! a login in this folder uses another .env: ${displayPath(usedHere)}`] : []),
    ...(ignored.length > 0 ? [`Added to .gitignore: ${ignored.join(", ")}`] : []),
  ].join("\n");
}

async function replyText(
  from: string | undefined,
  mayPrompt: boolean,
  isComplete: boolean,
): Promise<string> {
  const isPasted = from === undefined ? !isComplete : from === "-" && Deno.stdin.isTerminal();
  if (isPasted) return mayPrompt ? await readMasked(PASTE, { lines: true }) : "";
  return from === undefined ? "" : await readInputText("--from", from);
}

function missingIn(values: ReadonlyMap<string, string>): AccountSetting[] {
  const has = (name: string) => Boolean(values.get(name)?.trim());
  // AUTH_URL is not needed if other settings determine the token endpoint.
  const isNamed = has("AUTH_REGION") && (values.get("AUTH_PROVIDER") === "aws" ||
    (has("AUTH_PROVIDER_HOST") && has("AUTH_PROVIDER_DOMAIN")));
  return ACCOUNT_SETTINGS.filter(({ name }) => {
    if (name === "AUTH_URL" && isNamed) return false;
    // An explicitly empty secret means a client without a secret.
    return name === "APP_CLIENT_SECRET" ? !values.has(name) : !has(name);
  });
}

/** Asks a question. Unlike `confirm()`, does not take Ctrl-D for "no". */
function agrees(question: string): boolean {
  return /^y(es)?$/i.test(readVisible(question).trim());
}

/**
 * Prompts until the user enters a usable value. Returns `undefined` if the user enters nothing,
 * because the user may not know the value yet.
 *
 * @param problem The reason why the reply's value for this setting cannot be used; `undefined` if
 * the reply has no value.
 * @param host The provider's host, which receives the app client secret.
 */
async function promptFor(
  { name, question }: AccountSetting,
  problem: string | undefined,
  host: string | undefined,
): Promise<string | undefined> {
  const isSecret = name === "APP_CLIENT_SECRET";
  const receiver = isSecret && host !== undefined ? `For ${host}:\n` : "";
  for (let wrong = problem;;) {
    const text = wrong === undefined
      ? question
      : `This value cannot be used: ${wrong}. ${question}`;
    const value = (isSecret ? await readMasked(receiver + text) : readVisible(text)).trim();
    if (value === "") return undefined;
    if (isSecret && value.toLowerCase() === "none") return "";
    wrong = valueProblem(name, value);
    if (wrong === undefined) return value;
  }
}

function refuseWithout(
  missing: readonly string[],
  rejected: ReadonlyMap<string, string>,
  file: string,
  from: string | undefined,
): void {
  const optional = ACCOUNT_SETTINGS.filter((it) => it.optional).map(({ name }) => name);
  const needed = missing.filter((name) => !optional.includes(name));
  if (needed.length === 0) return;
  const unused = [...rejected].map(([name, why]) => `; ${name} in the reply is not used: ${why}`);
  const problem = `Cannot write ${displayPath(file)}: missing ${needed.join(", ")}, ` +
    `and a prompt is not possible${unused.join("")}`;
  const lines = needed.map((name) => `${name}=…`).join(", ");
  const otherwise = from === undefined
    ? "pipe the reply to platform-auth init --from -"
    : `add ${lines} to the reply, one per line`;
  const fix = `run platform-auth init in a terminal, or ${otherwise}`;
  throw new ConfigError("MISSING_SETTINGS", problem, fix);
}
