import { parseArgs } from "node:util";
import type { StartSandboxOptions } from "./options.ts";
import type { Sandbox } from "./sandbox.ts";
import { startSandbox } from "./start_sandbox.ts";

const FIRST_PORT = 8410;

const helpOf = (command: string) =>
  `Runs an identity provider, a portal and a data platform API on this computer,
to try things out and to teach. You do not need an account.

Usage: ${command} [options]

  --port N                    use the ports N, N+1 and N+2 (default ${FIRST_PORT};
                              0: any free ports)
  --access-token-seconds N    lifetime of an access token (default 1800)
  --refresh-days N            lifetime of a refresh token (default 30)
  --words vendor|aws          header names of the token endpoint: those of the
                              API document (default) or of AWS
  --rotate initiate-auth|get-tokens
                              each refresh returns a new refresh token, by this
                              operation
  --grace-seconds N           how long a replaced refresh token still works
                              (default 0)
  --user NAME[:PASSWORD]      add an account; may be repeated (default: the
                              PASSWORD of the first account)
  --alias                     users log in by e-mail; their user name in the
                              pool is a UUID
  --public-client             an app client without a secret
  --lockout-after N           lock a user after N wrong passwords
  --throttle-per-second N     refuse more than N requests per second to the
                              token endpoint
  --challenge NAME[,NAME...]  require these challenges of each login, such as
                              NEW_PASSWORD_REQUIRED,MFA_SETUP; the portal shows
                              the codes under "Authenticator" and "Messages"
  --track-devices on|ask      each refresh must name the device of its login;
                              ask: the user may choose to have it remembered
  --no-revocation             refuse RevokeToken
  --latency-ms N              wait before each response
  --write-env DIR             write the settings to DIR/.env instead of printing
                              them; replaces only those of an earlier sandbox
  --help                      print this text

Ctrl+C stops it.
`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
/** The options of its command line. */
export const OPTIONS = {
  "port": text,
  "access-token-seconds": text,
  "refresh-days": text,
  "words": text,
  "rotate": text,
  "grace-seconds": text,
  "user": { ...text, multiple: true },
  "alias": flag,
  "public-client": flag,
  "lockout-after": text,
  "throttle-per-second": text,
  "challenge": text,
  "track-devices": text,
  "no-revocation": flag,
  "latency-ms": text,
  "write-env": text,
  "help": { ...flag, short: "h" },
} as const;

const NUMBERS = [
  "port",
  "access-token-seconds",
  "refresh-days",
  "grace-seconds",
  "lockout-after",
  "throttle-per-second",
  "latency-ms",
] as const;

/** What the command line of the client lends to the sandbox, which imports nothing of it. */
export interface ClientTools {
  /** The command that started the sandbox, without options. */
  readonly command: string;
  /**
   * Writes settings to the `.env` of a folder, replacing only those of an earlier sandbox.
   *
   * @returns The path of the file.
   */
  saveSettings(
    folder: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** Wraps a line of standard error at words. */
  fitted(line: string): string;
  /** The known word closest to a misspelled one. */
  closest(word: string, known: readonly string[]): string | undefined;
}

/** A parsed command line. */
export interface SandboxCommand {
  readonly options: StartSandboxOptions;
  readonly users: readonly string[];
  readonly folder: string | undefined;
  readonly help: boolean | undefined;
}

/**
 * Parses the command line.
 *
 * @throws {TypeError} An option is unknown or its value is missing.
 */
export function parseSandboxArgs(
  args: string[],
  closest?: ClientTools["closest"],
): SandboxCommand {
  try {
    const { values } = parseArgs({ args, options: OPTIONS });
    // The sandbox checks them.
    const options: Record<string, unknown> = {
      port: FIRST_PORT,
      words: values.words,
      rotateRefreshTokens: values.rotate,
      challenge: values.challenge?.split(","),
      trackDevices: values["track-devices"] === "on" || values["track-devices"],
      aliasSignIn: values.alias,
      ...(values["public-client"] && { clientSecret: false }),
      ...(values["no-revocation"] && { revocation: false }),
    };
    for (const name of NUMBERS) {
      const value = values[name];
      const option = name.replace(/-./g, (part) => part.slice(1).toUpperCase());
      if (value !== undefined) options[option] = value.trim() === "" ? NaN : Number(value);
    }
    return { options, users: values.user ?? [], folder: values["write-env"], help: values.help };
  } catch (error) {
    throw usageError(error, closest);
  }
}

/** The parser quotes what it does not know, which may be a secret in the wrong place. */
function usageError(error: unknown, closest: ClientTools["closest"] | undefined): TypeError {
  const [problem = ""] = (error instanceof Error ? error.message : "").split("\n");
  const [unknown, option = ""] =
    /^(?:Unknown option '-*([^']*)|Unexpected argument)/.exec(problem) ?? [];
  if (unknown === undefined) return new TypeError(problem);
  const meant = closest?.(option, Object.keys(OPTIONS));
  const hint = meant === undefined ? "" : ` (did you mean --${meant}?)`;
  return new TypeError(`Cannot start the sandbox: there is no such option${hint}`);
}

