import { Accounts, type NewUser } from "./accounts.ts";
import { createDataApi } from "./data_api/data_api.ts";
import { Downloads } from "./data_api/downloads.ts";
import type { Failure } from "./failures.ts";
import type { SentCode } from "./identity_provider/challenges/sent_codes.ts";
import type { Device } from "./identity_provider/devices.ts";
import { createIdentityProvider } from "./identity_provider/identity_provider.ts";
import { createParts } from "./identity_provider/parts.ts";
import { TokenIssuer } from "./identity_provider/tokens.ts";
import { checkOptions, CLIENT_ID, type SandboxOptions, USER_POOL_ID } from "./options.ts";
import { createPortal } from "./portal/portal.ts";
import { PortalSessions } from "./portal/sessions.ts";
import type { ApiRequest, TokenRequest } from "./records.ts";
import { type Origins, type SandboxSettings, SettingsFolder, USER } from "./settings.ts";

/** The three systems of the API document, running in this process. */
export interface Sandbox extends AsyncDisposable {
  /**
   * Settings for a client. The first read creates the temporary folder of `envFile`, which needs
   * write permission.
   */
  readonly settings: SandboxSettings;
  /** Origin of the identity provider: the token endpoint. */
  readonly authUrl: string;
  /** Origin of the portal. */
  readonly portalUrl: string;
  /** Origin of the data platform API. */
  readonly apiUrl: string;
  /** The last 10,000 requests to the token endpoint, in the order of arrival, without secrets. */
  readonly requests: readonly Readonly<TokenRequest>[];
  /** The last 10,000 requests to the API, in the order of arrival, without secrets. */
  readonly apiRequests: readonly Readonly<ApiRequest>[];
  /** The faults in effect. Add, change or remove them at any time. */
  readonly failures: Failure[];
  /** Serves a request to one of the three origins in memory, without the network. */
  handle(request: Request): Promise<Response>;
  /** The string that "Copy Token" in the portal copies: `bearer <ACCESS_TOKEN>`. */
  portalToken(): Promise<string>;
  /** The last 10,000 codes sent by mail and phone, in the order of sending. */
  readonly codes: readonly Readonly<SentCode>[];
  /** The last 10,000 devices with `trackDevices`, in the order of their first logins. */
  readonly devices: readonly Readonly<Device>[];
  /**
   * The code that the authenticator of a user shows now. Each code works once, until 30 seconds
   * after the authenticator has replaced it.
   *
   * @param username Any name that the user can log in with. Default: the user in the settings.
   * @throws {TypeError} If there is no such user, or the user has no authenticator.
   *
   * @example
   * ```ts
   * import { createSandbox } from "@platform-auth/platform-auth/sandbox";
   *
   * await using sandbox = createSandbox({ challenge: "SOFTWARE_TOKEN_MFA" });
   * console.log((await sandbox.totp()).length); // 6
   * ```
   */
  totp(username?: string): Promise<string>;
  /** Adds a user. The user in the settings remains. */
  addUser(user: NewUser): void;
  /** Makes the provider refuse all refresh tokens issued so far. */
  revokeRefreshTokens(): void;
  /**
   * Makes the provider forget all devices, so that it refuses refreshes from them ("Device does not
   * exist.").
   */
  removeDevices(): void;
  /** Makes the API respond with 401 to all access tokens issued so far. */
  expireAccessTokens(): void;
  /**
   * Ends the sessions of a user, or of all users, on all devices: the provider refuses the refresh
   * tokens ("Refresh Token has been revoked"), the API responds with 401 to the access tokens, and
   * the portal requires a new login. Later logins work.
   *
   * @param username Any name that the user can log in with. Default: all users.
   * @throws {TypeError} If there is no such user.
   *
   * @example
   * ```ts
   * import { createSandbox } from "@platform-auth/platform-auth/sandbox";
   *
   * await using sandbox = createSandbox();
   * const headers = { authorization: await sandbox.portalToken() };
   * const whoami = () => sandbox.handle(new Request(`${sandbox.apiUrl}/v1/whoami`, { headers }));
   * console.log((await whoami()).status); // 200
   * sandbox.signOutEverywhere("student");
   * console.log((await whoami()).status); // 401
   * ```
   */
  signOutEverywhere(username?: string): void;
  /** Aborts pending requests, removes the temporary folder and frees the ports. */
  close(): Promise<void>;
}

