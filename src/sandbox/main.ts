import { parseArgs } from "node:util";
import { CLIENT_ID, CLIENT_SECRET, type StartSandboxOptions, USER_POOL_ID } from "./options.ts";
import type { Sandbox } from "./sandbox.ts";
import { USER } from "./settings.ts";
import { startSandbox } from "./start_sandbox.ts";

const FIRST_PORT = 8410;
/** How the sandbox was started, where no command line of the client did. */
const OWN_COMMAND = `deno run ${new URL(import.meta.url).pathname.split("/").at(-1)}`;

const helpOf = (command: string) =>
  `Runs an identity provider, a portal and a data platform API on this computer,
to try things out and to teach. No account is needed.

Usage: ${command} [options]

  --port N                    use the ports N, N+1 and N+2 (default ${FIRST_PORT};
                              0: any free ones)
  --access-token-seconds N    lifetime of an access token (default 1800)
  --refresh-days N            lifetime of a refresh token (default 30)
  --words vendor|aws          header names of the token endpoint: as in the API
                              document (default), or those of AWS
  --rotate initiate-auth|get-tokens
                              each refresh gives a new refresh token, by this
                              operation
  --grace-seconds N           how long a replaced refresh token works
                              (default 0)
  --user NAME[:PASSWORD]      a further account; may be given several times
                              (default: the PASSWORD of the first)
  --alias                     users log in by e-mail; the provider's own name
                              for them is a UUID
  --public-client             an app client without secret
  --lockout-after N           lock a user after N wrong passwords
  --throttle-per-second N     refuse more than N requests a second to the token
                              endpoint
  --challenge NAME[,NAME...]  ask each login for these steps, such as
                              NEW_PASSWORD_REQUIRED,MFA_SETUP; the portal has
                              the codes, in "Authenticator" and "Messages"
  --track-devices on|ask      each refresh must name the device of its login;
                              ask: the user may choose to have it remembered
  --no-revocation             refuse RevokeToken
  --latency-ms N              wait before each answer
  --write-env DIR             write the settings into DIR/.env, over those of
                              an earlier sandbox only, and do not print them
  --help                      print this text

Ctrl+C stops it.
`;

const OPTIONS = {
  "port": { type: "string" },
  "access-token-seconds": { type: "string" },
  "refresh-days": { type: "string" },
  "words": { type: "string" },
  "rotate": { type: "string" },
  "grace-seconds": { type: "string" },
  "user": { type: "string", multiple: true },
  "alias": { type: "boolean" },
  "public-client": { type: "boolean" },
  "lockout-after": { type: "string" },
  "throttle-per-second": { type: "string" },
  "challenge": { type: "string" },
  "track-devices": { type: "string" },
  "no-revocation": { type: "boolean" },
  "latency-ms": { type: "string" },
  "write-env": { type: "string" },
  "help": { type: "boolean", short: "h" },
} as const;

/** What the command line of the client lends to the sandbox, which imports nothing of it. */
export interface ClientTools {
  /** What was typed to start the sandbox, without its options. */
  readonly command: string;
  /**
   * Writes settings into the `.env` of a folder, over those of an earlier sandbox only.
   *
   * @param couldBe Whether a sandbox could have written this line.
   * @returns The path of the file.
   */
  saveSettings(
    folder: string,
    settings: Readonly<Record<string, string>>,
    couldBe: (name: string, value: string) => boolean,
  ): Promise<string>;
  /** A line of standard error, broken at words where the terminal would break it within them. */
  fitted(line: string): string;
  /** The known word that a mistyped one was meant to be. */
  closest(word: string, known: readonly string[]): string | undefined;
}

/** Reads the command line; `undefined` if it asks for the help text. */
export function parseSandboxArgs(
  args: string[],
  tools?: ClientTools,
): StartSandboxOptions | undefined {
  const values = parse(args, tools);
  if (values.help) return undefined;
  if (values["write-env"] !== undefined && tools === undefined) {
    throw new TypeError("Cannot start the sandbox: --write-env needs platform-auth sandbox");
  }
  const { words, rotate, challenge } = values;
  const options: StartSandboxOptions = { port: FIRST_PORT };
  const numbers = {
    port: values.port,
    accessTokenSeconds: values["access-token-seconds"],
    refreshDays: values["refresh-days"],
    graceSeconds: values["grace-seconds"],
    lockoutAfter: values["lockout-after"],
    throttlePerSecond: values["throttle-per-second"],
    latencyMs: values["latency-ms"],
  };
  for (const [name, text] of Object.entries(numbers) as [keyof typeof numbers, string?][]) {
    if (text === undefined) continue;
    const value = text.trim() === "" ? NaN : Number(text);
    if (Number.isNaN(value)) {
      throw new TypeError(`Cannot start the sandbox: "${name}" must be a number, got "${text}"`);
    }
    options[name] = value;
  }
  if (words !== undefined) options.words = choice("words", words, ["vendor", "aws"]);
  if (rotate !== undefined) {
    options.rotateRefreshTokens = choice("rotate", rotate, ["initiate-auth", "get-tokens"]);
  }
  if (challenge !== undefined) options.challenge = challenge.split(",");
  const devices = values["track-devices"];
  if (devices !== undefined) {
    options.trackDevices = choice("track-devices", devices, ["on", "ask"]) === "ask" ? "ask" : true;
  }
  if (values["no-revocation"]) options.revocation = false;
  if (values.alias) options.aliasSignIn = true;
  if (values["public-client"]) options.clientSecret = false;
  return options;
}

