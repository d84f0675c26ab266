import { Accounts, type NewUser } from "./accounts.ts";
import { createDataApi, DATASETS, PLATFORM_NAME } from "./data_api/data_api.ts";
import { Downloads } from "./data_api/downloads.ts";
import type { Failure } from "./failures.ts";
import { createIdentityProvider } from "./identity_provider/identity_provider.ts";
import { checkOptions, CLIENT_ID, type SandboxOptions, USER_POOL_ID } from "./options.ts";
import { createPortal, type PortalBackend } from "./portal/portal.ts";
import { PortalSessions } from "./portal/sessions.ts";
import type { ApiRequest, TokenRequest } from "./records.ts";
import { totpSecondsLeft } from "./identity_provider/challenges/totp.ts";
import type { SentCode } from "./identity_provider/challenges/sent_codes.ts";
import type { Device } from "./identity_provider/devices.ts";
import { createParts } from "./identity_provider/parts.ts";
import { TokenIssuer } from "./identity_provider/tokens.ts";
import { type Origins, type SandboxSettings, settingsFor, USER } from "./settings.ts";

/** As the system writes paths, and so shows them. */
const SEPARATOR = Deno.build.os === "windows" ? "\\" : "/";

/** The three systems of the API document in this process. */
export interface Sandbox extends AsyncDisposable {
  /** When first read, makes the temporary folder of `envFile` (write permission). */
  readonly settings: SandboxSettings;
  /** Origin of the identity provider: the token endpoint. */
  readonly authUrl: string;
  /** Origin of the portal. */
  readonly portalUrl: string;
  /** Origin of the data platform API. */
  readonly apiUrl: string;
  /** What the token endpoint received, secrets removed: the newest 10,000, oldest first. */
  readonly requests: readonly Readonly<TokenRequest>[];
  /** What the API received, secrets removed: the newest 10,000, oldest first. */
  readonly apiRequests: readonly Readonly<ApiRequest>[];
  /** The faults in effect. Add, change or remove them at any time. */
  readonly failures: Failure[];
  /** Answers a request to one of the three origins in memory, without the network. */
  handle(request: Request): Promise<Response>;
  /** What "Copy Token" in the portal gives: `bearer <ACCESS_TOKEN>` (section 2.3). */
  portalToken(): Promise<string>;
  /** What was sent by mail and phone: the newest 10,000, oldest first. */
  readonly codes: readonly Readonly<SentCode>[];
  /** The devices of logins with `trackDevices`: the newest 10,000, oldest first. */
  readonly devices: readonly Readonly<Device>[];
  /**
   * The code that the authenticator of a user shows now. A code is good once, and 30 seconds longer
   * than it is shown.
   *
   * @param username Any name that the user can log in with. Default: the user in the settings.
   * @throws {TypeError} There is no such user, or the user has no authenticator.
   *
   * @example
   * ```ts
   * await using sandbox = createSandbox({ challenge: "SOFTWARE_TOKEN_MFA" });
   * console.log((await sandbox.totp()).length); // 6
   * ```
   */
  totp(username?: string): Promise<string>;
  /** Adds a user beside the one in the settings. */
  addUser(user: NewUser): void;
  /** The provider refuses all refresh tokens issued so far. */
  revokeRefreshTokens(): void;
  /** The provider forgets all devices, so refreshes from them are refused ("Device does not exist."). */
  removeDevices(): void;
  /** The API answers 401 to all access tokens issued so far. */
  expireAccessTokens(): void;
  /**
   * Ends the sessions of a user, or of all users, on all devices: the provider refuses the refresh
   * tokens ("Refresh Token has been revoked"), the API answers 401 to the access tokens, and the
   * portal asks for the password again. Later logins work.
   *
   * @param username Any name that the user can log in with. Default: all users.
   * @throws {TypeError} There is no such user.
   *
   * @example
   * ```ts
   * await using sandbox = createSandbox();
   * const headers = { authorization: await sandbox.portalToken() };
   * const whoami = () => sandbox.handle(new Request(`${sandbox.apiUrl}/v1/whoami`, { headers }));
   * console.log((await whoami()).status); // 200
   * sandbox.signOutEverywhere("student");
   * console.log((await whoami()).status); // 401
   * ```
   */
  signOutEverywhere(username?: string): void;
  /** Cuts waiting requests, removes the temporary folder and frees the ports. */
  close(): Promise<void>;
}

const NOWHERE: Origins = {
  authUrl: "https://identity-provider.sandbox.example",
  portalUrl: "https://portal.sandbox.example",
  apiUrl: "https://api.sandbox.example",
};

/**
 * Makes a sandbox without ports, for tests: a client uses its `handle` in place of `fetch`.
 *
 * @throws {TypeError} An option is unknown or of the wrong type.
 * @throws {RangeError} A number is out of its range.
 *
 * @example
 * ```ts
 * import { createSession } from "../../mod.ts";
 *
 * await using sandbox = createSandbox({ accessTokenSeconds: 300 });
 * const session = createSession({
 *   ...sandbox.settings,
 *   fetch: (input, init) => sandbox.handle(new Request(input, init)),
 * });
 * await session.login();
 * console.log((await session.authFetch("/v1/stations")).status); // 200
 * ```
 */
