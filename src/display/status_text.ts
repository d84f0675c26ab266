import type { Diagnosis } from "./diagnosis.ts";
import type { SessionStatus } from "../session/status.ts";
import { durationText, printable, timeText } from "../values/wording.ts";
import { displayPath } from "../runtime/file_paths.ts";

/** A status for people, in three lines, with a further line for each warning. */
export function statusText(status: SessionStatus): string {
  const lines = [
    headline(status),
    `  ${tokenText(status)}`,
    `  ${placeText(status)} · as of ${timeText(status.asOf)}`,
    ...status.warnings.map((warning) => `  ! ${warning}`),
  ];
  return lines.map(printable).join("\n");
}

/** The first line: whether and as whom. */
export function headline(status: SessionStatus): string {
  const mark = {
    none: "○",
    valid: "●",
    unknown: "●",
    refreshable: "◐",
    expired: "○",
    rejected: "○",
  };
  const { state } = status;
  const what = state === "none"
    ? "Not signed in"
    : state === "expired"
    ? "Session ended"
    : `Signed in${status.username ? ` as ${status.username}` : ""}`;
  const host = URL.parse(status.provider ?? "")?.hostname;
  return `${mark[state]} ${what}${host ? ` at ${host}` : ""}`;
}

/** The second line: how long still, and then what. */
export function tokenText(status: SessionStatus): string {
  return `${accessText(status)} · ${nextText(status)}`;
}

/** Where the session is kept, or will be. */
export function placeText(status: SessionStatus): string {
  const kept = status.state === "none" ? "login() keeps it" : "kept";
  return `${kept} in ${displayPath(status.envFile)}`;
}

/** How long the access token is still good. */
export function accessText(status: SessionStatus): string {
  const { state, accessTokenExpiresAt: end, asOf } = status;
  if (state === "none") return "no access token";
  if (state === "unknown" || end === undefined) {
    return state === "unknown" ? "access token tells no end" : "no access token yet";
  }
  const left = end.getTime() - asOf.getTime();
  return left > 0
    ? `access token good for ${durationText(left)}, until ${timeText(end)}`
    : `access token ended ${durationText(-left)} ago`;
}

/** What happens next, or what to do. */
export function nextText(status: SessionStatus): string {
  const { state, canRefresh, refreshableUntil, source } = status;
  if (state === "none") return "run login()";
  const until = refreshableUntil
    ? `until about ${refreshableUntil.toISOString().slice(0, 10)}`
    : "for about 30 days after the login";
  if (canRefresh) {
    return state === "refreshable"
      ? `the next call refreshes it, possible ${until}`
      : `refreshed by itself ${until}`;
  }
  if (state === "expired") {
    return source === "portal"
      ? "copy a new portal string and run login({ portalToken })"
      : "run login()";
  }
  return source === "portal"
    ? "cannot be refreshed; copy a new portal string when it ends"
    : "cannot be refreshed; run login() when it ends";
}

/** What a doctor found, in a line for each check. */
export function diagnosisText(diagnosis: Diagnosis): string {
  const marks = { ok: "✓", warn: "!", fail: "✗", skip: "-" };
  return diagnosis.checks.map(({ name, level, message, fix }) =>
    printable(`${marks[level]} ${name}: ${message}${fix ? ` → ${fix}` : ""}`)
  ).join("\n");
}
