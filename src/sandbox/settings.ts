import type { NewUser } from "./accounts.ts";
import { CLIENT_ID, type SandboxConfig, USER_POOL_ID, type Words } from "./options.ts";

/** Settings for `configure()` or `createSession()`; they work only with this sandbox. */
export interface SandboxSettings {
  /** Token endpoint. */
  authUrl: string;
  /** The provider whose headers the token endpoint expects. */
  provider: Words;
  /** App client id. */
  clientId: string;
  /** Empty for a public client. */
  clientSecret: string;
  /** User pool id. */
  userPoolId: string;
  /** Login name; an e-mail address with `aliasSignIn`. */
  username: string;
  /** Password of the user `username`. */
  password: string;
  /** Origin of the data platform API. */
  apiBaseUrl: string;
  /** A file in a temporary folder, which `close()` removes. */
  envFile: string;
  /** Keeps the tokens out of the process environment. */
  exportEnv: "none";
  /** No origins except the API's. Set here so that the environment cannot change it. */
  allowedOrigins: readonly string[];
  /** The default of the client. Set here so that the environment cannot change it. */
  refreshSecretHash: "auto";
  /** Time limit for a login or a refresh, in milliseconds. */
  timeoutMs: number;
}

/** Addresses of the three systems. */
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
function settingsFor(config: SandboxConfig, origins: Origins, envFile: string): SandboxSettings {
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

/**
 * The settings of a sandbox and the temporary folder of `envFile`. Both are created when first
 * needed.
 */
export class SettingsFolder {
  #folder: string | undefined;
  #settings: SandboxSettings | undefined;

  settings(config: SandboxConfig, origins: Origins): SandboxSettings {
    if (this.#settings === undefined) {
      this.#folder = Deno.makeTempDirSync({ prefix: "sandbox-" });
      // The path is shown to users, so it contains the separator of their system.
      const separator = Deno.build.os === "windows" ? "\\" : "/";
      this.#settings = settingsFor(config, origins, `${this.#folder}${separator}.env`);
    }
    return this.#settings;
  }

  async remove(): Promise<void> {
    const folder = this.#folder;
    this.#folder = undefined;
    if (folder === undefined) return;
    await Deno.remove(folder, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}
