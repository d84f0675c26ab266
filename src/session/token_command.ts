import { endpointText } from "../provider/endpoint.ts";
import { type AuthError, ConfigError, missingPermission, ProviderError } from "../errors/errors.ts";
import { parsePortalToken } from "./portal_token.ts";
import { redact, Secret } from "../platform/secret.ts";
import { isGoodFor, makeTokens, readClaims, type Tokens } from "../provider/tokens.ts";
import { spanText } from "../errors/amounts.ts";
import { splitCommand, VARIABLES } from "../settings/options.ts";
import { scriptCommand } from "../settings/permissions.ts";
import type { Configuration } from "./configuration.ts";
import { environment } from "../platform/environment.ts";
import { type Ended, MAX_OUTPUT, runProgram } from "../platform/run_program.ts";

const PRINT_NOTHING_ELSE =
  "let it print a token and nothing else, as platform-auth token --json does";

/**
 * The tokens that the command gives. Changes nothing.
 *
 * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION`, `TOKEN_COMMAND`.
 * @throws {ProviderError} `TIMEOUT` if it does not end in time.
 */
export async function tokensByCommand(
  { configuration }: { readonly configuration: Configuration },
  limitMs: number,
  signal?: AbortSignal,
): Promise<Tokens> {
  const { settings, world } = configuration;
  const command = splitCommand(settings.text("tokenCommand") ?? "");
  if (command === undefined) {
    throw new ConfigError(
      "INVALID_SETTING",
      "Cannot use AUTH_TOKEN_COMMAND (tokenCommand): a quote is not closed, or it names no program",
      "correct it and try again",
    );
  }
  const [program] = command;
  const ended = await run(configuration, command, limitMs, signal);
  switch (ended.kind) {
    case "absent":
      throw failed(
        `the program ${program} was not found or cannot be executed`,
        "correct the command",
      );
    case "late":
      throw new ProviderError(
        "TIMEOUT",
        `Cannot get a token: ${program} of AUTH_TOKEN_COMMAND did not end within ` +
          `${limitMs / 1_000} seconds and was stopped`,
        "run the command in a terminal to see what it waits for, such as a password, or raise " +
          "AUTH_TIMEOUT_MS",
      );
    case "long":
      throw failed(`${program} printed more than ${MAX_OUTPUT / 1_024} KiB`, PRINT_NOTHING_ELSE);
    case "done": {
      const output = new Secret(ended.output);
      if (ended.status !== 0) {
        const known = [settings.secret("password"), settings.secret("clientSecret"), output];
        const said = quoted(ended.errors, known.filter((it) => it !== undefined));
        throw failed(
          `${program} ended with status ${ended.status}${said}`,
          "run the command in a terminal to see its whole output, and log in on the machine where it " +
            "runs if it asks for that",
        );
      }
      const read = readOutput(output.reveal());
      if (typeof read === "string") {
        throw failed(`${program} printed ${read}`, PRINT_NOTHING_ELSE);
      }
      const now = world.now();
      const claims = readClaims(read.accessToken.reveal());
      const { expiresInMs, expiresAt } = read;
      const claimed = claims.exp === undefined ? undefined : claims.exp * 1_000;
      const end = expiresInMs === undefined ? expiresAt ?? claimed : now + expiresInMs;
      const parts = { accessToken: read.accessToken, expiresAt: end, source: "command" } as const;
      const tokens = makeTokens({ ...parts, claims }, world);
      if (isGoodFor(tokens, world, 0)) return tokens;
      throw failed(
        `${program} printed a token that ended ${spanText(now - (end ?? now))} ago by this ` +
          "computer's clock",
        "log in where the command runs, or set the clock right",
      );
    }
  }
}

/**
 * Counts the token commands around this process. The profile of a login shell may set the command again,
 * so an empty `AUTH_TOKEN_COMMAND` does not end a circle. `LC_`: on most systems `ssh` passes on only
 * these variables.
 */
const DEPTH_VARIABLE = "LC_AUTH_TOKEN_COMMAND_DEPTH";
/** A command may lead over two machines to a third that has a command of its own. */
const MAX_DEPTH = 3;