export function createSandbox(options: SandboxOptions = {}, origins: Origins = NOWHERE): Sandbox {
  const config = checkOptions(options);
  const { now } = config;
  const accounts = new Accounts(config);
  const student = accounts.add(USER);
  const tokens = new TokenIssuer({
    issuer: `${origins.authUrl}/${USER_POOL_ID}`,
    clientId: CLIENT_ID,
    accessTokenSeconds: config.accessTokenSeconds,
    now,
  });
  const parts = createParts({ config, accounts, tokens, platformName: PLATFORM_NAME });
  const { refreshTokens, authenticators, sentCodes, devices } = parts;
  const requests: TokenRequest[] = [];
  const apiRequests: ApiRequest[] = [];
  const closing = new AbortController();
  const { failures } = config;

  const provider = createIdentityProvider({ ...parts, failures, requests });
  // On the portal's origin: a file store of its own would need one more port.
  const downloads = new Downloads(origins.portalUrl, now);
  const api = createDataApi({ config, tokens, downloads, failures, requests: apiRequests });
  const backend: PortalBackend = {
    authenticate(username, password) {
      const check = accounts.checkPassword(username, password);
      if (check.outcome === "ok" && check.account.status === "confirmed") {
        return Promise.resolve({ ok: true, username: check.account.username });
      }
      return Promise.resolve(
        check.outcome === "locked" ? { ok: false, lockedSeconds: check.seconds } : { ok: false },
      );
    },
    async issueAccessToken(username) {
      const account = accounts.find(username);
      const { accessToken, expiresAt } = await tokens.issue(account, now(), crypto.randomUUID());
      return { accessToken, expiresAt };
    },
    authenticatorCode(username, secret) {
      const code = authenticators.shownCode(accounts.find(username), secret);
      return code === undefined ? undefined : { code, secondsLeft: totpSecondsLeft(now()) };
    },
    messages(username) {
      return sentCodes.list.filter((sent) => sent.username === username).reverse();
    },
    now,
    platformName: PLATFORM_NAME,
    datasets: DATASETS,
    apiUrl: origins.apiUrl,
  };
  const portalSessions = new PortalSessions(now);
  const portal = createPortal(backend, portalSessions);

  async function dispatch(request: Request): Promise<Response> {
    const signal = AbortSignal.any([request.signal, closing.signal]);
    signal.throwIfAborted();
    switch (new URL(request.url).origin) {
      case origins.authUrl:
        return await provider(request, signal);
      case origins.portalUrl:
        return downloads.serve(request) ?? await portal(request);
      case origins.apiUrl:
        return await api(request, signal);
      default:
        throw new TypeError(
          `Cannot answer: the sandbox has nothing at ${new URL(request.url).origin}`,
        );
    }
  }

  let settings: SandboxSettings | undefined;
  let folder: string | undefined;
  const sandbox: Sandbox = {
    ...origins,
    requests,
    apiRequests,
    failures,
    codes: sentCodes.list,
    devices: devices.list,
    get settings() {
      if (settings === undefined) {
        folder = Deno.makeTempDirSync({ prefix: "sandbox-" });
        settings = settingsFor(config, origins, `${folder}${SEPARATOR}.env`);
      }
      return settings;
    },
    async handle(request) {
      const answer = await dispatch(request);
      request.signal.throwIfAborted();
      const headers = new Headers(answer.headers);
      if (!headers.has("date")) headers.set("date", new Date(now()).toUTCString());
      const { status, statusText } = answer;
      return new Response(answer.body, { status, statusText, headers });
    },
    async portalToken() {
      const { accessToken } = await backend.issueAccessToken(student.username);
      return `bearer ${accessToken}`;
    },
    totp: (username = student.username) =>
      Promise.try(() => {
        const code = authenticators.code(accounts.find(username));
        if (code !== undefined) return code;
        throw new TypeError(
          `Cannot give a code: "${username}" has no authenticator; ` +
            'use the challenge "SOFTWARE_TOKEN_MFA", or finish the setup at "MFA_SETUP"',
        );
      }),
    addUser(user) {
      accounts.add(user);
    },
    revokeRefreshTokens: () => refreshTokens.revoke(),
    removeDevices: () => devices.removeAll(),
    expireAccessTokens: () => tokens.revoke(),
    signOutEverywhere(username) {
      const account = username === undefined ? undefined : accounts.find(username);
      refreshTokens.revoke(account);
      tokens.revoke(account);
      portalSessions.endAll(account?.username);
    },
    async close() {
      closing.abort(new TypeError("the sandbox is closed"));
      if (folder !== undefined) {
        await Deno.remove(folder, { recursive: true }).catch(ignoreMissing);
        folder = undefined;
      }
    },
    async [Symbol.asyncDispose]() {
      await sandbox.close();
    },
  };
  return sandbox;
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
