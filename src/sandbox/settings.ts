import type { NewUser } from "./accounts.ts";
import { CLIENT_ID, type SandboxConfig, USER_POOL_ID, type Words } from "./options.ts";

/** Settings for `configure()` or `createSession()`; they work with this sandbox only. */
export interface SandboxSettings {
  /** Token endpoint. */
  authUrl: string;
  /** Whose header names the token endpoint expects. */
  provider: Words;
  /** App client id. */
  clientId: string;
  /** Empty for a public client. */
  clientSecret: string;
  /** User pool id. */
  userPoolId: string;
  /** Name to log in with; an e-mail address with `aliasSignIn`. */
  username: string;
  /** Password of that user. */
  password: string;
  /** Origin of the data platform API. */
  apiBaseUrl: string;
  /** In a temporary folder, which `close()` removes. */
  envFile: string;
  /** Keeps the tokens out of the process environment. */
  exportEnv: "none";
  /** None beside the API. Given here, so that the environment does not count. */
  allowedOrigins: readonly string[];
  /** The default. Given here, so that the environment does not count. */
  refreshSecretHash: "auto";
  /** Deadline of a login or refresh in milliseconds. */
  timeoutMs: number;
}

/** Where the three systems are. */
export interface Origins {
  /** Identity provider. */
  authUrl: string;
  /** Portal. */
  portalUrl: string;
  /** Data platform API. */
  apiUrl: string;
}

/** The user that every sandbox has. */
export const USER = {
  username: "student",
  password: "Sandbox-Entry-1",
  email: "student@sandbox.example",
  phone: "+15555550100",
} satisfies NewUser;

/** The settings with which a client uses the sandbox at these origins. */
export function settingsFor(
  config: SandboxConfig,
  origins: Origins,
  envFile: string,
): SandboxSettings {
  return {
    authUrl: origins.authUrl,
    provider: config.words,
    clientId: CLIENT_ID,
    clientSecret: config.clientSecret ?? "",
    userPoolId: USER_POOL_ID,
    username: config.aliasSignIn ? USER.email : USER.username,
    password: USER.password,
    apiBaseUrl: origins.apiUrl,
    envFile,
    exportEnv: "none",
    allowedOrigins: [],
    refreshSecretHash: "auto",
    timeoutMs: 30_000,
  };
}
