/**
 * The command line: what each command takes, does and prints. May import all but the sandbox, which
 * one command starts.
 */
import { parseArgs, type ParseArgsConfig } from "node:util";
import {
  FAILED,
  OK,
  print,
  printDiagnosis,
  printJson,
  printKept,
  printStatus,
  say,
  UsageError,
} from "./output.ts";
import {
  accessToken,
  configure,
  doctor,
  login,
  logout,
  refresh,
  status,
} from "../default_session.ts";
import type { LoginOptions } from "../session/login.ts";
import { ConfigError } from "../errors/errors.ts";
import { closest } from "../values/wording.ts";

type OptionsConfig = NonNullable<ParseArgsConfig["options"]>;

const COMMON = {
  "env-file": { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const satisfies OptionsConfig;

const LOGIN = {
  portal: { type: "boolean" },
  username: { type: "string" },
  stdin: { type: "boolean" },
  force: { type: "boolean" },
} as const satisfies OptionsConfig;

const LOGOUT = {
  everywhere: { type: "boolean" },
  "keep-remote": { type: "boolean" },
} as const satisfies OptionsConfig;

const FETCH = {
  method: { type: "string", short: "X" },
  header: { type: "string", short: "H", multiple: true },
  data: { type: "string", short: "d" },
  output: { type: "string", short: "o" },
} as const satisfies OptionsConfig;

/** The options of each command, and how many words it takes beside them. */
const COMMANDS: Readonly<Record<string, { options: OptionsConfig; words: [number, number] }>> = {
  init: { options: { from: { type: "string" } }, words: [0, 0] },
  login: { options: LOGIN, words: [0, 0] },
  status: { options: {}, words: [0, 0] },
  token: { options: { "min-valid": { type: "string" } }, words: [0, 0] },
  fetch: { options: FETCH, words: [1, 1] },
  refresh: { options: {}, words: [0, 0] },
  logout: { options: LOGOUT, words: [0, 0] },
  doctor: { options: { login: { type: "boolean" } }, words: [0, 0] },
  notebook: { options: {}, words: [0, 1] },
  explain: { options: {}, words: [0, 1] },
  "store-key": { options: {}, words: [0, 0] },
};

/** Runs a command. @returns The exit status. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const [command = "--help", ...rest] = args;
  if (command === "--version" || command === "-V") {
    await print(`platform-auth ${await version()}`);
    return OK;
  }
  if (command === "--help" || command === "-h" || command === "help") {
    if (rest[0] === "sandbox") return await runCommand(["sandbox", "--help"]);
    return await printHelp(rest[0] ?? "");
  }
  if (command === "sandbox") return await runSandboxCommand(rest);
  const own = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (own === undefined) throw unknownCommand(command);
  const { values, positionals } = parse(command, rest, { ...COMMON, ...own.options });
  if (values.help) return await printHelp(command);
  const [least, most] = own.words;
  if (positionals.length < least || positionals.length > most) {
    const takes = least === 1
      ? "takes one path or URL"
      : most === 1
      ? `takes one ${command === "explain" ? "code" : "file"}`
      : "takes no words beside its options";
    throw new UsageError(`${command} ${takes}; see: platform-auth ${command} --help`);
  }
  const envFile = values["env-file"];
  if (typeof envFile === "string") configure({ envFile: envFile === "false" ? false : envFile });
  return await perform(command, positionals[0], values, values.json === true);
}

/** It stands in one place only. As text, because that file has comments. */
async function version(): Promise<string> {
  const { default: text } = await import("../../deno.json", { with: { type: "text" } });
  return /"version": ?"([^"]+)"/.exec(text)?.[1] ?? "";
}

/** The sandbox imports nothing of the client, so it is given what it uses of it. */
async function runSandboxCommand(args: string[]): Promise<number> {
  const { runSandbox } = await import("../sandbox/main.ts");
  return await runSandbox(args, {
    closest,
    saveSettings: async (folder, settings) =>
      await (await import("./settings_file.ts")).saveSandboxSettings(folder, settings),
  });
}

async function perform(
  command: string,
  word: string | undefined,
  values: Values,
  json: boolean,
): Promise<number> {
  switch (command) {
    case "init": {
      const { "env-file": envFile, from } = values as Record<string, string | undefined>;
      return await (await import("./init.ts")).runInit(envFile, from, json);
    }
    case "notebook":
      await (await import("./notebook.ts")).writeNotebook(word, json);
      return OK;
    case "login":
      return await runLogin(values, json);
    case "refresh":
      return await printKept(await refresh(), json);
    case "status":
      if (status().store !== undefined) await askStore();
      return await printStatus(status(), json);
    case "token": {
      const token = await accessToken({ minValidSeconds: seconds(values["min-valid"]) });
      await (json ? printJson(tokenAnswer(token)) : print(token));
      warn();
      return OK;
    }
    case "logout":
      return await runLogout(values, json);
    case "doctor":
      return await runDoctor(values.login === true, json);
    case "store-key":
      await print((await import("../session/cluster/sealing.ts")).newStoreKey());
      return OK;
    case "explain":
      await (await import("./explain.ts")).explain(word, json);
      return OK;
    default: {
      const { runFetch } = await import("./fetch.ts");
      const done = await runFetch(word ?? "", values as Parameters<typeof runFetch>[1]);
      warn();
      return done;
    }
  }
}