function parse(args: string[], tools?: ClientTools) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    // The parser quotes what it does not know, which may be a secret in the wrong place.
    const [unknown, option = ""] = /^(?:Unknown option '-*([^']*)|Unexpected argument)/
      .exec(message) ?? [];
    const meant = tools?.closest(option, Object.keys(OPTIONS));
    const hint = meant === undefined ? "" : ` (did you mean --${meant}?)`;
    throw new TypeError(
      unknown === undefined
        ? message.split("\n")[0]
        : `Cannot start the sandbox: there is no such option${hint}`,
    );
  }
}

/** The settings by the names that they have in a `.env`. */
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

/** Whether the command line of a sandbox could have written this line into a `.env`. */
function couldBeOwn(name: string, value: string): boolean {
  const own: Readonly<Record<string, readonly string[]>> = {
    AUTH_PROVIDER: ["vendor", "aws"],
    APP_CLIENT_ID: [CLIENT_ID],
    APP_CLIENT_SECRET: [CLIENT_SECRET],
    USER_POOL_ID: [USER_POOL_ID],
    USERNAME: [USER.username, USER.email],
    PASSWORD: [USER.password],
  };
  if (name.endsWith("_URL")) return /^http:\/\/127\.0\.0\.1:\d+$/.test(value);
  return Object.hasOwn(own, name) && own[name]?.includes(value) === true;
}

/**
 * What is printed at the start: the addresses, and the lines for a `.env`.
 *
 * @param envFile The file in which the lines are already.
 * @param others The names of further accounts.
 */
export function describeSandbox(
  sandbox: Sandbox,
  envFile?: string,
  others: readonly string[] = [],
): string {
  const { portalUrl, authUrl, apiUrl } = sandbox;
  const lines = Object.entries(variablesOf(sandbox)).map(([name, value]) => `${name}=${value}`);
  const settings = envFile === undefined
    ? `Put these lines into a .env. The secrets are shown because they work with this sandbox only; never
print those of a real account. USERNAME and PASSWORD also open the portal.

${lines.join("\n")}`
    : `The settings are in ${envFile}
USERNAME and PASSWORD also open the portal.`;
  const further = others.length === 0 ? "" : `Further accounts: ${others.join(", ")}\n\n`;
  return `The sandbox is running.

  identity provider  ${authUrl}
  portal             ${portalUrl}
  data platform API  ${apiUrl}

${settings}

${further}Ctrl+C stops the sandbox; its tokens then no longer work.
`;
}

/** Runs the sandbox until Ctrl+C. Returns the exit status: 0, 1 it failed, 2 wrong usage. */
export async function runSandbox(args: string[], tools?: ClientTools): Promise<number> {
  const command = tools?.command ?? OWN_COMMAND;
  await using started = new AsyncDisposableStack();
  let sandbox: Sandbox;
  let others: string[];
  try {
    const options = parseSandboxArgs(args, tools);
    if (options === undefined) {
      console.log(helpOf(command));
      return 0;
    }
    sandbox = started.use(await startSandbox(options));
    others = addUsers(sandbox, parse(args).user ?? []);
  } catch (error) {
    return refused(error, command, tools?.fitted);
  }
  const folder = parse(args)["write-env"];
  const envFile = folder === undefined
    ? undefined
    : await tools?.saveSettings(folder, variablesOf(sandbox), couldBeOwn);
  const stopped = Promise.withResolvers<void>();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stopped.resolve);
  console.log(describeSandbox(sandbox, envFile, others));
  await stopped.promise;
  for (const signal of signals) Deno.removeSignalListener(signal, stopped.resolve);
  return 0;
}

/** Says why the sandbox does not start. @returns The exit status. */
function refused(
  error: unknown,
  command: string,
  fitted: ClientTools["fitted"] = (line) => line,
): number {
  const usage = error instanceof TypeError || error instanceof RangeError;
  const text = fitted(error instanceof Error ? error.message : String(error));
  console.error(usage ? `${text}\nSee ${command} --help` : text);
  return usage ? 2 : 1;
}

/** @returns The names that log in. */
function addUsers({ addUser, settings }: Sandbox, given: readonly string[]): string[] {
  return given.map((text) => {
    const [, name = "", password = settings.password] = /^([^:]*)(?::([^]*))?$/.exec(text) ?? [];
    addUser({ username: name, password, ...(name.includes("@") && { email: name }) });
    return name;
  });
}

function choice<const T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found !== undefined) return found;
  throw new TypeError(
    `Cannot start the sandbox: --${name} must be ${allowed.join(" or ")}, got "${value}"`,
  );
}

if (import.meta.main) Deno.exit(await runSandbox(Deno.args));
