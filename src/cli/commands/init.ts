import { ACCOUNT_SETTINGS, type AccountSetting, valueProblem } from "../account_settings.ts";
import type { Answer, Given } from "../command.ts";
import { readInputText } from "../input.ts";
import { FAILED, say, UsageError } from "../output.ts";
import { readReply, type Reply } from "../reply.ts";
import { saveSettings } from "../settings_file.ts";
import { configure, doctor } from "../../default_session.ts";
import { fixText } from "../../errors/advice.ts";
import { ConfigError, sentenceOf } from "../../errors/errors.ts";
import { environment } from "../../platform/environment.ts";
import { infoAt, mayRead, resolvedPath } from "../../files/file_info.ts";
import { readMasked } from "../../platform/masked_input.ts";
import { displayPath } from "../../files/paths.ts";
import { readVisible } from "../../platform/terminal.ts";
import { endpointText } from "../../settings/endpoint.ts";
import { missingFilePermission } from "../../settings/env_file.ts";
import { isOfAnotherUser, nearestEnvFile, ownEnvFile } from "../../settings/env_location.ts";
import { ENV_FILE_VARIABLE, type SettingName, VARIABLES } from "../../settings/options.ts";
import { resolveSettings, type Settings } from "../../settings/settings.ts";
import { misspelled } from "../../settings/suggestions.ts";
import { apiHosts } from "../../settings/trust.ts";

const PASTE = "Paste the reply of your subscription's support channel (the\n" +
  "text is not shown), and end it with an empty line. Or press\n" +
  "Enter to be prompted for each setting:";

/** Settings by the names of their variables. */
type Values = ReadonlyMap<string, string>;

/**
 * Reads settings from the reply and, in a terminal, prompts for settings that are missing. Then
 * writes the `.env` and checks it.
 *
 * @returns In JSON, the names of the settings without the values: a user may have put a secret in
 * the wrong setting.
 * @throws {ConfigError} `MISSING_SETTINGS` if the reply contains no settings, or if settings are
 * missing and no prompt is possible. In both cases, nothing is written.
 */