type Values = Readonly<Record<string, unknown>>;

function parse(command: string, args: readonly string[], options: OptionsConfig) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    const unknown = /^Unknown option '-+([^']*)/.exec(message)?.[1];
    // The parser's other messages name options of ours, and never a value.
    const words = unknown === undefined
      ? message.split(/\. |\n/)[0]
      : unknownOption(command, unknown, Object.keys(options));
    throw new UsageError(`${words}; see: platform-auth ${command} --help`);
  }
}

/** A word that is near to no option may be a secret in the wrong place, and is not quoted. */
function unknownOption(command: string, given: string, known: readonly string[]): string {
  const meant = closest(given, known);
  return meant === undefined
    ? `${command} has no such option; it takes ${known.map((name) => `--${name}`).join(", ")}`
    : `${command} has no option --${given} (did you mean --${meant}?)`;
}

/** Words of other programs for what a command does. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  ...{ setup: "init", configure: "init", config: "init", signin: "login", authenticate: "login" },
  ...{ whoami: "status", info: "status", get: "fetch", curl: "fetch", call: "fetch" },
  ...{ signout: "logout", revoke: "logout", check: "doctor", diagnose: "doctor", new: "notebook" },
};

function unknownCommand(given: string): UsageError {
  if (given.startsWith("-")) {
    const alone = closest(given, ["--help", "--version"]);
    return new UsageError(
      alone === undefined
        ? "Options stand behind the command, as in: platform-auth status --json"
        : `There is no such option (did you mean ${alone}?); see: platform-auth --help`,
    );
  }
  const plain = given.toLowerCase().replaceAll(/[-_]/g, "");
  const known = [...Object.keys(COMMANDS), "sandbox", "help"];
  const meant = Object.hasOwn(OTHER_WORDS, plain) ? OTHER_WORDS[plain] : closest(plain, known);
  return new UsageError(
    `There is no such command${
      meant ? ` (did you mean ${meant}?)` : ""
    }; see: platform-auth --help`,
  );
}

async function runLogin(
  values: Values,
  json: boolean,
): Promise<number> {
  const { portal, username, stdin, force } = values;
  if (portal === true && username !== undefined) {
    throw new UsageError("login takes either --portal or --username");
  }
  const secret = stdin === true ? await readSecret() : undefined;
  const options: LoginOptions = {
    ...(force === true && { force }),
    ...(typeof username === "string" && { username, strategy: "password" }),
    ...(secret !== undefined && (portal ? { portalToken: secret } : { password: secret })),
    ...(portal === true && { strategy: "portal" }),
  };
  return await printKept(await login(options), json);
}

async function runLogout(values: Values, json: boolean): Promise<number> {
  const everywhere = values.everywhere === true;
  const revoke = values["keep-remote"] !== true;
  if (everywhere && !revoke) {
    throw new UsageError("logout takes either --everywhere or --keep-remote");
  }
  return await printStatus(await logout({ everywhere, revoke }), json, OK);
}

/** The secret is the first line: a password may hold any other character. */
async function readSecret(): Promise<string> {
  const text = await new Response(Deno.stdin.readable).text();
  const line = text.replace(/\r?\n[\s\S]*$/, "");
  if (line === "") throw new UsageError("Standard input is empty; give the secret on one line");
  return line;
}

async function runDoctor(alsoLogin: boolean, json: boolean): Promise<number> {
  const diagnosis = await doctor({ login: alsoLogin });
  await (json ? printJson(diagnosis) : printDiagnosis(diagnosis));
  return diagnosis.ok ? OK : FAILED;
}

/** What a store holds nobody knows before it was asked, as a call does. Whether there is a session the status tells. */
async function askStore(): Promise<void> {
  try {
    await accessToken();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
  }
}

/** A token as AUTH_TOKEN_COMMAND takes it elsewhere. */
function tokenAnswer(token: string): Record<string, string> {
  const { accessTokenExpiresAt: end } = status();
  return { access_token: token, ...(end && { expires_at: end.toISOString() }) };
}

/** Standard output belongs to the answer. */
function warn(): void {
  for (const warning of status().warnings) say(`warning: ${warning}`);
}

function seconds(text: unknown): number {
  if (text === undefined) return 0;
  const value = Number(text);
  if (typeof text !== "string" || text.trim() === "" || !(value >= 0 && value < 1e9)) {
    throw new UsageError("--min-valid takes a number of seconds");
  }
  return value;
}

async function printHelp(command: string): Promise<number> {
  const { HELP } = await import("./usage.ts");
  const text = Object.hasOwn(HELP, command) ? HELP[command] : undefined;
  if (text === undefined) throw unknownCommand(command);
  await print(text);
  return OK;
}
