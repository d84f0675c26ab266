// This import has only types. The first plot loads the package.
import type * as Plot from "npm:@observablehq/plot@0.6.17";
import { checkOptions } from "../errors/arguments.ts";
import { typeError } from "../errors/errors.ts";
import { escapeHtml, printable } from "../errors/escape.ts";
import { loadPackage } from "../platform/packages.ts";
import { isIterable, isRecord, noColumn } from "./rows.ts";
import { type Bundle, display } from "./show.ts";

/** The package that draws. */
const PLOT = "npm:@observablehq/plot@0.6.17";
/** The package that provides a document to draw into. A kernel has no page. */
const DOCUMENT = "npm:linkedom@0.18.15";

/** Options of {@linkcode plot}: the options of Observable Plot, with a legend by default. */
export interface PlotOptions
  extends Omit<NonNullable<Parameters<(typeof Plot)["plot"]>[0]>, "marks" | "title" | "caption"> {
  /** A list of marks, or a function that receives Observable Plot and returns the marks. */
  marks: readonly unknown[] | ((plot: typeof Plot) => unknown);
  /** A line above the plot. Default: none. */
  title?: string;
  /**
   * The legend, which explains the colors. Default: the names of the color scale, or a color bar
   * for numbers. An object maps names to colors; `false` omits the legend.
   */
  legend?: Readonly<Record<string, string>> | boolean;
  /**
   * The text below the plot, such as the most important numbers, one per line. Outputs that cannot
   * show the plot still show the caption.
   */
  caption?: string;
}

/**
 * Draws a plot with [Observable Plot](https://observablehq.com/plot/) and shows it under its cell.
 *
 * The plot and its color bar are pictures with their own background, so that untrusted notebooks
 * and exports also show them. Outside a notebook, only title and caption are printed. If text in
 * the rows is a time, such as `2025-07-07T10:00:00Z`, it becomes a date; a time without an offset
 * is UTC. A function that is the value of a channel receives the original rows.
 *
 * The first plot fetches Observable Plot from npm if it is not in Deno's cache.
 *
 * ```ts ignore
 * const rows = await fetchJson("/v1/observations");
 * await plot({
 *   title: "A week in July",
 *   marks: (Plot) => Plot.lineY(rows, { x: "time", y: "temperatureC", stroke: "station" }),
 * });
 * ```
 *
 * @throws {TypeError} If no marks are given, the rows of a mark are a promise, no row has the
 * column of a mark, or an option has a wrong type.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if a package is not in Deno's cache and cannot be
 * fetched.
 */
export async function plot(options: PlotOptions): Promise<void> {
  await display(await plotBundle(options));
}

/** Returns a plot as text and as HTML. */
export async function plotBundle(options: PlotOptions): Promise<Bundle> {
  const { marks: given, title, legend = true, caption, ...rest } = options ?? {};
  if (given === undefined) throw noMarks("");
  const { x, y, fx, fy } = rest;
  // Observable Plot fails if a scale is null. An axis is hidden with `{ axis: null }` instead.
  checkOptions("plot()", { title, legend, caption, x, y, fx, fy }, {
    title: "string",
    legend: ["object", "boolean", "false"],
    caption: "string",
    x: "object",
    y: "object",
    fx: "object",
    fy: "object",
  });
  const { Plot, document } = await drawing();
  const marks = [typeof given === "function" ? given(Plot) : given].flat(Infinity);
  if (!marks.every(isMark)) throw noMarks("; one of these is not a mark");
  const figure = Plot.plot({
    ...DEFAULTS,
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, withDates(value)])),
    color: { legend: legend === true, ...COLOR_BAR, ...Object(withDates(rest.color)) },
    title,
    caption: caption?.replaceAll("\n", "; "),
    marks: marks.map(prepared),
    document,
    figure: true,
  }).outerHTML;
  const ownLegend = typeof legend === "object"
    ? Plot.legend({ color: namedColors(legend), document }).outerHTML
    : "";
  const text = [title, caption].filter((each) => each !== undefined).join("\n");
  return {
    "text/plain": text || "A plot (this output cannot show pictures)",
    "text/html": withPictures(
      figure.replace("<svg", () => `${ownLegend}<svg`),
      escapeHtml(title ?? caption ?? "A plot"),
    ),
  };
}

