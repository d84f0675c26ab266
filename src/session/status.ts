import type { Configuration } from "./configuration.ts";
import { type Notice, noticeOf, type Notices } from "./notices.ts";
import type { Advice } from "../errors/advice.ts";
import { sentenceOf } from "../errors/errors.ts";
import { type SessionState, tokensOf } from "./state.ts";
import type { Place } from "./vaults/vault.ts";
import { mayUseVariable } from "../platform/environment.ts";
import type { Clocks } from "../platform/world.ts";
import { accountOf } from "./whose.ts";
import { REFRESH_DAYS, remainingMs, type Tokens } from "../provider/tokens.ts";
import { durationText } from "../errors/amounts.ts";

/** The status of a session, without any token. A notebook shows the status as a card. */
export interface SessionStatus {
  /**
   * Whether calls can be made.
   *
   * - `none`: there is no session; log in.
   * - `valid`: the access token has not expired.
   * - `refreshable`: the access token expired; the next call refreshes it.
   * - `expired`: the access token expired and cannot be refreshed; log in again.
   * - `unknown`: the token does not say when it expires; it is used until the API rejects it.
   * - `rejected`: the API rejected the token, and it cannot be refreshed; log in again.
   */
  state: "none" | "valid" | "refreshable" | "expired" | "unknown" | "rejected";
  /** The user name in the token, or else in the settings. */
  username?: string;
  /** Address of the identity provider. */
  provider?: string;
  /** The app client id. */
  clientId?: string;
  /** When the access token expires. */
  accessTokenExpiresAt?: Date;
  /** The lifetime of a new access token, in seconds, if known. */
  accessTokenLifetimeSeconds?: number;
  /** When the refresh token expires. This is an estimate: 30 days after the login. */
  refreshableUntil?: Date;
  /** Whether there is a refresh token, or the option `token` lends the next token. */
  canRefresh: boolean;
  /**
   * Where the tokens came from.
   *
   * - `portal`: a string that was copied from the portal.
   * - `password`: a login with user name and password.
   * - `refresh`: a refresh of an earlier token.
   * - `file`: the `.env`.
   * - `store`: the shared store of `AUTH_STORE` (store).
   * - `environment`: `ACCESS_TOKEN` in the process environment.
   * - `token`: the function in the option `token`.
   * - `none`: there is no session.
   */
  source: "portal" | "password" | "refresh" | "file" | "environment" | "token" | "store" | "none";
  /** Address of the portal, if `PORTAL_URL` (portalUrl) is set. */
  portalUrl?: string;
  /**
   * Absolute path of the `.env` that stores the session; absent if the session is in memory only or
   * in a store.
   */
  envFile?: string;
  /**
   * Host and port of the store that shares the session, or "the program's store" for your own
   * store; absent if there is no store or saving failed.
   */
  store?: string;
  /**
   * Where each setting came from, by the name of its variable: an `option` of the session, the
   * `environment` of the process, or the `.env` (`file`).
   */
  settings: Readonly<Record<string, "option" | "environment" | "file">>;
  /** The notices that ask for action, as sentences. */
  warnings: string[];
  /** All notices as data, including the warnings. */
  notices: readonly Notice[];
  /**
   * How far a logout went; only in the result of `logout()`.
   *
   * - `here`: the tokens on this computer were deleted.
   * - `provider`: the provider also revoked the refresh token.
   * - `everywhere`: the provider also signed out all other devices.
   */
  ended?: "here" | "provider" | "everywhere";
  /** When this status was made. */
  asOf: Date;
}

/** The parts of a session that a status shows. */
interface Shown {
  readonly configuration: Configuration;
  readonly current: SessionState;
  readonly notices: Notices;
  readonly place: Place | undefined;
}

