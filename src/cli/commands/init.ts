import { ACCOUNT_SETTINGS, type AccountSetting, problemOf } from "../account_settings.ts";
import type { Answer, Given } from "../command.ts";
import { readInputText } from "../input.ts";
import { FAILED, say, UsageError } from "../output.ts";
import { readReply } from "../reply.ts";
import { saveSettings } from "../settings_file.ts";
import { doctor } from "../../default_session.ts";
import { ConfigError } from "../../errors/errors.ts";
import { environment } from "../../platform/environment.ts";
import { readMasked } from "../../platform/masked_input.ts";
import { displayPath } from "../../platform/paths.ts";
import { Secret } from "../../platform/secret.ts";
import { endpointText } from "../../provider/endpoint.ts";
import { missingWritePermission } from "../../settings/env_file.ts";
import { SETTING_NAMES, VARIABLES } from "../../settings/options.ts";
import { resolveSettings, Settings } from "../../settings/settings.ts";

const PASTE = "Paste the reply of your subscription's support channel\n" +
  "and end it with an empty line. It is not shown. Or press\n" +
  "Enter to be prompted for each setting:";

/** The result for the settings. Names only: a value may be a secret in the wrong place. */
interface Outcome {
  readonly file: string;
  readonly written: readonly string[];
  /** Those for which the reply has another value. */
  readonly kept: readonly string[];
  readonly missing: readonly string[];
  /** Why a value of the reply was not used. */
  readonly rejected: Readonly<Record<string, string>>;
  /** The lines that were added to `.gitignore`. */
  readonly ignored: readonly string[];
  /** The hosts that will receive the password or the token, if they are new. */
  readonly passwordHosts: readonly string[];
  readonly tokenHosts: readonly string[];
}

export async function run(
  { options: { from }, envFile, json }: Given<{ from: string }>,
): Promise<Answer> {
  const outcome = await writeSettings(envFile, from, !json);
  const diagnosis = await doctor();
  const isDone = diagnosis.ok && Object.keys(outcome.rejected).length === 0;
  return {
    value: { ...outcome, diagnosis },
    text: `${outcomeText(outcome)}\n\n${Deno.inspect(diagnosis)}`,
    status: isDone ? 0 : FAILED,
  };
}

/**
 * Takes the settings from the reply and, in a terminal, from prompts. An existing value is replaced only
 * if the user confirms it.
 *
 * @param envFile The `.env`. Default: the one that a login uses.
 * @param from The file of the reply; `-`: standard input. Default: in a terminal it is pasted.
 * @throws {ConfigError} `MISSING_SETTINGS` if something is missing and a prompt is not possible: nothing
 *   is written.
 */
async function writeSettings(
  envFile: string | undefined,
  from: string | undefined,
  mayPrompt: boolean,
): Promise<Outcome> {
  const options = envFile === undefined ? {} : { envFile };
  const { envFile: file, file: found } = resolveSettings(options, true);
  if (file === undefined) throw new UsageError("init writes a .env", "name one with --env-file");
  const problem = found.problem ?? missingWritePermission(file);
  if (problem) throw problem;

  const prompts = mayPrompt && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const text = await replyText(from, prompts && missingIn(found.values).length > 0);
  const reply = readReply(text);
  const changes = new Map<string, string>();
  const kept: string[] = [];
  for (const [name, secret] of reply.values) {
    const value = secret.reveal();
    const before = found.values.get(name) ?? "";
    if (before === value && found.values.has(name)) continue;
    const replaces = before === "" ||
      (prompts && confirm(`${name} is set in ${displayPath(file)} and differs. Replace it?`));
    if (replaces) changes.set(name, value);
    else kept.push(name);
  }
  const rejected = new Map(reply.rejected);
  const missing: string[] = [];
  for (const setting of missingIn(new Map([...found.values, ...changes]))) {
    const { name } = setting;
    const value = prompts ? await promptFor(setting, rejected.get(name)) : undefined;
    if (value === undefined) {
      missing.push(name);
      continue;
    }
    changes.set(name, value.reveal());
    rejected.delete(name);
  }
  if (!prompts) refuseWithout(missing, rejected, file);
  const before = receivers(found.values);
  const after = receivers(new Map([...found.values, ...changes]));
  const passwordHosts = after.password.filter((host) => !before.password.includes(host));
  const tokenHosts = after.token.filter((host) => !before.token.includes(host));
  // Before anything is written: the writer of the reply chose these hosts.
  for (const [what, hosts] of [["password", passwordHosts], ["token", tokenHosts]] as const) {
    for (const host of hosts) {
      say(`The ${what} will be sent to ${host}: check that this is the right host`);
    }
  }
  const ignored = changes.size === 0 ? [] : await saveSettings(file, changes);
  return {
    file,
    written: [...changes.keys()],
    kept,
    missing,
    rejected: Object.fromEntries(rejected),
    ignored,
    passwordHosts,
    tokenHosts,
  };
}

