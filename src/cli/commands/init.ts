import { ACCOUNT_SETTINGS, type AccountSetting, valueProblem } from "../account_settings.ts";
import type { Answer, Given } from "../command.ts";
import { readInputText } from "../input.ts";
import { FAILED, say, UsageError } from "../output.ts";
import { readReply } from "../reply.ts";
import { saveSettings } from "../settings_file.ts";
import { configure, doctor } from "../../default_session.ts";
import { ConfigError } from "../../errors/errors.ts";
import { printable } from "../../errors/escape.ts";
import { environment } from "../../platform/environment.ts";
import { infoAt, mayRead, resolvedPath } from "../../files/file_info.ts";
import { readMasked } from "../../platform/masked_input.ts";
import { displayPath } from "../../files/paths.ts";
import { readVisible } from "../../platform/terminal.ts";
import { endpointText } from "../../settings/endpoint.ts";
import { missingFilePermission } from "../../settings/env_file.ts";
import { isOfAnotherUser, nearestEnvFile, ownEnvFile } from "../../settings/env_location.ts";
import {
  ENV_FILE_VARIABLE,
  SETTING_RULES,
  type SettingName,
  VARIABLES,
} from "../../settings/options.ts";
import { resolveSettings } from "../../settings/settings.ts";

const PASTE = "Paste the reply of your subscription's support channel, then\n" +
  "an empty line. The text is not shown. Or press Enter to be\n" +
  "prompted for each setting:";

/** Settings by the names of their variables. */
type Values = ReadonlyMap<string, string>;

/**
 * Reads settings from the reply and, in a terminal, prompts for settings that are missing. Then
 * writes the settings that the `.env` does not have yet, and checks everything.
 *
 * @returns In JSON, the names of the settings without the values: a user may have put a secret in
 * the wrong setting.
 */
export async function run(
  { options: { from, global = false }, envFile, json }: Given<{ from: string; global: boolean }>,
): Promise<Answer> {
  const settings = resolveSettings({ envFile: fileToWrite(global, envFile) }, true);
  const { envFile: file } = settings;
  if (file === undefined) {
    throw new UsageError("init needs a .env that it can write", "specify one with --env-file");
  }
  const problem = settings.file.problem ?? missingFilePermission(file);
  if (problem) throw problem;

  const values = new Map(settings.file.values);
  const prompts = !json && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const text = await replyText(from, prompts && missingIn(values).length > 0);
  const reply = readReply(text);
  const found = [...reply.values].map(([name, value]) => {
    const host = URL.parse(value)?.host;
    return host ? `${name} (${host})` : name;
  }).join(", ");
  if (text !== "") say(`Found in the reply: ${found || "no settings"}`);
  for (const [name, why] of reply.rejected) say(`${name} in the reply is not used: ${why}`);
  const changes = new Map<string, string>();
  const kept = new Map<string, string>();
  const set = (name: string, value: string) => {
    changes.set(name, value);
    values.set(name, value);
  };
  for (const [name, value] of reply.values) {
    const old = values.get(name);
    if (old === value) continue;
    if (old) kept.set(name, differenceOf(name, old, value, [settings.file.values, reply.values]));
    else set(name, value);
  }
  for (const setting of prompts ? missingIn(values) : []) {
    const answer = await promptFor(setting, URL.parse(endpointIn(values) ?? "")?.host);
    if (answer !== undefined) set(setting.name, answer);
  }
  const ignored = changes.size === 0
    ? []
    : await saveSettings(file, changes, global ? { mode: 0o700 } : {});

  if (global) configure({ envFile: file });
  const diagnosis = await doctor();
  const outcome: Outcome = {
    file: resolvedPath(file),
    written: [...changes.keys()],
    kept: [...kept.keys()],
    missing: missingIn(values).map(({ name }) => name),
    rejected: Object.fromEntries(reply.rejected),
    ignored,
  };
  return {
    value: { ...outcome, diagnosis },
    text: `${outcomeText(outcome, kept)}\n\n${Deno.inspect(diagnosis)}`,
    status: diagnosis.ok ? 0 : FAILED,
  };
}

interface Outcome {
  /** The file itself, if the path is a link. */
  readonly file: string;
  readonly written: readonly string[];
  /** Settings that keep their value although the reply contains a different one. */
  readonly kept: readonly string[];
  readonly missing: readonly string[];
  readonly rejected: Readonly<Record<string, string>>;
  /** The lines that were added to `.gitignore`. */
  readonly ignored: readonly string[];
}

