import { fileURLToPath, pathToFileURL } from "node:url";
import { parseEnv } from "node:util";
import { configure } from "../../mod.ts";
import type { Sandbox } from "../sandbox/mod.ts";

/** What the steps work on, and what `--break` changes. */
export interface DemoWorld {
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
  /** How many stations the API told of. */
  stationCount: number;
  /** Lets the time pass that makes an access token end. */
  passTime: () => void;
}

/** The clock of the sandbox and of the session. */
export interface DemoClock {
  readonly now: () => number;
  readonly passTime: () => void;
}

const TIME_THAT_PASSES_MS = 6 * 60_000;

/** A clock that can be moved once; it begins in the past, as the clock of the second process is real. */
export function makeClock(): DemoClock {
  let behindMs = TIME_THAT_PASSES_MS;
  return {
    now: () => Date.now() - behindMs,
    passTime() {
      behindMs = 0;
    },
  };
}

/** Writes a user's `.env` and configures the default session, as a notebook does. */
export function openWorld(sandbox: Sandbox, { now, passTime }: DemoClock): DemoWorld {
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
    // Named, so that the user's environment has no say in them.
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

/** The keys and values that the `.env` holds now, read by other means than the session's. */
export function readEnv({ envFile }: DemoWorld): Record<string, string | undefined> {
  return parseEnv(Deno.readTextFileSync(envFile));
}