async function run(
  { options, settings }: Configuration,
  command: readonly [string, ...string[]],
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<Ended> {
  const [program] = command;
  const depth = Number(/^\d+$/.exec(environment(DEPTH_VARIABLE) ?? "")?.[0] ?? 0);
  if (depth >= MAX_DEPTH) {
    throw failed(
      `it runs itself: ${program} is already running around this process`,
      "set AUTH_TOKEN_COMMAND= for the program that it runs, as in ssh login-node " +
        "AUTH_TOKEN_COMMAND= platform-auth token --json",
    );
  }
  // A platform-auth that the command runs on this machine must not run the command again.
  const env = { [VARIABLES.tokenCommand]: "", [DEPTH_VARIABLE]: `${depth + 1}` };
  try {
    return await runProgram(command, { limitMs, signal, env });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    const script = scriptCommand(settings, endpointText(options, settings));
    throw missingPermission(`get a token from ${program}`, `run: ${script}`);
  }
}

/** The token that a command printed. */
interface Printed {
  readonly accessToken: Secret;
  readonly expiresAt?: number;
  readonly expiresInMs?: number;
}

/** The token in an output. @returns What was printed in its place, in words that repeat nothing of it. */
function readOutput(output: string): Printed | string {
  const text = output.trim();
  if (text === "") return "nothing";
  if (text.startsWith("{")) return readJson(text);
  const lines = text.split("\n").length;
  if (lines > 1) return `${lines} lines that are no JSON`;
  const accessToken = readToken(text);
  return accessToken ? { accessToken } : "something that is no token";
}

function readJson(text: string): Printed | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "JSON that is broken, or has other text behind it";
  }
  const { access_token, expires_at, expires_in } = value as Record<string, unknown>;
  const accessToken = typeof access_token === "string" ? readToken(access_token) : undefined;
  if (accessToken === undefined) return "JSON without a token in access_token";
  if (expires_in !== undefined) {
    const seconds = typeof expires_in === "number" ? expires_in : NaN;
    // No date is as far away as a number can be.
    if (!(Math.abs(seconds) < 1e9)) return "JSON whose expires_in is no number of seconds";
    return { accessToken, expiresInMs: seconds * 1_000 };
  }
  if (expires_at === undefined) return { accessToken };
  const expiresAt = typeof expires_at === "string" ? Date.parse(expires_at) : NaN;
  return Number.isNaN(expiresAt)
    ? "JSON whose expires_at is no time such as 2030-01-31T12:00:00Z"
    : { accessToken, expiresAt };
}

/** A word of a message is no token. */
const SHORTEST_TOKEN = 20;

function readToken(text: string): Secret | undefined {
  try {
    const token = parsePortalToken(text);
    return token.length < SHORTEST_TOKEN ? undefined : new Secret(token);
  } catch {
    return undefined;
  }
}

/** What shows that a line may hold a secret that nobody here knows, such as one of another machine. */
const SECRET_SIGNS: readonly RegExp[] = [
  // A token.
  /[\w~+/=-]{32}|eyJ/,
  // A name and its value. Before that of a password there may be words: "Password for ada: …".
  /(pass(word|wd|phrase|code|wort)?|pwd)(?![a-z])[\w-]*["']?(\s+[\w.@-]+){0,3}\s*[:=]\s*\S/i,
  /(secret|credentials?|authorization|api.?key)(?![a-z])[\w-]*["']?\s*[:=]\s*\S/i,
  /(token|key)\s*=\s*\S/i,
  // Words of a command line that a shell repeats, and an address with a user and a password.
  /\s--[\w-]*(pass|secret|token)[\w-]*\s+\S|\s-u\s*\S+:\S/i,
  /:\/\/[^\s/]*@/,
];

/** The last line of what a command said, unless it may hold a secret. */
function quoted(errors: string, secrets: readonly Secret[]): string {
  const line = errors.trim().split("\n").at(-1) ?? "";
  if (line === "") return "";
  const shown = SECRET_SIGNS.some((sign) => sign.test(line))
    ? "[withheld: it may hold a secret]"
    : redact(line, secrets);
  return ` and said: ${shown}`;
}

function failed(what: string, fix: string): AuthError {
  return new ConfigError(
    "TOKEN_COMMAND",
    `Cannot get a token by AUTH_TOKEN_COMMAND (tokenCommand): ${what}`,
    fix,
  );
}