function namedColors(legend: Readonly<Record<string, string>>) {
  return { type: "categorical", domain: Object.keys(legend), range: Object.values(legend) };
}

/**
 * Whether Observable Plot accepts the value as a mark. It accepts `null` and `undefined`, for which
 * it draws nothing, as in `condition ? mark : null`.
 */
function isMark(mark: unknown): mark is Mark | null | undefined {
  if (typeof mark === "function" || mark === null || mark === undefined) return true;
  return typeof mark === "object" && "render" in mark && typeof mark.render === "function";
}

function noMarks(which: string): TypeError {
  return typeError(
    "plot() takes options with marks, such as plot({ marks: (Plot) => " +
      `Plot.dot(rows, { x: "time", y: "value" }) })${which}`,
  );
}

/** The members of a mark that this file uses. */
interface Mark {
  readonly data?: unknown;
  readonly channels?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** Returns the mark with the times in its rows converted to dates. */
function prepared(mark: Mark | null | undefined): Mark | null | undefined {
  const { data, channels = {} } = mark ?? {};
  if (data instanceof Promise) {
    throw typeError("plot() takes rows, but the rows of one mark are a promise: await it first");
  }
  if (mark === null || mark === undefined || !isIterable(data)) return mark;
  const given = new Map<unknown, unknown>();
  const rows = Array.from(data, (row) => {
    const made = dated(row);
    given.set(made, row);
    return made;
  });
  const prepare = ([name, channel]: [string, { readonly value: unknown }]) => {
    const { value } = channel;
    if (typeof value === "string") checkColumn(rows, value);
    if (typeof value !== "function") return [name, { ...channel, value: dated(value) }];
    const read = (row: unknown, at: number) => dated(value(given.get(row), at));
    return [name, { ...channel, value: read }];
  };
  return Object.create(mark, {
    data: { value: rows },
    channels: { value: Object.fromEntries(Object.entries(channels).map(prepare)) },
  });
}

function checkColumn(rows: readonly unknown[], name: string): void {
  const records = rows.filter(isRecord);
  if (records.length === 0 || rows.some((row) => name in Object(row))) return;
  throw noColumn("plot()", name, [...new Set(records.flatMap((row) => Object.keys(row)))]);
}

/** Converts the times in the domain of a scale to dates. Returns any other option unchanged. */
function withDates(option: unknown): unknown {
  return isRecord(option) && Array.isArray(option.domain)
    ? { ...option, domain: dated(option.domain) }
    : option;
}

/** Matches a day, or a time with or without an offset. */
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Converts all times in a text, a list or a row to dates. */
function dated(value: unknown): unknown {
  if (typeof value === "string") return timeIn(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => timeIn(each) ?? each);
  if (!isRecord(value)) return value;
  const times = Object.entries(value).flatMap(([name, each]) => {
    const time = timeIn(each);
    return time === undefined ? [] : [[name, time]];
  });
  return times.length === 0 ? value : { ...value, ...Object.fromEntries(times) };
}

function timeIn(value: unknown): Date | undefined {
  if (typeof value !== "string") return undefined;
  const [found, offset] = TIME.exec(value) ?? [];
  if (found === undefined) return undefined;
  const hasTime = value.length > "2025-07-07".length;
  return new Date(value.replace(" ", "T") + (hasTime && offset === undefined ? "Z" : ""));
}

/** The members of the packages that this file uses. */
interface Drawing {
  readonly Plot:
    & typeof Plot
    & Record<"plot" | "legend", (options: object) => { readonly outerHTML: string }>;
  readonly document: object;
}

async function drawing(): Promise<Drawing> {
  const [Plot, { DOMParser }] = await Promise.all(
    [PLOT, DOCUMENT].map((specifier) => loadPackage("draw a plot", specifier)),
  );
  // The document is XML. In HTML, & and < would stay unescaped in attributes, and no front end
  // would show the picture.
  const document = new DOMParser().parseFromString("<svg/>", "image/svg+xml");
  const createElement = document.createElement.bind(document);
  document.createElement = (tag: string) => tag === "canvas" ? new ColorBar() : createElement(tag);
  return { Plot, document };
}

/**
 * A substitute for the canvas on which Observable Plot draws the bar of a color scale, pixel by
 * pixel.
 */
class ColorBar {
  fillStyle = "";
  readonly #colors: string[] = [];

