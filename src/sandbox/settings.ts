import type { NewUser } from "./accounts.ts";
import { CLIENT_ID, type SandboxConfig, USER_POOL_ID, type Words } from "./options.ts";

/** Settings for `configure()` or `createSession()`; everything in them is throwaway. */
export interface SandboxSettings {
  /** Token endpoint. */
  authUrl: string;
  /** Wire words of the token endpoint. */
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
  /** In a temporary folder, which goes with `close()`. */
  envFile: string;
  /** Keeps the tokens out of the process environment. */
  exportEnv: "none";
  /** No further origin, whatever the environment says. */
  allowedOrigins: readonly string[];
  /** Default of the document's variants, whatever the environment says. */
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

/** The user whom every sandbox has. */
export const USER: NewUser = {
  username: "student",
  password: "Sandbox-Entry-1",
  email: "student@sandbox.example",
};

/** What a client must be told to use the sandbox at these origins. */
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
    username: (config.aliasSignIn ? USER.email : undefined) ?? USER.username,
    password: USER.password,
    apiBaseUrl: origins.apiUrl,
    envFile,
    exportEnv: "none",
    allowedOrigins: [],
    refreshSecretHash: "auto",
    timeoutMs: 30_000,
  };
}
