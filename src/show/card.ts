/**
 * Shows a status, a diagnosis or a download as HTML. All cards are made here.
 *
 * The folder shows values in a notebook and a terminal. It may import `api/` and all below it.
 */
import {
  accessWords,
  downloadsHeadline,
  downloadSize,
  downloadsSize,
  headline,
  nextText,
  placeText,
  resumedText,
  shownFailures,
  unshownFailures,
} from "./status_text.ts";
import type { Download } from "../api/download.ts";
import type { Downloads } from "../api/download_all.ts";
import { displayPath } from "../platform/paths.ts";
import { AuthError } from "../errors/errors.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { type AuthenticatorKey, groupedKey, KEY_WARNING } from "../session/challenges/challenge.ts";
import type { SessionStatus } from "../session/status.ts";
import { counted, timeText } from "../errors/amounts.ts";
import { escapeHtml } from "../errors/escape.ts";

/** Seen on light and on dark pages alike, as lines and marks. Words keep the page's color. */
const COLORS = { good: "#1f9d63", amber: "#c98500", red: "#d64545", none: "#7d8590" };
type Tone = keyof typeof COLORS;

/** A token that cannot be refreshed makes the card amber when it ends this soon. */
const ENDS_SOON_SECONDS = 300;

/** The color of a card's frame and of the bar in it. */
function toneOf(status: SessionStatus): Tone {
  const { state, canRefresh, notices } = status;
  if (state === "none") return "none";
  if (state === "expired" || state === "rejected") return "red";
  // A portal token can never be refreshed: no reason for amber until it is about to expire.
  const needsAction = notices.some(({ level, code }) =>
    level === "warning" && code !== "PORTAL_TOKEN"
  );
  if (state === "refreshable" || needsAction) return "amber";
  // Only the API knows whether it is good, and no refresh would replace it.
  if (state === "unknown" && !canRefresh) return "amber";
  return !canRefresh && state === "valid" && secondsLeft(status) < ENDS_SOON_SECONDS
    ? "amber"
    : "good";
}

function secondsLeft(status: SessionStatus): number {
  const { accessTokenExpiresAt: end, asOf } = status;
  return end === undefined ? 0 : Math.max(0, (end.getTime() - asOf.getTime()) / 1_000);
}

/** A line of a card. The value is HTML; a tone marks the name. */
interface Row {
  readonly name: string;
  readonly value: string;
  readonly tone?: Tone;
}

/**
 * A status as a compact card. It is a table, because front ends take styles out of saved notebooks
 * and a table reads well without them. It takes text color and font from the page, holds no script
 * and no style sheet, and everything in it is escaped. Nothing in it moves: a saved card would begin
 * anew whenever its notebook is opened.
 */
export function statusCard(status: SessionStatus): string {
  const tone = toneOf(status);
  const { state, clientId, portalUrl, warnings, notes = [] } = status;
  const value = (text: string) => linked(text, portalUrl);
  const rows: Row[] = [
    ...(state === "none" ? [] : [{ name: "access token", value: bar(status, tone) }]),
    ...(clientId === undefined ? [] : [{ name: "app client", value: escapeHtml(clientId) }]),
    { name: "next", value: value(nextText(status)) },
    { name: "session", value: escapeHtml(placeText(status)) },
    ...warnings.map((each): Row => ({ name: "warning", value: value(each), tone: "amber" })),
    ...notes.map((each) => ({ name: "note", value: escapeHtml(each) })),
  ];
  return frame(tone, headline(status), `as of ${timeText(status.asOf)}`, rows);
}

/** Words as HTML, in which a call such as `login({ force: true })` stays in one line where it fits. */
function wordsHtml(text: string): string {
  return escapeHtml(text.replace(/\(\{[^}]*\}\)/g, (options) => options.replaceAll(" ", "\u00a0")));
}

/** What happened, and below it what to do. */
function stepHtml(problem: string, fix: string | undefined): string {
  const next = fix ? `<br><span style="opacity:.7">→</span> ${wordsHtml(fix)}` : "";
  return `${escapeHtml(problem)}${next}`;
}

/** Words as HTML, in which this address is a link. */
function linked(text: string, address: string | undefined): string {
  const html = wordsHtml(text);
  if (address === undefined) return html;
  const shown = escapeHtml(address);
  return html.replaceAll(shown, () => `<a href="${shown}" target="_blank">${shown}</a>`);
}

/** What a doctor found, as a card. */
export function diagnosisCard(diagnosis: Diagnosis): string {
  const tones = { ok: "good", warn: "amber", fail: "red", skip: "none" } as const;
  const marks = { ok: "✓", warn: "!", fail: "✗", skip: "–" };
  const rows = diagnosis.checks.map(({ name, level, message, fix }) => ({
    name,
    value: `<span style="color:${COLORS[tones[level]]};font-weight:600">${marks[level]}</span> ` +
      stepHtml(message, fix),
  }));
  const failed = diagnosis.checks.filter(({ level }) => level === "fail").length;
  const warned = diagnosis.checks.some(({ level }) => level === "warn");
  const title = failed === 0 ? "Ready" : `${counted(failed, "thing")} to fix`;
  const tone = failed > 0 ? "red" : warned ? "amber" : "good";
  return frame(tone, title, `${diagnosis.checks.length} checks`, rows);
}