/** The settings under their names in a `.env`. */
function variablesOf({ settings, portalUrl }: Sandbox): Record<string, string> {
  return {
    AUTH_URL: settings.authUrl,
    AUTH_PROVIDER: settings.provider,
    APP_CLIENT_ID: settings.clientId,
    APP_CLIENT_SECRET: settings.clientSecret,
    USER_POOL_ID: settings.userPoolId,
    USERNAME: settings.username,
    PASSWORD: settings.password,
    API_BASE_URL: settings.apiBaseUrl,
    PORTAL_URL: portalUrl,
  };
}

/**
 * The text printed at the start: the addresses, and the lines for a `.env`.
 *
 * @param envFile The file that already contains the lines.
 * @param others Names of further accounts.
 */
export function describeSandbox(
  sandbox: Sandbox,
  envFile?: string,
  others: readonly string[] = [],
): string {
  const { portalUrl, authUrl, apiUrl } = sandbox;
  const lines = Object.entries(variablesOf(sandbox)).map(([name, value]) => `${name}=${value}`);
  const settings = envFile === undefined
    ? `Put these lines into a .env. The secrets are shown because they work only with this sandbox; never
print those of a real account. USERNAME and PASSWORD also work in the portal.

${lines.join("\n")}`
    : `The settings are in ${envFile}
USERNAME and PASSWORD also work in the portal.`;
  const further = others.length === 0 ? "" : `Further accounts: ${others.join(", ")}\n\n`;
  return `The sandbox is running.

  identity provider  ${authUrl}
  portal             ${portalUrl}
  data platform API  ${apiUrl}

${settings}

${further}Ctrl+C stops the sandbox; its tokens stop working.
`;
}

/** Runs the sandbox until Ctrl+C. Returns the exit status: 0, 1 if it failed, 2 for wrong usage. */
export async function runSandbox(args: string[], tools: ClientTools): Promise<number> {
  await using started = new AsyncDisposableStack();
  let sandbox: Sandbox;
  let command: SandboxCommand;
  try {
    command = parseSandboxArgs(args, tools.closest);
    if (command.help) {
      console.log(helpOf(tools.command));
      return 0;
    }
    sandbox = started.use(await startSandbox(command.options));
    for (const user of command.users) addUser(sandbox, user);
  } catch (error) {
    const isUsage = error instanceof TypeError || error instanceof RangeError;
    const text = tools.fitted(error instanceof Error ? error.message : String(error));
    console.error(isUsage ? `${text}\nSee ${tools.command} --help` : text);
    return isUsage ? 2 : 1;
  }
  const { folder, users } = command;
  const envFile = folder === undefined
    ? undefined
    : await tools.saveSettings(folder, variablesOf(sandbox));
  const stopped = Promise.withResolvers<void>();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stopped.resolve);
  console.log(describeSandbox(sandbox, envFile, users.map((user) => user.split(":", 1)[0] ?? "")));
  await stopped.promise;
  for (const signal of signals) Deno.removeSignalListener(signal, stopped.resolve);
  return 0;
}

function addUser({ addUser, settings }: Sandbox, text: string): void {
  const [username = "", ...rest] = text.split(":");
  const password = rest.length === 0 ? settings.password : rest.join(":");
  addUser({ username, password, ...(username.includes("@") && { email: username }) });
}