/** The status of a session as plain data. */
export function statusOf(
  { configuration, current: state, notices, place }: Shown,
): SessionStatus {
  const { settings, world } = configuration;
  const tokens = tokensOf(state);
  const username = usernameOf(configuration, tokens);
  const { clientId, provider } = configuration.issuer;
  const { portalUrl } = settings;
  const { authenticatedAt, expiresAt, lifetimeMs } = tokens ?? {};
  const isSaved = notices.get("NOT_SAVED") === undefined;
  const shown = noticesOf(configuration, notices, state);
  const canRefresh = state.kind === "renewable" || isLentNext(configuration, state);
  return {
    state: shownState(state, canRefresh, world),
    ...(username !== undefined && { username }),
    ...(provider !== undefined && { provider }),
    ...(clientId !== undefined && { clientId }),
    ...(expiresAt && { accessTokenExpiresAt: new Date(expiresAt) }),
    ...(lifetimeMs !== undefined && { accessTokenLifetimeSeconds: Math.round(lifetimeMs / 1_000) }),
    ...(tokens?.refreshToken && authenticatedAt !== undefined && {
      refreshableUntil: new Date(authenticatedAt + REFRESH_DAYS * 86_400_000),
    }),
    canRefresh,
    source: tokens?.source ?? "none",
    ...(portalUrl !== undefined && { portalUrl }),
    ...(isSaved && place),
    settings: settings.origins,
    warnings: shown.filter(({ level }) => level === "warning").map(sentenceOf),
    notices: shown,
    asOf: new Date(world.now()),
  };
}

/** Whether a login is necessary: there is no session, or it ended and cannot be refreshed. */
export function needsLogin({ canRefresh, state }: SessionStatus): boolean {
  return !canRefresh && ["none", "expired", "rejected"].includes(state);
}

/**
 * The user name in the token, or else the user name of the login. A portal token may belong to any
 * account, so the user name in the settings is not used for a portal token.
 */
function usernameOf({ settings }: Configuration, tokens: Tokens | undefined): string | undefined {
  const known = accountOf(tokens?.claims ?? {}) ?? tokens?.learned.loginName;
  const fromSettings = tokens === undefined || tokens.refreshToken !== undefined;
  return known ?? (fromSettings ? settings.text("username") : undefined);
}

/** Whether the option `token` lends the next token. */
function isLentNext({ isLent }: Configuration, state: SessionState): boolean {
  return isLent && (state.kind !== "none" || state.because === undefined);
}

function shownState(
  state: SessionState,
  canRefresh: boolean,
  clocks: Clocks,
): SessionStatus["state"] {
  if (state.kind === "none") {
    // Any other code means that the session could not be refreshed.
    return (state.because?.code ?? "NO_SESSION") === "NO_SESSION" ? "none" : "expired";
  }
  const remaining = remainingMs(state.tokens, clocks);
  if (!canRefresh && state.rejected) return "rejected";
  if (remaining === undefined) return "unknown";
  if (remaining > 0) return "valid";
  return canRefresh ? "refreshable" : "expired";
}

function noticesOf(
  configuration: Configuration,
  notices: Notices,
  state: SessionState,
): Notice[] {
  const { isDefault, settings } = configuration;
  const settingsAdvice = [
    // With a session, no user name is needed.
    state.kind === "none" ? settings.rivalNames : undefined,
    ...settings.notes,
    isDefault && !mayUseVariable("AUTH_URL") ? ENVIRONMENT_UNREADABLE : undefined,
  ].filter((each) => each !== undefined);
  const portal = portalAdvice(configuration, state);
  return [
    ...settingsAdvice.map((advice) => noticeOf("SETTING", advice)),
    ...notices.all,
    ...(portal ? [noticeOf("PORTAL_TOKEN", portal)] : []),
  ];
}

const ENVIRONMENT_UNREADABLE: Advice = {
  problem: "the environment could not be read",
  fix: "to use the settings in the environment, run with --allow-env",
};

/** Says how long a portal token can still be used. */
function portalAdvice(
  { settings: { portalText }, world }: Configuration,
  state: SessionState,
): Advice | undefined {
  if (state.kind === "none" || state.rejected || state.tokens.source !== "portal") return undefined;
  const remaining = remainingMs(state.tokens, world);
  if (remaining !== undefined && remaining <= 0) return undefined;
  const span = remaining === undefined
    ? "this one is not a JWT and does not state its expiry, so it is used until the API rejects it"
    : `this one is valid for another ${durationText(remaining)}`;
  const at = portalText === undefined ? "," : ` at ${portalText}`;
  return {
    problem: `a portal string cannot be refreshed; ${span}`,
    fix: `when it expires, copy a new one${at} or log in with user name and password`,
  };
}
