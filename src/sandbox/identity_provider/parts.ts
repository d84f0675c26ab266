import type { Accounts } from "../accounts.ts";
import type { SandboxConfig } from "../options.ts";
import { Authenticators } from "./challenges/authenticators.ts";
import { LoginSessions } from "./challenges/login_sessions.ts";
import { SentCodes } from "./challenges/sent_codes.ts";
import { Devices } from "./devices.ts";
import { RefreshTokens } from "./refresh_tokens.ts";
import type { TokenIssuer } from "./tokens.ts";

/** The parts that the rest of the sandbox provides. */
export interface ProviderWorld {
  readonly config: SandboxConfig;
  readonly accounts: Accounts;
  readonly tokens: TokenIssuer;
}

/** The parts that the operations use, including the whole state of the provider. */
export interface ProviderParts extends ProviderWorld {
  readonly refreshTokens: RefreshTokens;
  readonly logins: LoginSessions;
  readonly authenticators: Authenticators;
  readonly sentCodes: SentCodes;
  readonly devices: Devices;
}

/** Creates the state of a provider. */
export function createParts(world: ProviderWorld): ProviderParts {
  const { now, refreshDays, graceSeconds, trackDevices } = world.config;
  return {
    ...world,
    refreshTokens: new RefreshTokens({
      lifetimeMs: refreshDays * 86_400_000,
      graceMs: graceSeconds * 1000,
      now,
    }),
    logins: new LoginSessions(now),
    authenticators: new Authenticators(now),
    sentCodes: new SentCodes(now),
    devices: new Devices(trackDevices),
  };
}