/** The hosts that receive the password and the token with these lines of a `.env`. */
function receivers(lines: ReadonlyMap<string, string>): { password: string[]; token: string[] } {
  const endpoints = [settingsIn(lines), settingsIn(lines, environment)]
    .map((settings) => endpointText({}, settings));
  const origins = [
    lines.get("API_BASE_URL"),
    ...(lines.get("API_ALLOWED_ORIGINS") ?? "").split(","),
  ];
  const hosts = (addresses: readonly (string | undefined)[]) => [
    ...new Set(addresses.flatMap((each) => URL.parse(each?.trim() ?? "")?.host || [])),
  ];
  return { password: hosts(endpoints), token: hosts(origins) };
}

/** The settings of these lines alone, or together with those that only the environment has. */
function settingsIn(
  lines: ReadonlyMap<string, string>,
  further: (name: string) => string | undefined = () => undefined,
): Settings {
  const found = SETTING_NAMES.flatMap((name) => {
    const text = lines.get(VARIABLES[name])?.trim() || further(VARIABLES[name])?.trim();
    return text ? [[name, { text: new Secret(text), origin: "file" }] as const] : [];
  });
  return new Settings(
    { path: undefined, foreign: [], isNamed: false },
    { exists: false, values: lines },
    new Map(found),
  );
}

function outcomeText({ file, written, kept, missing, rejected, ignored }: Outcome): string {
  const path = displayPath(file);
  const again = "run platform-auth init again";
  return [
    written.length === 0 ? `${path} is unchanged` : `Wrote ${path}: ${written.join(", ")}`,
    ...Object.entries(rejected).map(([name, why]) => `! ${name} in the reply is not used: ${why}`),
    ...kept.map((name) =>
      `! ${name} keeps its value, the reply has another; remove that line and ${again}`
    ),
    ...missing.map((name) => `! ${name} is not set yet; ${again}`),
    ...(ignored.length > 0 ? [`Added to .gitignore: ${ignored.join(", ")}`] : []),
  ].join("\n");
}

async function replyText(from: string | undefined, mayPaste: boolean): Promise<string> {
  const isTyped = from === "-" && Deno.stdin.isTerminal();
  if (isTyped && !Deno.stdout.isTerminal()) {
    throw new UsageError(
      "init --from - cannot prompt: standard output is not a terminal",
      "name a file",
    );
  }
  if (isTyped || (from === undefined && mayPaste)) {
    return await readMasked(PASTE, { lines: true }) ?? "";
  }
  return from === undefined ? "" : await readInputText("--from", from);
}

function missingIn(values: ReadonlyMap<string, string>): AccountSetting[] {
  const has = (name: string) => Boolean(values.get(name)?.trim());
  // The other ways to name the token endpoint.
  const isNamed = has("AUTH_REGION") && (values.get("AUTH_PROVIDER") === "aws" ||
    (has("AUTH_PROVIDER_HOST") && has("AUTH_PROVIDER_DOMAIN")));
  return ACCOUNT_SETTINGS.filter(({ name }) => {
    if (name === "AUTH_URL" && isNamed) return false;
    // Explicitly empty: a client without a secret.
    return name === "APP_CLIENT_SECRET" ? !values.has(name) : !has(name);
  });
}

/**
 * Prompts until the value can be used. `undefined`: the user does not have it yet.
 *
 * @param problem Why the value of the reply cannot be used.
 */
async function promptFor(
  { name, question }: AccountSetting,
  problem: string | undefined,
): Promise<Secret | undefined> {
  const isSecret = name === "APP_CLIENT_SECRET";
  for (let wrong = problem;;) {
    const text = wrong === undefined ? question : `This cannot be used: ${wrong}. ${question}`;
    const value = (isSecret ? await readMasked(text) : prompt(text))?.trim() ?? "";
    if (value === "") return undefined;
    if (isSecret && value.toLowerCase() === "none") return new Secret("");
    wrong = problemOf(name, value);
    if (wrong === undefined) return new Secret(value);
  }
}

function refuseWithout(
  missing: readonly string[],
  rejected: ReadonlyMap<string, string>,
  file: string,
): void {
  const needed = missing.filter((name) =>
    ACCOUNT_SETTINGS.some((it) => it.name === name && !it.optional)
  );
  if (needed.length === 0) return;
  const unused = [...rejected].map(([name, why]) => `; ${name} in the reply is not used: ${why}`);
  const lines = needed.map((name) => `${name}=…`).join(", ");
  throw new ConfigError(
    "MISSING_SETTINGS",
    `Cannot write ${displayPath(file)}: missing ${
      needed.join(", ")
    }, and a prompt is not possible` +
      unused.join(""),
    `run platform-auth init in a terminal, or add ${lines} to the reply, one per line`,
  );
}
