/** Draws a view as HTML. */
import { escapeHtml } from "../errors/escape.ts";
import { type AuthenticatorKey, groupedKey, KEY_WARNING } from "../session/challenges/challenge.ts";
import { type Level, LEVEL_MARKS, type Row, type Tone, type View } from "./view.ts";

/** Colors of lines and marks, visible on light and dark pages. Text keeps the page's color. */
const COLORS: Readonly<Record<Tone, string>> = {
  good: "#1f9d63",
  amber: "#c98500",
  red: "#d64545",
  none: "#7d8590",
};

const LEVEL_TONES: Readonly<Record<Level, Tone>> = {
  ok: "good",
  warn: "amber",
  fail: "red",
  skip: "none",
};

/**
 * Draws a view as a compact card. The card is a table, because front ends remove styles from saved
 * notebooks, and a table is readable without styles. The card inherits text color and font from the
 * page, contains no scripts and no style sheets, and escapes all text. Nothing is animated, because
 * an animation would restart whenever the notebook is opened.
 */
export function cardHtml({ tone, title, note, rows, link }: View): string {
  const drawn = rows.map((row) => ({ ...row, html: valueHtml(row, COLORS[tone], link) }));
  return frame(tone, title, note, drawn);
}

/**
 * Draws the card of a key for an authenticator app.
 *
 * @param picture The QR code as SVG; `undefined` if the user has to type the key.
 */
export function keyCard(key: AuthenticatorKey, picture: string | undefined): string {
  const box = 'role="img" aria-label="QR code of the address" style="max-width:220px"';
  const code = (text: string) => `<code>${escapeHtml(text)}</code>`;
  return frame("amber", "Add this key to your authenticator app", undefined, [
    ...(picture === undefined ? [] : [{ name: "scan", html: `<div ${box}>${picture}</div>` }]),
    { name: "key", html: code(groupedKey(key)) },
    { name: "address", html: code(key.address) },
    { name: "secret", html: valueHtml({ name: "", value: KEY_WARNING, level: "warn" }, "") },
  ]);
}

function valueHtml({ value, fix, level, share }: Row, barColor: string, link?: string): string {
  const mark = level === undefined
    ? ""
    : `<span style="color:${COLORS[LEVEL_TONES[level]]};font-weight:600">` +
      `${LEVEL_MARKS[level]}</span> `;
  const next = fix ? `<br><span style="opacity:.7">→</span> ${textHtml(fix, link)}` : "";
  return mark + textHtml(value, link) + next + (share === undefined ? "" : bar(share, barColor));
}

/** Returns text as HTML. A call such as `login({ force: true })` stays on one line if it fits. */
function textHtml(text: string, link: string | undefined): string {
  const html = escapeHtml(
    text.replace(/\(\{[^}]*\}\)/g, (options) => options.replaceAll(" ", "\u00a0")),
  );
  if (link === undefined) return html;
  const shown = escapeHtml(link);
  return html.replaceAll(shown, () => `<a href="${shown}" target="_blank">${shown}</a>`);
}

function bar(share: number, color: string): string {
  const width = Math.max(2, share * 100).toFixed(1);
  return `<svg role="img" aria-label="time left" viewBox="0 0 100 6" preserveAspectRatio="none" ` +
    `style="display:block;width:100%;height:6px;margin:3px 0 4px;border-radius:3px">` +
    `<path d="M0 3H100" stroke-width="6" stroke="currentColor" stroke-opacity=".15"></path>` +
    `<path d="M0 3H${width}" stroke-width="6" stroke="${color}"></path></svg>`;
}

interface DrawnRow {
  readonly name: string;
  readonly html: string;
}

function frame(
  tone: Tone,
  title: string,
  note: string | undefined,
  rows: readonly DrawnRow[],
): string {
  return `<div role="group" aria-label="platform-auth" style="max-width:600px;border:1px solid rgba(128,128,128,.35);` +
    `border-left:4px solid ${COLORS[tone]};border-radius:8px;padding:10px 14px;font-size:13px;` +
    `line-height:1.45;overflow-wrap:break-word"><div><strong style="font-size:14px">` +
    `<span aria-hidden="true" style="color:${COLORS[tone]}">●</span> ${
      escapeHtml(title)
    }</strong>` +
    (note ? `<span style="opacity:.7;font-size:12px"> · ${escapeHtml(note)}</span>` : "") +
    `</div><table style="display:block;border:0;margin:0;font-size:inherit">` +
    `<tbody style="display:block">${rows.map(tableRow).join("")}</tbody></table></div>`;
}

/** The styles of rows and cells. They override every property that front ends set on tables. */
const ROW = "display:block;border:0;padding:0;background:none;text-align:left";
const CELL = "display:inline-block;box-sizing:border-box;border:0;text-align:left;" +
  "vertical-align:top;font-weight:normal;line-height:inherit;max-width:100%;white-space:normal";
const NAME = `${CELL};width:120px;padding:4px 8px 0 0`;
/** The value moves below its name if there is no room next to the name. */
const VALUE = `${CELL};width:calc(100% - 120px);min-width:min(200px,100%);padding:4px 0 0`;

/**
 * Draws one row. Uses only styles that JupyterLab keeps in an untrusted notebook. It removes a flex
 * gap and `overflow-wrap:anywhere`, for example.
 */
function tableRow({ name, html }: DrawnRow): string {
  const label = escapeHtml(name).replaceAll(" ", "&nbsp;");
  return `<tr style="${ROW}"><th scope="row" align="left" style="${NAME}">` +
    `<span style="opacity:.7">${label}</span></th><td style="${VALUE}">${html}</td></tr>`;
}