const NOWHERE: Origins = {
  authUrl: "https://identity-provider.sandbox.example",
  portalUrl: "https://portal.sandbox.example",
  apiUrl: "https://api.sandbox.example",
};

/**
 * Creates a sandbox without ports, for tests: a client uses its `handle` instead of `fetch`.
 *
 * @throws {TypeError} If an option is unknown or of the wrong type.
 * @throws {RangeError} If a number is out of its range.
 *
 * @example
 * ```ts
 * import { createSession } from "@platform-auth/platform-auth";
 * import { createSandbox } from "@platform-auth/platform-auth/sandbox";
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
  const { failures, now } = config;
  const accounts = new Accounts(config);
  const student = accounts.add(USER);
  const issuer = `${origins.authUrl}/${USER_POOL_ID}`;
  const { accessTokenSeconds } = config;
  const tokens = new TokenIssuer({ issuer, clientId: CLIENT_ID, accessTokenSeconds, now });
  const parts = createParts({ config, accounts, tokens });
  const { refreshTokens, authenticators, sentCodes, devices } = parts;
  const sessions = new PortalSessions(now);
  const requests: TokenRequest[] = [];
  const apiRequests: ApiRequest[] = [];

  // Downloads must be on a different origin from the API's. The portal's origin is used, because a
  // separate origin would need another port.
  const downloads = new Downloads(origins.portalUrl, now);
  const provider = createIdentityProvider({ ...parts, failures, requests });
  const portal = createPortal({ ...parts, sessions, apiUrl: origins.apiUrl });
  const api = createDataApi({ config, tokens, downloads, failures, requests: apiRequests });
  const systems: Record<string, typeof api> = {
    [origins.authUrl]: provider,
    [origins.portalUrl]: async (request) => downloads.serve(request) ?? await portal(request),
    [origins.apiUrl]: api,
  };
  const closing = new AbortController();
  const folder = new SettingsFolder();

  return {
    ...origins,
    requests,
    apiRequests,
    failures,
    codes: sentCodes.list,
    devices: devices.list,
    get settings() {
      return folder.settings(config, origins);
    },
    async handle(request) {
      const signal = AbortSignal.any([request.signal, closing.signal]);
      signal.throwIfAborted();
      const { origin } = new URL(request.url);
      const system = systems[origin];
      if (system === undefined) {
        throw new TypeError(`Cannot serve the request: ${origin} is not an address of the sandbox`);
      }
      const response = await system(request, signal);
      request.signal.throwIfAborted();
      const headers = new Headers(response.headers);
      if (!headers.has("date")) headers.set("date", new Date(now()).toUTCString());
      const { status, statusText } = response;
      return new Response(response.body, { status, statusText, headers });
    },
    async portalToken() {
      const { accessToken } = await tokens.issue(student, now(), crypto.randomUUID());
      return `bearer ${accessToken}`;
    },
    totp: (username = student.username) =>
      Promise.try(() => {
        const code = authenticators.code(accounts.find(username));
        if (code !== undefined) return code;
        throw new TypeError(
          `Cannot return a code: "${username}" has no authenticator; ` +
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
      for (const each of [refreshTokens, tokens]) each.revoke(account);
      sessions.endAll(account);
    },
    async close() {
      closing.abort(new TypeError("the sandbox is closed"));
      await folder.remove();
    },
    async [Symbol.asyncDispose]() {
      await this.close();
    },
  };
}
