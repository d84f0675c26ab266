import { readClaims } from "../platform/claims.ts";
import { makeTokens } from "../provider/tokens.ts";
import { missingFilePermission } from "../settings/env_file.ts";
import { ConfigError, typeError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import type { Outcome } from "../provider/protocol.ts";
import type { Provider } from "../provider/provider.ts";
import { portalName, portalTokenError, readPortalToken } from "./portal_token.ts";
import type { World } from "../platform/world.ts";
import { Questions } from "../platform/prompt.ts";
import { oddityOf, Secret } from "../platform/secret.ts";
import type { Configuration } from "./configuration.ts";
import { ENDPOINT_NAMES, type SettingName, VARIABLES } from "../settings/options.ts";
import { resolveSettings, type Settings } from "../settings/settings.ts";
import { apiHosts } from "../settings/trust.ts";
import { refusalError, requestLogin, resolveProvider } from "../provider/token_request.ts";
import type { Answers, Challenge } from "./challenges/challenge.ts";
// This import is static, because the module must be loaded before anything is sent.
import { type Answerers, takeSteps } from "./challenges/further_steps.ts";
import { type LoginResult, loginResult, type LoginSupport } from "./challenges/login_result.ts";
import { printable } from "../errors/escape.ts";
import { durationText } from "../errors/amounts.ts";
import { displayPath } from "../files/paths.ts";

export type { LoginResult } from "./challenges/login_result.ts";

/** Options of {@linkcode login}. */
export interface LoginOptions {
  /** The user name. Default: the setting `USERNAME`. */
  username?: string;
  /** The password. Default: the setting `PASSWORD`. */
  password?: string;
  /** The string that "Copy Token" in the portal copies: `bearer …`. */
  portalToken?: string;
  /**
   * How to log in.
   *
   * - `auto` (default): with `portalToken` if given, otherwise with the settings, otherwise by
   *   prompting.
   * - `portal`: with a portal string, prompting for it.
   * - `password`: with user name and password, prompting for what is missing.
   * - `environment`: with the settings only; never prompts.
   */
  strategy?: "auto" | "portal" | "password" | "environment";
  /** Log in even if the session is valid. Default `false`. */
  force?: boolean;
  /** Cancels the login, unless its tokens are already being saved. */
  signal?: AbortSignal;
  /**
   * Answers a further step that the provider requires, such as a one-time code. Called again if the
   * answer is refused, up to three times per step. Default: a notebook or a terminal prompts;
   * otherwise `login()` throws a `ChallengeError`.
   */
  onChallenge?: (challenge: Challenge) => Answers | Promise<Answers>;
}
const STRATEGIES = ["auto", "portal", "password", "environment"];

/**
 * Checks the options of one call.
 *
 * @throws {TypeError} If the options contradict each other.
 */
export function checkLoginOptions(options: LoginOptions): void {
  const { strategy, portalToken, username, password } = options;
  if (strategy !== undefined && !STRATEGIES.includes(strategy)) {
    throw typeError(`login() takes one of ${STRATEGIES.join(", ")} as "strategy"`);
  }
  const byName = username !== undefined || password !== undefined;
  const byPortal = !byName && (strategy === undefined || ["auto", "portal"].includes(strategy));
  if (portalToken !== undefined && !byPortal) {
    throw typeError(
      "login() takes either portalToken, or username and password; the strategy must match them",
    );
  }
}

/**
 * Obtains tokens according to the options and settings. Does not change the session.
 *
 * @param support Absent for a trial, which shows nothing and saves nothing.
 */
export async function obtainTokens(
  configuration: Configuration,
  options: LoginOptions,
  signal: AbortSignal | undefined,
  support?: LoginSupport,
): Promise<LoginResult> {
  const { world, settings: { portalText } } = configuration;
  checkTokenFile(configuration.settings);
  const { strategy = "auto", portalToken, username, password, onChallenge } = options;
  const readPortal = (text: string) => portalResult(text, world, portalText);
  if (portalToken !== undefined) return readPortal(portalToken);

  const questions = new Questions(world);
  const hidden = { secret: true, signal, notes: portalNotes(configuration.settings) };
  if (strategy === "portal") {
    const next: Fix = [{
      inProgram: "run login({ portalToken }) with the portal string",
      inTerminal: "pipe the portal string to the command, with --stdin",
    }];
    return readPortal(await questions.need(PORTAL_QUESTION, next, hidden));
  }

  const settings = settingsFor(configuration, options);
  const isNamed = username !== undefined || password !== undefined;
  const isComplete = settings.text("username") && settings.text("password");
  let asksPerson = strategy !== "environment" && questions.canAsk;
  if (strategy === "auto" && !isNamed && !isComplete && asksPerson) {
    const answer = await askFirst((question) => questions.ask(question, hidden), readPortal);
    if (typeof answer === "object") return answer;
    // If no prompt is possible after all, the error lists everything that is missing.
    asksPerson = answer === "by password";
  }
  const answerers = { questions, onChallenge, asksPerson, showKey: support?.showKey };
  return await loginByPassword(settings, world, answerers, signal, support);
}

/** @throws {ConfigError} `PERMISSION` if the file that stores the tokens may not be used. */
function checkTokenFile(settings: Settings): void {
  const { file, tokenFile } = settings;
  if (tokenFile === undefined) return;
  const unreadable = file.problem?.code === "PERMISSION" ? file.problem : undefined;
  const problem = unreadable ?? missingFilePermission(tokenFile);
  if (problem) throw problem;
}

/**
 * Applies the user name and the password of the call to the settings.
 *
 * @throws {ConfigError} `MISSING_SETTINGS` if it is unclear to which user name a password belongs.
 */
function settingsFor(
  { options, isDefault, settings: known }: Configuration,
  { username, password }: LoginOptions,
): Settings {
  const given = { ...options };
  if (username !== undefined && username !== given.username) {
    given.username = username;
    // A password must not be sent with another account's user name.
    delete given.password;
  }
  if (password !== undefined) given.password = password;
  const isNamed = username !== undefined || password !== undefined;
  const settings = isNamed ? resolveSettings(given, isDefault, known) : known;
  const { rivalNames } = settings;
  if (username !== undefined || rivalNames === undefined) return settings;
  const problem = `Cannot log in: ${rivalNames.problem}`;
  throw new ConfigError("MISSING_SETTINGS", problem, rivalNames.fix);
}

const PORTAL_QUESTION = 'Paste the portal string from "Copy Token":';
/** The input for this prompt is hidden, because a notebook saves visible input. */
const FIRST_QUESTION =
  'Paste the portal string from "Copy Token",\nor press Enter for user name and password:';
/** Maximum number of unusable answers to the first prompt. */
const MAX_TRIES = 3;

/**
 * Prompts until the user enters a portal string, or presses Enter without one.
 *
 * @throws {ConfigError} `INVALID_PORTAL_TOKEN` after the third text that is not a portal string.
 */
async function askFirst(
  ask: (question: string) => Promise<string | null>,
  readPortal: (text: string) => LoginResult,
): Promise<LoginResult | "by password" | "no prompt"> {
  let question = FIRST_QUESTION;
  for (let tries = 1;; tries++) {
    const answer = await ask(question);
    if (answer === null) return "no prompt";
    if (answer.trim() === "") return "by password";
    try {
      return readPortal(answer);
    } catch (error) {
      // Many users type their user name at this prompt, so the prompt is repeated.
      if (!(error instanceof ConfigError) || tries === MAX_TRIES) throw error;
      question = `${error.problem}.\n${FIRST_QUESTION}`;
    }
  }
}

/**
 * Lines to show with a prompt for the portal string: the portal, and the hosts that get the token.
 */
function portalNotes(settings: Settings): string[] {
  const { portalText } = settings;
  const hosts = apiHosts((name) => settings.text(name));
  const named = namedBy(settings, ["apiBaseUrl", "allowedOrigins"]);
  return [
    ...(portalText === undefined ? [] : [`Portal: ${portalText}`]),
    ...(hosts.length === 0
      ? []
      : [`Receives the token: ${[hosts.join(", "), ...named].join(" ")}`]),
  ].map(printable);
}

/** Logs in with user name and password. Prompts for whatever is missing. */
async function loginByPassword(
  settings: Settings,
  world: World,
  answerers: Answerers,
  signal: AbortSignal | undefined,
  support: LoginSupport | undefined,
): Promise<LoginResult> {
  const { questions, asksPerson } = answerers;
  const provider = await resolveProvider("login", settings, !asksPerson);
  const visible = { secret: false, signal };
  const set = settings.text("username");
  let username = set ?? (await questions.need("User name:", "set USERNAME", visible)).trim();
  const known = settings.secret("password");
  let lead = "";
  for (let first = true;; first = false) {
    const wrong = support?.wrongAccount(username);
    if (wrong) throw wrong;
    const login = { provider, world, settings, username };
    const host = `Password of ${username} for ${provider.url.host}`;
    const lines = [host, ...namedBy(settings, ENDPOINT_NAMES)].map(printable).join("\n");
    const question = `${lead}${lines}:`;
    const password = known ??
      new Secret(await questions.need(question, "set PASSWORD", { secret: true, signal }));
    const result = await requestLogin(provider, username, password, world, signal, support?.hold);
    const { outcome, tokens } = result;
    if (tokens) return loginResult(login, tokens, result, false);
    if (outcome.kind === "challenge") return await takeSteps(login, outcome, answerers, signal);
    const isRejected = outcome.kind === "refused" && outcome.code === "INVALID_CREDENTIALS";
    const doubts = doubtsAbout(outcome, username, password, provider);
    // The user may correct a typing error once. More attempts could lock the account.
    if (first && isRejected && known === undefined) {
      lead = `${["User name or password rejected", ...doubts].join("; ")}.\n`;
      if (set === undefined) {
        const name = printable(`User name, or Enter for ${username}:`);
        username = (await questions.ask(lead + name, visible))?.trim() || username;
        lead = "";
      }
      continue;
    }
    const hints = isRejected ? [credentialSources(settings)] : [];
    throw refusalError("login", result, {}, hints, doubts);
  }
}

/** Says what is strange about the values that the provider refused, without quoting the values. */
function doubtsAbout(
  outcome: Outcome,
  username: string,
  password: Secret,
  { clientSecret }: Provider,
): string[] {
  const refused: Readonly<Record<string, Record<string, string | undefined>>> = {
    INVALID_CREDENTIALS: { "the user name": username, "the password": password.reveal() },
    SECRET_HASH_REJECTED: { [VARIABLES.clientSecret]: clientSecret?.reveal() },
  };
  const values = outcome.kind === "refused" ? refused[outcome.code] : undefined;
  return Object.entries(values ?? {}).flatMap(([what, text = ""]) => {
    const oddity = oddityOf(text);
    return oddity ? [`${what} ${oddity}, which may not belong to it`] : [];
  });
}

/**
 * Says where a rejected user name and password came from. A rejection is often caused by a
 * forgotten variable.
 */
function credentialSources(settings: Settings): string {
  const places = {
    option: "from the options",
    environment: "from the environment",
    file: `from ${displayPath(settings.envFile)}`,
    typed: "from the prompt",
  };
  const [username, password] = (["username", "password"] as const)
    .map((name) => places[settings.origin(name) ?? "typed"]);
  return `the user name came ${username}, the password ${password}`;
}

/**
 * Says whether the `.env` or the environment contains the hosts that receive a secret. A copied
 * `.env` may contain a stranger's address.
 */
function namedBy(settings: Settings, names: readonly SettingName[]): string[] {
  const origins = names.map((name) => settings.origin(name));
  if (origins.includes("file")) return [`(host set in ${displayPath(settings.envFile)})`];
  return origins.includes("environment") ? ["(host set in the environment)"] : [];
}

/**
 * Logs in with the portal string. This needs no setting. The string contains no refresh token.
 */
function portalResult(
  text: string,
  world: World,
  portal: string | undefined,
): LoginResult {
  const token = readPortalToken(text, { address: portal });
  const claims = readClaims(token);
  const { exp, tokenUse } = claims;
  if (tokenUse !== undefined && tokenUse !== "access") {
    throw portalTokenError(
      "Cannot log in: this is not an access token but another token of the same user",
      portal,
    );
  }
  const now = world.now();
  const expiresAt = exp === undefined ? undefined : exp * 1_000;
  if (expiresAt !== undefined && expiresAt <= now) {
    const ago = durationText(now - expiresAt);
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      `Cannot log in: the portal string expired ${ago} ago by this computer's clock`,
      `copy a new one in ${portalName(portal)} or correct the clock`,
    );
  }
  const parts = { accessToken: new Secret(token), expiresAt, source: "portal", claims } as const;
  return { tokens: makeTokens(parts, world), notices: {} };
}
