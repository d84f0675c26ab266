import { defineCommand } from "../command.ts";
import {
  FAILED,
  OK,
  print,
  printDiagnosis,
  printJson,
  printText,
  say,
  UsageError,
} from "../output.ts";
import { readReply } from "../reply.ts";
import { refuseWithoutPermission, saveSettings } from "../settings_file.ts";
import { doctor } from "../../default_session.ts";
import { displayPath } from "../../platform/paths.ts";
import { readMasked } from "../../platform/masked_input.ts";
import { isSafeTransport } from "../../platform/transport.ts";
import { SETTING_NAMES, VARIABLES } from "../../settings/options.ts";
import { resolveSettings, Settings } from "../../settings/settings.ts";
import { endpointText } from "../../provider/provider_settings.ts";
import { environment } from "../../platform/environment.ts";
import { ConfigError } from "../../errors/errors.ts";
import { Secret, VISIBLE_ASCII } from "../../platform/secret.ts";

const PASTE = "Paste the reply of your subscription's support channel,\n" +
  "and end with an empty line (it is not shown; an empty line\n" +
  "alone: you are asked for each setting):";
const NO_SECRET = "none";

/** What a login or a call needs, and the question for it. */
interface Needed {
  readonly name: string;
  readonly question: string;
  /** Calls with a whole URL need no base address. */
  readonly optional?: boolean;
  /** What is wrong with an answer. */
  check(answer: string): string | undefined;
}

const NEEDED: readonly Needed[] = [
  {
    name: "AUTH_URL",
    question: "Address of the token endpoint, https://…:",
    check: addressProblem,
  },
  { name: "APP_CLIENT_ID", question: "App client id:", check: wordProblem },
  {
    name: "APP_CLIENT_SECRET",
    question: `App client secret (masked; "${NO_SECRET}" if the client has none):`,
    check: wordProblem,
  },
  { name: "USER_POOL_ID", question: "User pool id:", check: wordProblem },
  {
    name: "API_BASE_URL",
    question: "Base address of the data platform API, https://… (Enter: later):",
    optional: true,
    check: addressProblem,
  },
];

/** What became of the settings. Names only: a value may be a secret in the wrong place. */
interface Outcome {
  readonly file: string;
  readonly written: readonly string[];
  /** Those with another value in the reply. */
  readonly kept: readonly string[];
  readonly missing: readonly string[];
  /** The lines that `.gitignore` got. */
  readonly ignored: readonly string[];
  /** The host that will get the password, if it is new. */
  readonly passwordHost?: string | undefined;
  /** The first of `tokenHosts`. */
  readonly tokenHost?: string | undefined;
  /** The hosts that will get the token, if they are new. */
  readonly tokenHosts: readonly string[];
}

export const command = defineCommand({
  summary: "write the settings of your account into a .env",
  synonyms: ["setup", "configure", "config", "settings", "env", "start"],
  description: `Writes the settings of your account into the .env, and checks them. It asks for
what is missing. It finds the settings in the reply of your subscription's
support channel, where that has them in a table, in lines such as
"Client id: ..." or KEY=value, or as JSON. Of the reply only the hosts are shown
that will get the password or the token, and no value that is there is replaced
unasked. In a git work tree, .gitignore gets the lines that keep the .env out.`,
  options: {
    from: {
      type: "string",
      value: "<file>",
      help: "the reply as a text file; - standard input.\nDefault: you paste it",
    },
  },
  examples: ["platform-auth init", "platform-auth init --from reply.txt"],
  async run({ options: { from }, envFile, json }) {
    const outcome = await writeSettings(envFile, from, !json);
    if (!json) await printOutcome(outcome);
    const diagnosis = await doctor();
    await (json ? printJson({ ...outcome, diagnosis }) : printDiagnosis(diagnosis));
    return diagnosis.ok ? OK : FAILED;
  },
});

/**
 * Takes the settings from the reply and, where that may be, from answers of the user. A value that is
 * there is replaced only if the user says so.
 *
 * @param envFile The `.env`. Default: the one that a login uses.
 * @param from The file of the reply; `-`: standard input. Default: it is pasted, where there is a terminal.
 * @throws {ConfigError} `MISSING_SETTINGS` if something is missing and nobody can be asked: nothing
 *   is written.
 */
