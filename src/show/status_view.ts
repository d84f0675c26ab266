import { type Fix, fixText } from "../errors/advice.ts";
import { durationText } from "../errors/amounts.ts";
import { displayPath } from "../files/paths.ts";
import type { SessionStatus } from "../session/status.ts";
import { storeText } from "../session/vaults/vault.ts";
import { portalText, VARIABLES } from "../settings/options.ts";
import type { Row, Tone, View } from "./view.ts";

/** Returns the view of a status. */
export function statusView(status: SessionStatus): View {
  const { state, clientId, ended, notices, portalUrl, asOf } = status;
  return {
    link: portalUrl,
    tone: toneOf(status),
    title: headline(status),
    note: `as of ${timeText(asOf)}`,
    rows: [
      ...(state === "none"
        ? []
        : [{ name: "access token", value: accessText(status), share: shareLeft(status) }]),
      ...(clientId === undefined ? [] : [{ name: "app client", value: clientId }]),
      ...(ended === undefined ? [] : [{ name: "signed out", value: ENDED[ended] }]),
      { name: "next", value: fixText(nextStep(status)) },
      { name: "session", value: placeText(status) },
      ...notices.map(({ level, problem, fix }): Row => ({
        name: level,
        value: problem,
        fix,
        level: level === "warning" ? "warn" : "skip",
      })),
    ],
  };
}

const ENDED = {
  here: "on this computer",
  provider: "on this computer and at the provider",
  everywhere: "on all devices",
} as const;

/** A token that cannot be refreshed is shown in amber if it expires within this time. */
const EXPIRES_SOON_SECONDS = 300;

function toneOf(status: SessionStatus): Tone {
  const { state, canRefresh, notices } = status;
  if (state === "none") return "none";
  if (state === "expired" || state === "rejected") return "red";
  // PORTAL_TOKEN does not count: every portal string has this warning, so all would be amber from the
  // start.
  const needsAction = notices.some(({ level, code }) =>
    level === "warning" && code !== "PORTAL_TOKEN"
  );
  if (state === "refreshable" || needsAction) return "amber";
  if (canRefresh) return "good";
  // Only the API knows whether a token without an expiry is valid, so this token is shown in amber.
  return state === "unknown" || secondsLeft(status) < EXPIRES_SOON_SECONDS ? "amber" : "good";
}

function secondsLeft({ accessTokenExpiresAt: end, asOf }: SessionStatus): number {
  return end === undefined ? 0 : Math.max(0, (end.getTime() - asOf.getTime()) / 1_000);
}

/** The remaining share of the token's lifetime, if lifetime and expiry are known. */
function shareLeft(status: SessionStatus): number | undefined {
  const { state, accessTokenLifetimeSeconds: lifetime } = status;
  return state === "valid" && lifetime ? Math.min(1, secondsLeft(status) / lifetime) : undefined;
}

function headline({ state, username, provider }: SessionStatus): string {
  if (state === "rejected") return "The API rejected this token; log in again";
  const what = state === "none"
    ? "Not signed in"
    : state === "expired"
    ? "Session ended"
    : `Signed in${username ? ` as ${username}` : ""}`;
  const host = URL.parse(provider ?? "")?.hostname;
  return `${what}${host ? ` at ${host}` : ""}`;
}

/** The place that stores the session, or that a login will use. */
function placeText(status: SessionStatus): string {
  const { state, canRefresh, envFile, store } = status;
  const place = store === undefined ? displayPath(envFile) : storeText(store);
  if (state !== "none" || canRefresh) return `kept in ${place}`;
  // `status()` does not read a store.
  const mayBeKept = store === undefined ? "" : "; each call also looks for a session there";
  return fixText([{ call: "login" }, ` keeps it in ${place}${mayBeKept}`]);
}

/** The remaining time of the access token. */
export function accessText({ state, accessTokenExpiresAt: end, asOf }: SessionStatus): string {
  if (state === "none") return "none";
  if (state === "rejected") return "rejected by the API";
  if (state === "unknown") return "valid, with an unknown expiry";
  if (end === undefined) return state === "expired" ? "none any more" : "none yet";
  const left = end.getTime() - asOf.getTime();
  return left > 0
    ? `valid for ${durationText(left)}, until ${timeText(end)}`
    : `expired ${durationText(-left)} ago`;
}

/** Returns the step for a token that only a new portal string can replace. */
export function newPortalString(portal: string | undefined): Fix {
  const login = { call: "login", options: { strategy: "portal" } } as const;
  return [`copy a new portal string${at(portal)} and run `, login];
}

function at(portal: string | undefined): string {
  return portal === undefined ? "" : ` at ${portal}`;
}

const LOGIN: Fix = ["run ", { call: "login" }];

/** Returns what happens next, or what the user has to do. */
export function nextStep(status: SessionStatus): Fix {
  const { state, canRefresh, refreshableUntil, source, settings } = status;
  const portal = portalText(status.portalUrl, settings[VARIABLES.portalUrl]);
  if (state === "none" && canRefresh) return "the next call gets a token from the option token";
  if (state === "none") return LOGIN;
  if (source === "token") return "the option token replaces the token before it expires";
  const isPortal = source === "portal";
  if (state === "expired" || state === "rejected") {
    return isPortal ? newPortalString(portal) : LOGIN;
  }
  if (canRefresh) {
    const until = refreshableUntil
      ? `until about ${refreshableUntil.toISOString().slice(0, 10)}`
      : "for about 30 days after the login";
    return state === "refreshable"
      ? `the next call refreshes the token; the provider allows this ${until}`
      : `refreshed automatically ${until}`;
  }
  const when = state === "unknown" ? " when the API rejects the token" : " when the token expires";
  return isPortal
    ? `copy a new portal string${at(portal)}${when}`
    : ["run ", { call: "login" }, when];
}

/**
 * Formats a time to the minute, in UTC so that a saved notebook does not depend on the time zone.
 */
function timeText(date: Date): string {
  return Number.isNaN(date.getTime())
    ? "an unknown time"
    : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