  getContext(): this {
    return this;
  }

  fillRect(): void {
    this.#colors.push(this.fillStyle);
  }

  toDataURL(): string {
    const last = this.#colors.length - 1;
    const stops = this.#colors.flatMap((color, at) =>
      at % 8 === 0 || at === last ? [`<stop offset="${at / last}" stop-color="${color}"/>`] : []
    );
    return dataUrl(
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" preserveAspectRatio="none">' +
        `<linearGradient id="a">${stops.join("")}</linearGradient>` +
        '<rect width="1" height="1" fill="url(#a)"/></svg>',
    );
  }
}

/** The colors of a picture. They are set because the page around it may be light or dark. */
const COLORS = { background: "#fffdf8", color: "#292524" };

const DEFAULTS = {
  style: { ...COLORS, fontSize: "12px" },
  width: 720,
  marginTop: 28,
  marginBottom: 36,
};

/**
 * The size of a color bar. The margins leave room for the first and the last label, which extend
 * beyond the ends of the bar.
 */
const COLOR_BAR = { width: 272, marginLeft: 16, marginRight: 16, style: COLORS };

/**
 * Minimum width of a plot, in pixels. In a narrower output the plot scrolls, because its text would
 * be unreadable if the plot shrank further.
 */
const READABLE_WIDTH = 420;

/**
 * Converts Observable Plot's figure to HTML without style sheets. Each drawing becomes a picture.
 */
function withPictures(figure: string, alt: string): string {
  const html = figure.replace(/<svg [^]*?<\/svg>/g, (svg) => pictureOf(svg, alt))
    .replace(/<style>[^]*?<\/style>/g, "")
    .replace(/<figure [^>]*>/, '<figure style="margin:0">')
    .replace("<h2>", '<h2 style="font-size:15px;font-weight:600;margin:0 0 4px">')
    .replace(/<div [^>]*>/g, "<div>")
    .replace(/<span [^>]*>/g, '<span style="display:inline-block;margin:0 1em 4px 0">');
  return printable(html);
}

function pictureOf(svg: string, alt: string): string {
  const [, width] = / width="([\d.]+)"/.exec(svg) ?? [];
  const isSwatch = !svg.includes(" viewBox=");
  const style = isSwatch
    // The display is set because classic Jupyter shows images as blocks by default.
    ? "display:inline-block;margin:0 0.5em 0 0;vertical-align:middle"
    : `display:block;max-width:100%;min-width:${Math.min(Number(width), READABLE_WIDTH)}px`;
  const words = isSwatch ? "" : /^[^>]*-ramp"/.test(svg) ? "color scale" : alt;
  const picture = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ');
  return `<img style="${style}" alt="${words}" src="${dataUrl(picture)}">`;
}

/**
 * Characters that XML does not allow. They are removed, because a page does not show a picture that
 * contains one.
 */
// deno-lint-ignore no-control-regex -- the pattern must match control characters
const NOT_IN_XML = /[\0-\x08\v\f\x0e-\x1f\ufffe\uffff]/g;

function dataUrl(svg: string): string {
  const bytes = new TextEncoder().encode(svg.replace(NOT_IN_XML, ""));
  return `data:image/svg+xml;base64,${bytes.toBase64()}`;
}