/** A file that was saved, as a card. */
export function downloadCard(download: Download): string {
  const { contentType, resumedFrom } = download;
  const rows: Row[] = [
    { name: "size", value: escapeHtml(downloadSize(download)) },
    ...(contentType === undefined ? [] : [{ name: "type", value: escapeHtml(contentType) }]),
    ...(resumedFrom === 0 ? [] : [{ name: "went on", value: escapeHtml(resumedText(download)) }]),
  ];
  return frame("good", displayPath(download.file), download.kept ? "kept" : "saved", rows);
}

/** Many files, with those that failed. */
export function downloadsCard(downloads: Downloads): string {
  const { saved, failed } = downloads.counts;
  const rest = unshownFailures(downloads);
  const rows: Row[] = [
    { name: "size", value: escapeHtml(downloadsSize(downloads)) },
    ...shownFailures(downloads).map(({ input, file, error }): Row => ({
      name: "failed",
      value: `${escapeHtml(`${input} → ${displayPath(file)}`)}<br>${failureHtml(error)}`,
      tone: "amber",
    })),
    ...(rest > 0 ? [{ name: "failed", value: `and ${rest} more` }] : []),
    ...(failed > 0 ? [{ name: "next", value: "run it again: what is there already is kept" }] : []),
  ];
  const tone = failed === 0 ? "good" : saved === 0 ? "red" : "amber";
  return frame(tone, downloadsHeadline(downloads), "", rows);
}

function failureHtml(error: Error): string {
  return error instanceof AuthError
    ? stepHtml(error.problem, error.fix)
    : escapeHtml(error.message);
}

/**
 * A key for an authenticator app, with a picture to scan.
 *
 * @param picture SVG; none: the key is typed.
 */
export function keyCard(key: AuthenticatorKey, picture: string | undefined): string {
  const code = (text: string) => `<code>${escapeHtml(text)}</code>`;
  const rows: Row[] = [
    { name: "key", value: code(groupedKey(key)) },
    { name: "address", value: code(key.address) },
    { name: "secret", value: escapeHtml(KEY_WARNING), tone: "amber" },
  ];
  if (picture !== undefined) {
    const box = 'role="img" aria-label="QR code of the address" style="max-width:220px"';
    rows.unshift({ name: "scan", value: `<div ${box}>${picture}</div>` });
  }
  return frame("amber", "Add this key to your authenticator app", "", rows);
}

/** The frame that all cards share. */
function frame(tone: Tone, title: string, note: string, rows: readonly Row[]): string {
  return `<div role="group" aria-label="platform-auth" style="max-width:600px;border:1px solid rgba(128,128,128,.35);` +
    `border-left:4px solid ${COLORS[tone]};border-radius:8px;padding:10px 14px;font-size:13px;` +
    `line-height:1.45;overflow-wrap:break-word"><div><strong style="font-size:14px">` +
    `<span aria-hidden="true" style="color:${COLORS[tone]}">●</span> ${
      escapeHtml(title)
    }</strong>` +
    (note === "" ? "" : `<span style="opacity:.7;font-size:12px"> · ${escapeHtml(note)}</span>`) +
    `</div><table style="display:block;border:0;margin:0;font-size:inherit">` +
    `<tbody style="display:block">${rows.map(tableRow).join("")}</tbody></table></div>`;
}

/** Each property that front ends set on tables is set here. */
const ROW = "display:block;border:0;padding:0;background:none";
const CELL = "display:inline-block;box-sizing:border-box;border:0;text-align:left;" +
  "vertical-align:top;font-weight:normal;line-height:inherit;max-width:100%;white-space:normal";
const NAME = `${CELL};width:120px;padding:4px 8px 0 0`;
/** Below its name where it has no room beside it. */
const VALUE = `${CELL};width:calc(100% - 120px);min-width:min(200px,100%);padding:4px 0 0`;

/**
 * Without styles the names still stand to the left of a gap, each on one line. Only such styles are used
 * as JupyterLab leaves in a notebook that it does not trust, or without which the card can be read: it
 * takes out a flex gap and `overflow-wrap:anywhere`. A tone stands beside the name, as amber words are
 * too pale for a white page.
 */
function tableRow({ name, value, tone }: Row): string {
  const look = tone
    ? `border-left:3px solid ${COLORS[tone]};margin-left:-9px;padding-left:6px;font-weight:600`
    : "opacity:.7";
  const words = escapeHtml(name).replaceAll(" ", "&nbsp;");
  return `<tr style="${ROW}"><th scope="row" align="left" style="${NAME}">` +
    `<span style="${look}">${words}</span></th><td style="${VALUE}">${value}</td></tr>`;
}

/** The words for the access token and, where its lifetime is known, the part that is left as a bar. */
function bar(status: SessionStatus, tone: Tone): string {
  const words = escapeHtml(accessWords(status).words);
  const seconds = secondsLeft(status);
  const { state, accessTokenLifetimeSeconds: lifetime } = status;
  if (state !== "valid" || seconds === 0 || !lifetime) return words;
  const width = Math.min(100, Math.max(2, (seconds / lifetime) * 100)).toFixed(1);
  return `${words}<svg role="img" aria-label="time left" viewBox="0 0 100 6" ` +
    `preserveAspectRatio="none" style="display:block;width:100%;height:6px;margin:3px 0 4px;` +
    `border-radius:3px"><path d="M0 3H100" stroke-width="6" stroke="currentColor" ` +
    `stroke-opacity=".15"></path><path d="M0 3H${width}" stroke-width="6" ` +
    `stroke="${COLORS[tone]}"></path></svg>`;
}
