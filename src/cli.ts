/**
 * The command line: the same verbs as the library.
 *
 * ```sh
 * deno install -g -A -n platform-auth src/cli.ts
 * platform-auth login && platform-auth fetch /v1/stations
 * ```
 *
 * @module
 */
import { parseArgs, type ParseArgsConfig } from "node:util";
import { UsageError } from "./cli/usage.ts";
import {
  accessToken,
  configure,
  doctor,
  login,
  logout,
  refresh,
  status,
} from "./default_session.ts";
import { AuthError, SessionExpiredError } from "./values/errors.ts";
import type { LoginOptions } from "./session/login.ts";
import type { SessionStatus } from "./session/status.ts";

const VERSION = "0.1.0";
const OK = 0;
const FAILED = 1;
const USAGE = 2;
const LOGIN_NEEDED = 3;

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

const FETCH = {
  method: { type: "string", short: "X" },
  header: { type: "string", short: "H", multiple: true },
  data: { type: "string", short: "d" },
  output: { type: "string", short: "o" },
} as const satisfies OptionsConfig;

const OPTIONS: Readonly<Record<string, OptionsConfig>> = {
  login: LOGIN,
  status: {},
  token: { "min-valid": { type: "string" } },
  fetch: FETCH,
  refresh: {},
  logout: {},
  doctor: { login: { type: "boolean" } },
};

/**
 * Runs a command.
 *
 * @param args The words behind the program's name.
 * @returns The exit status: 0 ok, 1 failed, 2 wrong usage, 3 a login is needed.
 *
 * @example
 * ```ts
 * import { runCli } from "@platform-auth/platform-auth/cli";
 *
 * console.log(await runCli(["--version"])); // 0
 * ```
 */
export async function runCli(args: readonly string[]): Promise<number> {
  const json = args.includes("--json");
  try {
    return await dispatch(args);
  } catch (error) {
    return report(error, json);
  }
}

async function dispatch(args: readonly string[]): Promise<number> {
  const [command = "--help", ...rest] = args;
  if (command === "--version" || command === "-V") {
    console.log(`platform-auth ${VERSION}`);
    return OK;
  }
  if (command === "--help" || command === "-h" || command === "help") {
    if (rest[0] === "sandbox") return await dispatch(["sandbox", "--help"]);
    return await printHelp(rest[0] ?? "");
  }
  if (command === "sandbox") return await (await import("./sandbox/main.ts")).runSandbox(rest);
  const own = Object.hasOwn(OPTIONS, command) ? OPTIONS[command] : undefined;
  if (own === undefined) {
    throw new UsageError(
      `There is no command ${JSON.stringify(command)}; see: platform-auth --help`,
    );
  }
  const { values, positionals } = parse(command, rest, { ...COMMON, ...own });
  if (values.help) return await printHelp(command);
  if (positionals.length !== (command === "fetch" ? 1 : 0)) {
    throw new UsageError(
      command === "fetch"
        ? "fetch takes one path or URL; see: platform-auth fetch --help"
        : `${command} takes no words beside its options; see: platform-auth ${command} --help`,
    );
  }
  const envFile = values["env-file"];
  if (typeof envFile === "string") configure({ envFile: envFile === "false" ? false : envFile });
  const json = values.json === true;
  switch (command) {
    case "login":
      return await runLogin(values, json);
    case "refresh":
      return await show(await refresh(), json);
    case "status":
      return await show(status(), json);
    case "token": {
      const token = await accessToken({ minValidSeconds: seconds(values["min-valid"]) });
      console.log(json ? JSON.stringify({ accessToken: token }) : token);
      warn();
      return OK;
    }
    case "logout":
      await logout();
      return await show(status(), json, OK);
    case "doctor":
      return await runDoctor(values.login === true, json);
    default: {
      const { runFetch } = await import("./cli/fetch.ts");
      const done = await runFetch(positionals[0] ?? "", values as Parameters<typeof runFetch>[1]);
      warn();
      return done;
    }
  }
}

function parse(command: string, args: readonly string[], options: OptionsConfig) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    // The parser's message names the option, never a value of ours: secrets are no arguments.
    const words = error instanceof Error
      ? error.message.split(/\. |\n/)[0]
      : "cannot be understood";
    throw new UsageError(`${words}; see: platform-auth ${command} --help`);
  }
}

async function runLogin(
  values: Readonly<Record<string, unknown>>,
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
  return await show(await login(options), json);
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
  if (json) console.log(JSON.stringify(diagnosis, null, 2));
  else {
    const { diagnosisText } = await import("./display/status_text.ts");
    console.log(colored(asCommands(diagnosisText(diagnosis))));
  }
  return diagnosis.ok ? OK : FAILED;
}

async function show(found: SessionStatus, json: boolean, always?: number): Promise<number> {
  if (json) console.log(JSON.stringify(found, null, 2));
  else {
    const { statusText } = await import("./display/status_text.ts");
    console.log(colored(asCommands(statusText(found))));
  }
  const over = found.state === "none" || found.state === "expired";
  return always ?? (over ? LOGIN_NEEDED : OK);
}

/** Standard output belongs to the answer. */
function warn(): void {
  for (const warning of status().warnings) {
    console.error(`platform-auth: warning: ${asCommands(warning)}`);
  }
}

/** What the library says to call, as the command that does it. */
function asCommands(text: string): string {
  return text.replaceAll("login({ portalToken })", "platform-auth login --portal")
    .replaceAll("login({ force: true })", "platform-auth login --force")
    .replaceAll("login()", "platform-auth login");
}

/** Colors the marks at the line starts, on a terminal only. */
function colored(text: string): string {
  if (Deno.noColor || !Deno.stdout.isTerminal()) return text;
  const codes: Record<string, number> = { "●": 32, "✓": 32, "◐": 33, "!": 33, "○": 31, "✗": 31 };
  return text.replace(
    /^(\s*)([●✓◐!○✗])/gm,
    (_, space, mark) => `${space}\u001b[${codes[mark]}m${mark}\u001b[0m`,
  );
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
  const { HELP } = await import("./cli/usage.ts");
  const text = Object.hasOwn(HELP, command) ? HELP[command] : undefined;
  if (text === undefined) {
    throw new UsageError(
      `There is no help on ${JSON.stringify(command)}; see: platform-auth --help`,
    );
  }
  console.log(text);
  return OK;
}

function report(error: unknown, json: boolean): number {
  const known = error instanceof AuthError || error instanceof UsageError ||
    error instanceof TypeError;
  if (!known) throw error;
  const code = error instanceof AuthError ? error.code : undefined;
  const { name, message } = error;
  console.error(
    json
      ? JSON.stringify({ error: { name, ...(code && { code }), message } })
      : `platform-auth: ${asCommands(message)}${code ? ` [${code}]` : ""}`,
  );
  if (error instanceof UsageError) return USAGE;
  return error instanceof SessionExpiredError ? LOGIN_NEEDED : FAILED;
}

if (import.meta.main) Deno.exit(await runCli(Deno.args));