export async function run(
  { options: { from, global = false }, envFile, json }: Given<{ from: string; global: boolean }>,
): Promise<Answer> {
  const named = global ? globalFile() : envFile;
  const { file, settings } = openedFile(named);
  const before = settings.file.values;
  const prompts = !json && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();

  const reply = await readFrom(from, prompts, before);
  const { taken, kept } = compared(
    before,
    reply.values,
    (name) =>
      prompts && agrees(`${name} is set in ${displayPath(file)} and differs. Replace it? [y/N]`),
  );
  const known = new Map([...before, ...taken]);
  const asked = missingIn(known);
  if (asked.length > 0) suggest(settings);
  if (!prompts) refuseWithout(asked, reply, file, from);
  const answers = prompts ? await answersTo(asked, reply, known) : new Map();

  const changes = new Map([...taken, ...answers]);
  const hosts = receivers(new Map([...known, ...answers]));
  if (changes.size > 0) showReceivers(hosts);
  const ignored = changes.size === 0
    ? []
    : await saveSettings(file, changes, global ? 0o700 : undefined);

  const outcome: Outcome = {
    file: resolvedPath(file),
    written: [...changes.keys()],
    kept,
    missing: asked.map(({ name }) => name).filter((name) => !answers.has(name)),
    rejected: Object.fromEntries([...reply.rejected].filter(([name]) => !answers.has(name))),
    ignored,
    ...overridden(file),
    passwordHosts: hosts.password,
    tokenHosts: hosts.token,
  };
  if (global && named) configure({ envFile: named });
  const diagnosis = await doctor();
  const isDone = diagnosis.ok && Object.keys(outcome.rejected).length === 0;
  return {
    value: { ...outcome, diagnosis },
    text: `${outcomeText(outcome)}\n\n${Deno.inspect(diagnosis)}`,
    status: isDone ? 0 : FAILED,
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
  /** The `.env` that a login in this folder uses instead of the user's own file. */
  readonly usedHere?: string;
  readonly passwordHosts: readonly string[];
  readonly tokenHosts: readonly string[];
}

/**
 * Returns the path of the `.env` to write, and the present settings.
 *
 * @param named The file that the command line names. Default: the file that `AUTH_ENV_FILE` names,
 * or else the nearest `.env`.
 */
function openedFile(named: string | undefined): { file: string; settings: Settings } {
  const envFile = (named ?? environment(ENV_FILE_VARIABLE)) || nearestFile();
  const settings = resolveSettings({ envFile }, true);
  const { envFile: file } = settings;
  if (file === undefined) throw new UsageError("init writes a .env", "pass one with --env-file");
  const problem = settings.file.problem ?? missingFilePermission(file);
  if (problem) throw problem;
  return { file, settings };
}

/** Says which lines and variables were probably meant as settings. */
function suggest(settings: Settings): void {
  for (const { problem, fix = "" } of misspelled(settings)) {
    say(sentenceOf({ problem, fix: fixText(fix) }));
  }
}

/**
 * Reads the reply and says what it contains.
 *
 * @param from The file with the reply; `-` for standard input. By default, the user pastes the
 * reply in a terminal, unless the `.env` has all settings.
 */
async function readFrom(
  from: string | undefined,
  prompts: boolean,
  before: Values,
): Promise<Reply> {
  const isPasted = prompts &&
    (from === undefined ? missingIn(before).length > 0 : from === "-");
  if (!isPasted && from === undefined) return readReply("");
  const text = isPasted
    ? await readMasked(PASTE, { lines: true })
    : await readInputText("--from", from ?? "-");
  const reply = readReply(text);
  const found = [...reply.values.keys()].join(", ");
  if (found === "" && reply.rejected.size === 0 && from !== undefined) {
    throw new ConfigError(
      "MISSING_SETTINGS",
      "Cannot find a setting in the reply",
      "write each setting on its own line, such as APP_CLIENT_ID=…, or run platform-auth init without --from",
    );
  }
  if (isPasted && text.trim() !== "") say(`Found in the reply: ${found || "no settings"}`);
  return reply;
}

/**
 * Compares the values of the reply with those of the file.
 *
 * @param mayReplace Whether a different value may be replaced.
 */
function compared(
  before: Values,
  values: Values,
  mayReplace: (name: string) => boolean,
): { taken: Values; kept: string[] } {
  const taken = new Map<string, string>();
  const kept: string[] = [];
  for (const [name, value] of values) {
    const old = before.get(name);
    if (old === value) continue;
    if (!old || mayReplace(name)) taken.set(name, value);
    else kept.push(name);
  }
  return { taken, kept };
}

/** Prompts for each of these settings. A setting that the user skips has no answer. */
async function answersTo(
  asked: readonly AccountSetting[],
  { rejected }: Reply,
  known: Values,
): Promise<Values> {
  const answers = new Map<string, string>();
  for (const setting of asked) {
    const [host] = receivers(new Map([...known, ...answers])).password;
    const answer = await promptFor(setting, rejected.get(setting.name), host);
    if (answer !== undefined) answers.set(setting.name, answer);
  }
  return answers;
}

/**
 * Shows the hosts before any setting is written, because the author of the reply may have chosen
 * them.
 */
function showReceivers(hosts: Receivers): void {
  for (const [what, names] of Object.entries(hosts)) {
    for (const host of names) {
      say(`The ${what} will be sent to ${host}: check that this is the right host`);
    }
  }
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

interface Receivers {
  readonly password: string[];
  readonly token: string[];
}

/** Returns the hosts to which a client with these settings sends the password and the token. */
function receivers(lines: Values): Receivers {
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

/** Lists the settings that a login or a call needs, and that have no value. */
function missingIn(values: Values): AccountSetting[] {
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

/** @throws {ConfigError} `MISSING_SETTINGS` if a setting is missing that a login needs. */
function refuseWithout(
  missing: readonly AccountSetting[],
  { rejected }: Reply,
  file: string,
  from: string | undefined,
): void {
  const needed = missing.filter(({ optional }) => !optional).map(({ name }) => name);
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
