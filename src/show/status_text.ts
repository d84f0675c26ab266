import type { Download } from "../api/download.ts";
import type { Downloads, FailedDownload } from "../api/download_all.ts";
import { type Fix, fixText } from "../errors/advice.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { logsInUnasked, type SessionStatus } from "../session/status.ts";
import { VARIABLES } from "../settings/options.ts";
import { bytesText, counted, durationText, timeText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";
import { displayPath } from "../platform/paths.ts";

/** A status for people, in three lines, with a further line for each warning and note. */
export function statusText(status: SessionStatus): string {
  const { warnings, notes = [] } = status;
  return [
    `${MARKS[status.state]} ${printable(headline(status))}`,
    `  ${printable(`${accessText(status)} · ${nextText(status)}`)}`,
    `  ${printable(`${placeText(status)} · as of ${timeText(status.asOf)}`)}`,
    ...warnings.map((warning) => `  ! ${printable(warning)}`),
    ...notes.map((note) => `  - ${printable(note)}`),
  ].join("\n");
}

const MARKS = {
  none: "○",
  valid: "●",
  unknown: "●",
  refreshable: "◐",
  expired: "○",
  rejected: "○",
} as const;

/** Whether the user is signed in, as whom and where. */
export function headline({ state, username, provider }: SessionStatus): string {
  if (state === "rejected") return "The API refused this token; log in again";
  const what = state === "none"
    ? "Not signed in"
    : state === "expired"
    ? "Session ended"
    : `Signed in${username ? ` as ${username}` : ""}`;
  const host = URL.parse(provider ?? "")?.hostname;
  return `${what}${host ? ` at ${host}` : ""}`;
}

/** Where the session is kept, or will be. */
export function placeText(status: SessionStatus): string {
  const { state, canRefresh, envFile, store, settings } = status;
  const place = store === undefined ? displayPath(envFile) : `the store at ${store}`;
  const isEmpty = state === "none" && !canRefresh;
  if (!isEmpty) return fixText(`kept in ${place}`);
  // What the environment has need not be kept, so only a file that is named is made.
  if (logsInUnasked(status) && settings[VARIABLES.password] === "environment") {
    const unless = envFile === undefined ? "" : " unless a file is named";
    return fixText([
      { inProgram: `login() keeps it in ${place}`, inTerminal: `nothing is kept${unless}` },
    ]);
  }
  return fixText([{ call: "login" }, ` keeps it in ${place}`]);
}

/** How long the access token is still good. */
export function accessText(status: SessionStatus): string {
  const { isThere, words } = accessWords(status);
  return isThere ? `access token ${words}` : words;
}

/** The same in two parts, for a line whose name is "access token". */
export function accessWords(status: SessionStatus): { isThere: boolean; words: string } {
  const there = (words: string) => ({ isThere: true, words });
  const { state, accessTokenExpiresAt: end, asOf } = status;
  if (state === "none") return { isThere: false, words: "no access token" };
  if (state === "rejected") return there("refused by the API");
  if (state === "unknown") return there("has an unknown expiry");
  if (end === undefined) {
    const words = `no access token ${state === "expired" ? "any more" : "yet"}`;
    return { isThere: false, words };
  }
  const left = end.getTime() - asOf.getTime();
  return left > 0
    ? there(`good for ${durationText(left)}, until ${timeText(end)}`)
    : there(`expired ${durationText(-left)} ago`);
}

/** What happens next, or what to do. */
export function nextText(status: SessionStatus): string {
  return fixText(nextStep(status));
}

const RUN_LOGIN: Fix = ["run ", { call: "login" }];

/** What happens where user name and password are set. Only the command line logs in by itself. */
const UNASKED: Fix = [
  { inProgram: "run login()", inTerminal: "fetch and token log in by themselves" },
];

/** What to do where only a new portal string helps. */
export function newPortalString(portalUrl: string | undefined): Fix {
  const login = { call: "login", options: { strategy: "portal" } } as const;
  return [`copy a new portal string${atPortal(portalUrl)} and run `, login];
}

function atPortal(portalUrl: string | undefined): string {
  return portalUrl === undefined ? "" : ` at ${portalUrl}`;
}

/** What happens next, or what to do, with calls as values. */
export function nextStep(status: SessionStatus): Fix {
  const { state, canRefresh, refreshableUntil, source, portalUrl } = status;
  if (state === "none" && canRefresh) return "the next call runs the token command";
  const byName = logsInUnasked(status) ? UNASKED : RUN_LOGIN;
  if (state === "none") return byName;
  if (source === "command") return "replaced by the token command when it is due";
  const isPortal = source === "portal";
  if (state === "expired" || state === "rejected") {
    return isPortal ? newPortalString(portalUrl) : byName;
  }
  const until = refreshableUntil
    ? `until about ${refreshableUntil.toISOString().slice(0, 10)}`
    : "for about 30 days after the login";
  if (canRefresh) {
    return state === "refreshable"
      ? `the next call refreshes it, possible ${until}`
      : `refreshed automatically ${until}`;
  }
  const when = state === "unknown" ? " when the API rejects it" : " when it expires";
  return isPortal
    ? `cannot be refreshed; copy a new portal string${atPortal(portalUrl)}${when}`
    : ["cannot be refreshed; run ", { call: "login" }, when];
}

/** As wide as an ordinary terminal, in characters. */
const COLUMNS = 80;

/** What a doctor found, in a line for each check; what to do has its own, where that would be long. */
export function diagnosisText(diagnosis: Diagnosis): string {
  const marks = { ok: "✓", warn: "!", fail: "✗", skip: "-" };
  return diagnosis.checks.map(({ name, level, message, fix }) => {
    const found = printable(`${name}: ${message}`);
    const next = fix ? `→ ${printable(fix)}` : "";
    const isShort = `  ${found} ${next}`.length <= COLUMNS;
    return `${marks[level]} ${found}${next && `${isShort ? " " : "\n  "}${next}`}`;
  }).join("\n");
}

/** A file that was saved, in a line. */
export function downloadText(download: Download): string {
  const { file, contentType, resumedFrom } = download;
  const parts = [
    `● ${displayPath(file)}: ${downloadSize(download)}`,
    ...(contentType === undefined ? [] : [contentType]),
    ...(resumedFrom === 0 ? [] : [`went on ${resumedText(download)}`]),
  ];
  return printable(parts.join(" · "));
}

/** How many failures are shown: the result has all of them. */
const MOST_SHOWN = 20;

/** Many files for people: a line, and one for each failure. */
export function downloadsText(downloads: Downloads): string {
  const mark = downloads.counts.failed === 0 ? "●" : "!";
  const rest = unshownFailures(downloads);
  const lines = [
    `${downloadsHeadline(downloads)} · ${downloadsSize(downloads)}`,
    ...shownFailures(downloads).map(({ input, file, error }) =>
      `  ✗ ${input} → ${displayPath(file)}: ${error.message}`
    ),
    ...(rest > 0 ? [`  ✗ and ${rest} more`] : []),
  ];
  return `${mark} ${lines.map(printable).join("\n")}`;
}

/** How many files came to what. */
export function downloadsHeadline({ counts: { saved, kept, failed } }: Downloads): string {
  return [
    `${counted(saved, "file")} saved`,
    ...(kept > 0 ? [`${kept} there already`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ].join(", ");
}

/** How much was saved, and how long that took. */
export function downloadsSize({ bytes, milliseconds }: Downloads): string {
  return `${bytesText(bytes)} in ${passedText(milliseconds)}`;
}

/** The failures that are shown. */
export function shownFailures({ failed }: Downloads): readonly FailedDownload[] {
  return failed.slice(0, MOST_SHOWN);
}

/** How many failures are not shown. */
export function unshownFailures(downloads: Downloads): number {
  return downloads.counts.failed - shownFailures(downloads).length;
}

/** How long a file is and how long that took. */
export function downloadSize({ bytes, milliseconds, kept }: Download): string {
  if (kept) return `${bytesText(bytes)}, kept, as it was there already`;
  return `${bytesText(bytes)} in ${passedText(milliseconds)}`;
}

/** How long something took. */
export function passedText(ms: number): string {
  return ms < 1_000 ? "under 1 s" : durationText(ms);
}

/** What an earlier call had left. */
export function resumedText({ resumedFrom }: Download): string {
  return `from ${bytesText(resumedFrom)} of an earlier call`;
}