/**
 * Returns the `.env` to write: the global one, the specified one, or else the nearest one.
 *
 * @param specified The file on the command line. Default: the one in `AUTH_ENV_FILE`.
 * @throws {UsageError} If the environment does not contain the user's folder.
 * @throws {ConfigError} `ENV_FILE` if the file was found by search and belongs to another user.
 */
function fileToWrite(global: boolean, specified = environment(ENV_FILE_VARIABLE)): string {
  if (specified && !global) return specified;
  const { path: nearest, foreign: [foreign] } = nearestEnvFile();
  const path = global ? ownEnvFile() : nearest ?? foreign;
  if (path === undefined) {
    throw new UsageError(
      "init --global cannot find your configuration folder",
      "set HOME (on Windows: APPDATA), or pass a file with --env-file",
    );
  }
  const info = mayRead(path) ? infoAt(path) : undefined;
  if (info === undefined || !isOfAnotherUser(info)) return path;
  throw new ConfigError(
    "ENV_FILE",
    `Cannot write ${path}: it belongs to another user`,
    "remove it, or pass another file with --env-file",
  );
}

/**
 * Reads the reply.
 *
 * @param from The file with the reply; `-` for standard input.
 * @param mayPaste Whether the user can paste the reply if there is no file.
 */
async function replyText(from: string | undefined, mayPaste: boolean): Promise<string> {
  if (from !== undefined) return await readInputText("--from", from);
  return mayPaste ? await readMasked(PASTE, { lines: true }) : "";
}

/**
 * @param kept For each setting that keeps its value, a sentence with both values.
 */
function outcomeText(
  { file, written, missing, ignored }: Outcome,
  kept: ReadonlyMap<string, string>,
): string {
  const path = displayPath(file);
  return [
    written.length === 0 ? `${path} is unchanged` : `Wrote ${path}: ${written.join(", ")}`,
    ...[...kept].map(([name, difference]) =>
      `! ${name} keeps its value: ${difference}; to take the value from the reply, remove this line from the file and run platform-auth init again`
    ),
    ...missing.map((name) =>
      `! ${name} is not set yet; run platform-auth init in a terminal, or add ${name}=… to the reply`
    ),
    ...(ignored.length > 0 ? [`Added to .gitignore: ${ignored.join(", ")}`] : []),
  ].join("\n");
}

/**
 * Says how two values of a setting differ. A secret is not shown, even if someone wrote it into the
 * wrong setting.
 */
function differenceOf(name: string, inFile: string, inReply: string, values: Values[]): string {
  const secrets = values.flatMap((each) => SECRETS.map((secret) => each.get(secret)));
  const isSecret = SECRETS.includes(name) ||
    [inFile, inReply].some((each) => secrets.includes(each));
  return isSecret
    ? "the reply has a different one"
    : `the file has ${shown(inFile)}, the reply ${shown(inReply)}`;
}

/** An address may contain a password or a key. */
function shown(value: string): string {
  const url = URL.parse(value);
  return printable(url ? url.origin + url.pathname : value);
}

/** The names of the settings whose values are not shown. */
const SECRETS = Object.values(SETTING_RULES).filter(({ secret }) => secret)
  .map(({ variable }) => variable);

/** Lists the settings that a login or a call needs, and that have no value. */
function missingIn(values: Values): AccountSetting[] {
  return ACCOUNT_SETTINGS.filter(({ name }) => {
    if (name === "AUTH_URL") return endpointIn(values) === undefined;
    // An explicitly empty secret means a client without a secret.
    return name === "APP_CLIENT_SECRET" ? !values.has(name) : !values.get(name)?.trim();
  });
}

/** Returns the token endpoint of a client with these settings. */
function endpointIn(values: Values): string | undefined {
  const text = (name: SettingName) => values.get(VARIABLES[name])?.trim() || undefined;
  return endpointText({ text });
}

/**
 * Prompts until the user enters a usable value. Returns `undefined` if the user enters nothing,
 * because the user may not know the value yet.
 *
 * @param host The provider's host, which receives the app client secret.
 */
async function promptFor(
  { name, question }: AccountSetting,
  host: string | undefined,
): Promise<string | undefined> {
  const isSecret = name === "APP_CLIENT_SECRET";
  let text = isSecret && host !== undefined ? `For ${host}:\n${question}` : question;
  for (;;) {
    const value = (isSecret ? await readMasked(text) : readVisible(text)).trim();
    if (value === "") return undefined;
    if (isSecret && value.toLowerCase() === "none") return "";
    const problem = valueProblem(name, value);
    if (problem === undefined) return value;
    text = `This value cannot be used: ${problem}. ${question}`;
  }
}
