import { type AuthError, ConfigError, missingPermission, ProviderError } from "../errors/errors.ts";
import { readPortalToken, SHORTEST_OPAQUE_TOKEN } from "./portal_token.ts";
import { redact, Secret } from "../platform/secret.ts";
import { readClaims } from "../platform/claims.ts";
import { isGoodFor, makeTokens, type Tokens } from "../provider/tokens.ts";
import { spanText } from "../errors/amounts.ts";
import { splitCommand, VARIABLES } from "../settings/options.ts";
import { scriptCommand } from "../settings/permissions.ts";
import type { Settings } from "../settings/settings.ts";
import type { Configuration } from "./configuration.ts";
import { environment } from "../platform/environment.ts";
import { type Ended, MAX_OUTPUT, runProgram } from "../platform/run_program.ts";
import { parsedJson } from "../platform/json.ts";

const PRINT_NOTHING_ELSE =
  "make the command print only a token, as platform-auth token --json does";

/**
 * Runs the command and returns the tokens that it prints. Does not change the session.
 *
 * @throws {ConfigError} `INVALID_SETTING` if the command cannot be read; `PERMISSION` if the
 * permission to run the command is missing; `TOKEN_COMMAND` if the command fails.
 * @throws {ProviderError} `TIMEOUT` if the command does not end in time.
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
      "Cannot use AUTH_TOKEN_COMMAND (tokenCommand): a quote is not closed, or no program is named",
      "correct it and try again",
    );
  }
  const [program] = command;
  const ended = await run(settings, command, limitMs, signal);
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
        "run the command in a terminal to see what it waits for, such as a password, or increase " +
          "AUTH_TIMEOUT_MS",
      );
    case "long":
      throw failed(`${program} printed more than ${MAX_OUTPUT / 1_024} KiB`, PRINT_NOTHING_ELSE);
    case "done": {
      const output = new Secret(ended.output);
      if (ended.status !== 0) {
        const known = [settings.secret("password"), settings.secret("clientSecret"), output];
        const printed = quoted(ended.errors, known.filter((it) => it !== undefined));
        throw failed(
          `${program} ended with status ${ended.status}${printed}`,
          "run the command in a terminal to see its whole output, and if necessary log in on the machine where " +
            "it runs",
        );
      }
      const now = world.now();
      const read = readOutput(output.reveal(), now);
      if (read === undefined) throw failed(`${program} printed no token`, PRINT_NOTHING_ELSE);
      const claims = readClaims(read.accessToken.reveal());
      const claimed = claims.exp === undefined ? undefined : claims.exp * 1_000;
      const end = read.expiresAt ?? claimed;
      const parts = { accessToken: read.accessToken, expiresAt: end, source: "command" } as const;
      const tokens = makeTokens({ ...parts, claims }, world);
      if (isGoodFor(tokens, world, 0)) return tokens;
      throw failed(
        `${program} printed a token that expired ${spanText(now - (end ?? now))} ago by this ` +
          "computer's clock",
        "log in where the command runs, or correct the clock",
      );
    }
  }
}

/**
 * The number of nested token commands around this process. A limit on this number stops a loop. An
 * empty `AUTH_TOKEN_COMMAND` is not enough: the profile of a login shell may set the command again.
 * The name begins with `LC_`, because on most systems `ssh` passes no other variables.
 */
const DEPTH_VARIABLE = "LC_AUTH_TOKEN_COMMAND_DEPTH";
/** A command may connect through two machines to a third machine that has its own command. */
const MAX_DEPTH = 3;

async function run(
  settings: Settings,
  command: readonly [string, ...string[]],
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<Ended> {
  const [program] = command;
  const depth = Number(/^\d+$/.exec(environment(DEPTH_VARIABLE) ?? "")?.[0] ?? 0);
  if (depth >= MAX_DEPTH) {
    throw failed(
      `it runs itself: ${program} started this process`,
      "set AUTH_TOKEN_COMMAND= for the program that the command runs, as in ssh login-node " +
        "AUTH_TOKEN_COMMAND= platform-auth token --json",
    );
  }
  // If the command runs platform-auth on this machine, that process must not run the command again.
  const env = { [VARIABLES.tokenCommand]: "", [DEPTH_VARIABLE]: `${depth + 1}` };
  try {
    return await runProgram(command, { limitMs, signal, env });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    const flag = `--allow-run=${program}`;
    throw missingPermission(`get a token from ${program}`, flag, `run: ${scriptCommand(settings)}`);
  }
}

/**
 * Returns the token in an output, with its expiry if the output states it; `undefined` if there is
 * no token.
 */
function readOutput(
  output: string,
  now: number,
): { readonly accessToken: Secret; readonly expiresAt?: number } | undefined {
  const text = output.trim();
  if (!text.startsWith("{")) return text.includes("\n") ? undefined : readToken(text);
  const value = parsedJson(text);
  const { access_token, expires_at, expires_in } = (value ?? {}) as Record<string, unknown>;
  const token = typeof access_token === "string" ? readToken(access_token) : undefined;
  if (token === undefined || (expires_in ?? expires_at) === undefined) return token;
  const expiresAt = expires_in === undefined
    ? Date.parse(typeof expires_at === "string" ? expires_at : "")
    : now + Number(expires_in) * 1_000;
  // A larger number would exceed the range of a Date.
  return Math.abs(expiresAt) < 8.64e15 ? { ...token, expiresAt } : undefined;
}

function readToken(text: string): { readonly accessToken: Secret } | undefined {
  try {
    const token = readPortalToken(text, { isToken: true });
    return token.length < SHORTEST_OPAQUE_TOKEN ? undefined : { accessToken: new Secret(token) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return undefined;
  }
}

/** Signs that a line may contain an unknown secret, such as a password for another machine. */
const SECRET_SIGNS: readonly RegExp[] = [
  // This matches a token.
  /[\w~+/=-]{32}|eyJ/,
  // These match a name and a value, even with words in between: "Password for ada: …".
  /(pass(word|wd|phrase|code|wort)?|pwd)(?![a-z])[\w-]*["']?(\s+[\w.@-]+){0,3}\s*[:=]\s*\S/i,
  /(secret|credentials?|authorization|api.?key)(?![a-z])[\w-]*["']?\s*[:=]\s*\S/i,
  /(token|key)\s*=\s*\S/i,
  // These match command-line arguments that a shell prints, and an address that contains a
  // password.
  /\s--[\w-]*(pass|secret|token)[\w-]*\s+\S|\s-u\s*\S+:\S/i,
  /:\/\/[^\s/]*@/,
];

/** Quotes the last line of the error output, unless that line may contain a secret. */
function quoted(errors: string, secrets: readonly Secret[]): string {
  const line = errors.trim().split("\n").at(-1) ?? "";
  if (line === "") return "";
  const shown = SECRET_SIGNS.some((sign) => sign.test(line))
    ? "[withheld: it may contain a secret]"
    : redact(line, secrets);
  return ` and printed: ${shown}`;
}

function failed(problem: string, fix: string): AuthError {
  return new ConfigError(
    "TOKEN_COMMAND",
    `Cannot get a token with AUTH_TOKEN_COMMAND (tokenCommand): ${problem}`,
    fix,
  );
}
