import { fileURLToPath, pathToFileURL } from "node:url";
import { parseEnv } from "node:util";
import { configure } from "../../mod.ts";
import type { Sandbox } from "../sandbox/mod.ts";

/** What all steps share, and what `--break` changes. */
export interface DemoContext {
  readonly sandbox: Sandbox;
  /** The temporary folder. */
  readonly folder: string;
  /** The `.env` in it. */
  readonly envFile: string;
  /** What a user's `.env` holds before the first login: settings, and no password. */
  readonly envText: string;
  /** The portal's "Copy Token". */
  copyToken: () => Promise<string>;
  readonly username: string;
  password: string;
  /** How many stations the API listed. */
  stationCount: number;
  /** Moves the clock past the end of an access token. */
  passTime: () => void;
}

/** The clock of the sandbox and of the session. */
export interface DemoClock {
  readonly now: () => number;
  readonly passTime: () => void;
}

const TIME_THAT_PASSES_MS = 6 * 60_000;

/**
 * A clock that can be moved once. It begins in the past and then shows the real time, as the second
 * process has the real clock.
 */
export function makeClock(): DemoClock {
  let behindMs = TIME_THAT_PASSES_MS;
  return {
    now: () => Date.now() - behindMs,
    passTime() {
      behindMs = 0;
    },
  };
}

/** Writes a `.env` as a user has one and configures the default session, as a notebook does. */
export function makeContext(sandbox: Sandbox, { now, passTime }: DemoClock): DemoContext {
  const { settings } = sandbox;
  const envText = `# Settings of a subscription
AUTH_URL=${settings.authUrl}
AUTH_PROVIDER=${settings.provider}
APP_CLIENT_ID=${settings.clientId}
APP_CLIENT_SECRET=${settings.clientSecret}
USER_POOL_ID=${settings.userPoolId}
API_BASE_URL=${settings.apiBaseUrl}
`;
  Deno.writeTextFileSync(settings.envFile, envText, { mode: 0o600 });
  configure({
    ...settings,
    now,
    // Given here, so that variables of the user's environment do not count.
    allowedOrigins: [sandbox.apiUrl],
    refreshSecretHash: "auto",
    timeoutMs: 10_000,
  });
  return {
    sandbox,
    folder: fileURLToPath(new URL(".", pathToFileURL(settings.envFile))),
    envFile: settings.envFile,
    envText,
    copyToken: () => sandbox.portalToken(),
    username: settings.username,
    password: settings.password,
    stationCount: 0,
    passTime,
  };
}

/** The keys and values that the `.env` holds now, read without the code that is shown. */
export function readEnv({ envFile }: DemoContext): Record<string, string | undefined> {
  return parseEnv(Deno.readTextFileSync(envFile));
}
