import { accessText, headline, nextText, placeText } from "./status_text.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { SessionStatus } from "../session/status.ts";
import { printable, timeText } from "../values/wording.ts";

/** Readable on light and on dark pages alike. */
const COLORS = { good: "#1f9d63", amber: "#c98500", red: "#d64545", none: "#7d8590" };

/**
 * A status as a compact card. It takes text color and font from the page, holds no script and no
 * style sheet (front ends take those out of saved notebooks), and everything in it is escaped. The
 * bar runs down by itself from the moment the card is shown.
 */
export function statusCard(status: SessionStatus): string {
  const tone = toneOf(status);
  const rows: [string, string][] = [];
  if (status.state !== "none") rows.push(["access token", bar(status, tone)]);
  if (status.clientId !== undefined) rows.push(["app client", escape(status.clientId)]);
  rows.push(["next", escape(nextText(status))], ["session", escape(placeText(status))]);
  const warnings = status.warnings.map((warning) =>
    `<div style="margin-top:6px;padding:4px 8px;border-left:3px solid ${COLORS.amber};` +
    `overflow-wrap:anywhere">${escape(warning)}</div>`
  );
  return frame(
    tone,
    escape(headline(status).slice(2)),
    escape(`as of ${timeText(status.asOf)}`),
    rows.map(([name, value]) => row(name, value)).join("") + warnings.join(""),
  );
}

/** What a doctor found, as a card. */
export function diagnosisCard(diagnosis: Diagnosis): string {
  const tones = { ok: "good", warn: "amber", fail: "red", skip: "none" } as const;
  const marks = { ok: "✓", warn: "!", fail: "✗", skip: "–" };
  const rows = diagnosis.checks.map(({ name, level, message, fix }) =>
    row(
      name,
      `<span style="color:${COLORS[tones[level]]};font-weight:600">${marks[level]}</span> ` +
        escape(message) + (fix ? `<br><span style="opacity:.7">→</span> ${escape(fix)}` : ""),
    )
  );
  const failed = diagnosis.checks.filter(({ level }) => level === "fail").length;
  const warned = diagnosis.checks.some(({ level }) => level === "warn");
  const title = failed === 0
    ? "Ready"
    : failed === 1
    ? "1 thing to mend"
    : `${failed} things to mend`;
  const tone = failed > 0 ? "red" : warned ? "amber" : "good";
  return frame(tone, title, `${diagnosis.checks.length} checks`, rows.join(""));
}

/** The frame that all cards share. Title, note and body are HTML. */
function frame(
  tone: keyof typeof COLORS,
  title: string,
  note: string,
  body: string,
): string {
  return `<div role="group" aria-label="platform-auth" style="max-width:600px;border:1px solid rgba(128,128,128,.35);` +
    `border-left:4px solid ${COLORS[tone]};border-radius:8px;padding:10px 14px;font-size:13px;` +
    `line-height:1.45"><div style="display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline;` +
    `justify-content:space-between"><strong style="font-size:14px;overflow-wrap:anywhere;min-width:0">` +
    `<span aria-hidden="true" style="color:${COLORS[tone]}">●</span> ${title}</strong>` +
    `<span style="opacity:.7;font-size:12px">${note}</span></div>${body}</div>`;
}

/** One line of a card. The value is HTML. */
function row(name: string, value: string): string {
  return `<div style="display:flex;flex-wrap:wrap;gap:0 12px;margin-top:4px">` +
    `<span style="opacity:.7;flex:0 0 100px">${escape(name)}</span>` +
    `<span style="flex:1 1 240px;overflow-wrap:anywhere">${value}</span></div>`;
}

function toneOf(status: SessionStatus): keyof typeof COLORS {
  const { state, canRefresh, source, warnings } = status;
  if (state === "none") return "none";
  if (state === "expired") return "red";
  // That a portal token cannot be refreshed is no trouble until it is about to end.
  const expected = source === "portal" ? 1 : 0;
  if (state === "refreshable" || warnings.length > expected) return "amber";
  return !canRefresh && state === "valid" && secondsLeft(status) < 300 ? "amber" : "good";
}

function secondsLeft(status: SessionStatus): number {
  const { accessTokenExpiresAt: end, asOf } = status;
  return end === undefined ? 0 : Math.max(0, (end.getTime() - asOf.getTime()) / 1_000);
}

/** The time left as a bar, full at an hour, with the words behind it. */
function bar(status: SessionStatus, tone: keyof typeof COLORS): string {
  const words = escape(accessText(status).replace(/^access token /, ""));
  const seconds = secondsLeft(status);
  if (status.state !== "valid" || seconds === 0) return words;
  // Full at an hour: the bar of a longer token stands until its last hour.
  const later = Math.max(0, Math.round(seconds) - 3_600);
  const width = Math.min(100, Math.max(2, (seconds / 3_600) * 100)).toFixed(1);
  // Front ends put a card into a page that is there already, often before it has a size, and then an
  // animated width shows nothing at all. Dashes need no size.
  const line = 'd="M0 3H100" stroke-width="6"';
  return `${words}<svg role="img" aria-label="time left" viewBox="0 0 100 6" ` +
    `preserveAspectRatio="none" style="display:block;width:100%;height:6px;margin:3px 0 4px;` +
    `border-radius:3px"><path ${line} stroke="currentColor" stroke-opacity=".15"></path>` +
    `<path ${line} stroke="${COLORS[tone]}" stroke-dasharray="${width} 200">` +
    `<animate attributeName="stroke-dashoffset" from="0" to="${width}" begin="${later}s" ` +
    `dur="${Math.round(seconds) - later}s" fill="freeze"></animate></path></svg>`;
}

/** Text as HTML. */
function escape(text: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return printable(text).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
