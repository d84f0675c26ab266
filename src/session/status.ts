import { endpointText } from "../provider/provider_settings.ts";
import type { SessionContext } from "./configuration.ts";
import { type SettingName, type SettingOrigin, VARIABLES } from "../settings/settings.ts";
import { mayUseVariable } from "../runtime/environment.ts";
import {
  accountOf,
  REFRESH_DAYS,
  remainingMs,
  type Tokens,
  type TokenSource,
} from "../values/tokens.ts";
import { spanText } from "../values/wording.ts";

/** What is known of a session. Holds no token; shows as a card in a notebook. */
export interface SessionStatus {
  /** `none`: no session; `valid`; `refreshable`: the access token ended, a refresh token is there; `expired`: log in again; `unknown`: a token that tells no expiry. */
  state: "none" | "valid" | "refreshable" | "expired" | "unknown";
  /** Who, as the token or the settings tell. */
  username?: string;
  /** The token endpoint. */
  provider?: string;
  /** The app client id. */
  clientId?: string;
  /** When the access token ends. */
  accessTokenExpiresAt?: Date;
  /** Until about when it can be refreshed: an estimate, 30 days after the login (section 8). */
  refreshableUntil?: Date;
  /** Whether there is a refresh token. */
  canRefresh: boolean;
  /** Where the tokens came from. */
  source: TokenSource | "none";
  /** Absolute path of the `.env`; absent: memory only. */
  envFile?: string;
  /** Where each setting that is set came from, by variable name. */
  settings: Readonly<Record<string, SettingOrigin>>;
  /** What the user should know, each with what to do. */
  warnings: string[];
  /** When this was made. */
  asOf: Date;
}

/** The status of a session as plain data. */
export function statusOf(context: SessionContext, tokens: Tokens | undefined): SessionStatus {
  const { settings, world, envFile, loginName } = context;
  const username = accountOf(tokens?.claims ?? {}) ?? loginName ?? settings.text("username");
  const provider = endpointOrigin(context);
  const clientId = settings.text("clientId");
  const { authenticatedAt, expiresAt } = tokens ?? {};
  return {
    state: stateOf(context, tokens),
    ...(username !== undefined && { username }),
    ...(provider !== undefined && { provider }),
    ...(clientId !== undefined && { clientId }),
    ...(tokens && expiresAt && { accessTokenExpiresAt: new Date(endOf(context, tokens)) }),
    ...(tokens?.refreshToken && authenticatedAt !== undefined && {
      refreshableUntil: new Date(authenticatedAt + REFRESH_DAYS * 86_400_000),
    }),
    canRefresh: tokens?.refreshToken !== undefined,
    source: tokens?.source ?? "none",
    ...(envFile !== undefined && { envFile }),
    settings: originsOf(context),
    warnings: warningsOf(context, tokens),
    asOf: new Date(world.now()),
  };
}

function stateOf(context: SessionContext, tokens: Tokens | undefined): SessionStatus["state"] {
  if (!tokens) return "none";
  const remaining = remainingMs(tokens, context.world);
  if (remaining === undefined) return "unknown";
  if (remaining > 0) return "valid";
  return tokens.refreshToken ? "refreshable" : "expired";
}

/** The end of the access token by the wall clock as it is now, which may have jumped since. */
function endOf(context: SessionContext, tokens: Tokens): number {
  const { world } = context;
  const known = tokens.expiresAt ?? 0;
  const end = world.now() + (remainingMs(tokens, world) ?? 0);
  return Math.abs(end - known) < 2_000 ? known : end;
}

function endpointOrigin(context: SessionContext): string | undefined {
  const url = URL.parse(endpointText(context.options, context.settings) ?? "");
  return url === null ? undefined : url.origin;
}

function originsOf(context: SessionContext): Record<string, SettingOrigin> {
  const origins: Record<string, SettingOrigin> = {};
  for (const name of Object.keys(VARIABLES) as SettingName[]) {
    const origin = context.settings.origin(name);
    if (origin !== undefined) origins[VARIABLES[name]] = origin;
  }
  return origins;
}

function warningsOf(context: SessionContext, tokens: Tokens | undefined): string[] {
  const warnings = [...context.settings.notes, ...context.warnings.values()];
  if (context.isDefault && !mayUseVariable("AUTH_URL")) {
    warnings.push("the environment could not be read; to use it, run with --allow-env");
  }
  if (tokens?.source === "portal") {
    const remaining = remainingMs(tokens, context.world);
    if (remaining !== undefined && remaining <= 0) return warnings;
    const span = remaining === undefined
      ? "it is good until the API says no"
      : `it is good for another ${spanText(remaining)}`;
    warnings.push(
      `a portal token cannot be refreshed: ${span}; then copy a new ` +
        "one, or set APP_CLIENT_ID and the other settings to log in with user name and password",
    );
  }
  return warnings;
}