async function writeSettings(
  envFile: string | undefined,
  from: string | undefined,
  mayAsk: boolean,
): Promise<Outcome> {
  const options = envFile === undefined ? {} : { envFile };
  const { envFile: file, file: found } = resolveSettings(options, true);
  if (file === undefined) throw new UsageError("init writes a .env", "name one with --env-file");
  if (found.problem) throw found.problem;
  refuseWithoutPermission(file);

  const asks = mayAsk && Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  const reply = await replyFrom(from, asks && missingIn(found.values).length > 0);
  const changes = new Map<string, string>();
  const kept: string[] = [];
  for (const [name, secret] of readReply(reply)) {
    const value = secret.reveal();
    const before = found.values.get(name) ?? "";
    if (before === value && found.values.has(name)) continue;
    const replaces = before === "" ||
      (asks && confirm(`${name} is set in ${displayPath(file)} and differs. Replace it?`));
    if (replaces) changes.set(name, value);
    else kept.push(name);
  }
  const missing: string[] = [];
  for (const needed of missingIn(new Map([...found.values, ...changes]))) {
    const answer = asks ? await askFor(needed) : undefined;
    if (answer === undefined) missing.push(needed.name);
    else changes.set(needed.name, answer.reveal());
  }
  if (!asks) refuseWithout(missing, file);
  const before = receivers(found.values);
  const after = receivers(new Map([...found.values, ...changes]));
  const passwordHosts = after.password.filter((host) => !before.password.includes(host));
  const tokenHosts = after.token.filter((host) => !before.token.includes(host));
  // The writer of the reply chose these hosts. On standard output a program waits for JSON alone.
  const tell = mayAsk ? print : say;
  const hosts = [["password", passwordHosts], ["token", tokenHosts]] as const;
  for (const [what, names] of hosts) {
    for (const host of names) {
      await tell(`The ${what} will go to ${host}: make sure that it is right`);
    }
  }
  const ignored = changes.size === 0 ? [] : await saveSettings(file, found.values, changes);
  const [[passwordHost], [tokenHost]] = [passwordHosts, tokenHosts];
  const written = [...changes.keys()];
  return { file, written, kept, missing, ignored, passwordHost, tokenHost, tokenHosts };
}

/** The hosts that get the password and the token with these lines of a `.env`. */
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

/** The settings of these lines alone, or with those that only the environment has. */
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

async function printOutcome(outcome: Outcome): Promise<void> {
  const { file, written, kept, missing, ignored } = outcome;
  const place = displayPath(file);
  await printText(
    written.length === 0 ? `${place} is as it was` : `Wrote ${place}: ${written.join(", ")}`,
  );
  for (const name of kept) {
    await printText(
      `! ${name} is kept, the reply has another; remove that line and run platform-auth init again`,
    );
  }
  for (const name of missing) {
    await printText(`! ${name} is not set yet; run platform-auth init again`);
  }
  if (ignored.length > 0) await printText(`Added to .gitignore: ${ignored.join(", ")}`);
  await print("");
}

async function replyFrom(from: string | undefined, mayPaste: boolean): Promise<string> {
  const typed = from === "-" && Deno.stdin.isTerminal();
  if (typed && !Deno.stdout.isTerminal()) {
    throw new UsageError("init --from - cannot ask: standard output is no terminal", "name a file");
  }
  if (typed || (from === undefined && mayPaste)) {
    return await readMasked(PASTE, { lines: true }) ?? "";
  }
  if (from === undefined) return "";
  if (from === "-") return await new Response(Deno.stdin.readable).text();
  try {
    return await Deno.readTextFile(from);
  } catch (error) {
    // The reply itself in its place holds a secret, and so may an address.
    const shown = /[\r\n=|]|:\/|.{200}/.test(from) ? "what --from names" : from;
    throw new ConfigError("INVALID_SETTING", `Cannot read ${shown}`, "check the path", error);
  }
}

function missingIn(values: ReadonlyMap<string, string>): Needed[] {
  const has = (name: string) => Boolean(values.get(name)?.trim());
  // The other ways to name the token endpoint.
  const isNamed = has("AUTH_REGION") && (values.get("AUTH_PROVIDER") === "aws" ||
    (has("AUTH_PROVIDER_HOST") && has("AUTH_PROVIDER_DOMAIN")));
  return NEEDED.filter(({ name }) => {
    if (name === "AUTH_URL" && isNamed) return false;
    // Explicitly empty: a client without a secret.
    return name === "APP_CLIENT_SECRET" ? !values.has(name) : !has(name);
  });
}

/** Asks until the answer can be used. `undefined`: the user does not have it yet. */
async function askFor({ name, question, check }: Needed): Promise<Secret | undefined> {
  const isSecret = name === "APP_CLIENT_SECRET";
  for (let refused = "";;) {
    const asked = `${refused}${question}`;
    const answer = (isSecret ? await readMasked(asked) : prompt(asked))?.trim() ?? "";
    if (answer === "") return undefined;
    if (isSecret && answer.toLowerCase() === NO_SECRET) return new Secret("");
    const wrong = check(answer);
    if (wrong === undefined) return new Secret(answer);
    refused = `This cannot be used: ${wrong}. `;
  }
}

function addressProblem(answer: string): string | undefined {
  const url = URL.parse(answer);
  if (url === null) return "it is no address, such as https://api.example.com";
  return isSafeTransport(url) ? undefined : "it must begin with https:";
}

function wordProblem(answer: string): string | undefined {
  return VISIBLE_ASCII.test(answer) ? undefined : "it holds a blank or an unusual character";
}

function refuseWithout(missing: readonly string[], file: string): void {
  const needed = missing.filter((name) => NEEDED.some((it) => it.name === name && !it.optional));
  if (needed.length === 0) return;
  const names = needed.join(", ");
  const lines = needed.map((name) => `${name}=…`).join(", ");
  const were = needed.length > 1 ? "were" : "was";
  throw new ConfigError(
    "MISSING_SETTINGS",
    `Cannot write ${displayPath(file)}: ${names} ${were} not found, and nobody can be asked here`,
    `run platform-auth init in a terminal, or add ${lines} to the reply, one a line`,
  );
}
