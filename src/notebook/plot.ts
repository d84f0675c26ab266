// Types only: the package is loaded by the first plot.
import type * as Plot from "npm:@observablehq/plot@^0.6";
import { checkOptions } from "../errors/arguments.ts";
import { typeError } from "../errors/errors.ts";
import { printable } from "../errors/escape.ts";
import { loadPackage } from "../platform/packages.ts";
import { isIterable, isRecord, noColumn } from "./rows.ts";
import { type Bundle, display } from "./show.ts";

/** Draws. */
const PLOT = "npm:@observablehq/plot@0.6.17";
/** A kernel has no page, so this makes a document to draw into. */
const DOCUMENT = "npm:linkedom@0.18.15";

/** Options of {@linkcode plot}: those of Observable Plot, with a legend by default. */
export interface PlotOptions
  extends Omit<NonNullable<Parameters<(typeof Plot)["plot"]>[0]>, "marks" | "title" | "caption"> {
  /** A list of marks, or a function that receives Observable Plot and returns them. */
  marks: readonly unknown[] | ((plot: typeof Plot) => unknown);
  /** A line above the plot. Default: none. */
  title?: string;
  /**
   * What the colors mean. Default: the names of the color scale, or a bar for numbers. An object: names
   * and their colors. `false`: no legend.
   */
  legend?: Readonly<Record<string, string>> | boolean;
  /** The figures to remember, one per line. They also show where the plot does not. */
  caption?: string;
}

/**
 * Draws a plot with [Observable Plot](https://observablehq.com/plot/) and shows it under its cell.
 *
 * The plot and its color bar are pictures with a background of their own, which untrusted notebooks and
 * exports show, too. Outside a notebook, title and caption are printed. Times given as text, such as
 * `2025-07-07T10:00:00Z`, become dates in the rows; a time without an offset is UTC. Only a function that
 * is the value of a channel receives the rows as they were given.
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
 * @throws {TypeError} If no marks are given, their rows are a promise, no row has a column, or an option
 *   has a wrong type.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if a package is not in Deno's cache and cannot be fetched.
 */
export async function plot(options: PlotOptions): Promise<void> {
  await display(await plotBundle(options));
}

/** A plot as text and as HTML. */
export async function plotBundle(options: PlotOptions): Promise<Bundle> {
  const { marks: given, title, legend = true, caption, ...rest } = options ?? {};
  if (given === undefined) throw noMarks("");
  checkOptions("plot()", { title, legend, caption }, {
    title: ["string"],
    legend: ["object", "boolean", "false"],
    caption: ["string"],
  });
  const noAxis = (["x", "y", "fx", "fy"] as const).find((name) => rest[name] === null);
  if (noAxis) {
    throw typeError(`plot() takes an object as "${noAxis}", such as ${noAxis}: { axis: null }`);
  }
  const { Plot, document } = await drawing();
  const marks = [typeof given === "function" ? given(Plot) : given].flat(Infinity);
  if (!marks.every(isMark)) throw noMarks(", and one of these is not a mark");
  const figure = Plot.plot({
    ...DEFAULTS,
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, withDates(value)])),
    color: { legend: legend === true, ...Object(withDates(rest.color)) },
    title,
    caption: caption?.replaceAll("\n", "; "),
    marks: marks.map(prepared),
    document,
    figure: true,
  });
  if (typeof legend === "object") {
    const color = {
      type: "categorical",
      domain: Object.keys(legend),
      range: Object.values(legend),
    };
    figure.querySelector("svg")?.before(Plot.legend({ color, document }));
  }
  const alt = title ?? caption ?? "A plot";
  const text = [title, caption].filter((each) => each !== undefined).join("\n");
  return {
    "text/plain": text || "A plot, shown where pictures are",
    "text/html": withPictures(figure, document, alt),
  };
}

/** What Observable Plot draws; it ignores a missing mark, such as one under a condition. */
function isMark(mark: unknown): mark is Mark | null | undefined {
  if (typeof mark === "function" || mark === null || mark === undefined) return true;
  return typeof mark === "object" && "render" in mark && typeof mark.render === "function";
}

function noMarks(which: string): TypeError {
  return typeError(
    `plot() takes options with marks${which}, such as plot({ marks: (Plot) => ` +
      'Plot.dot(rows, { x: "time", y: "value" }) })',
  );
}

/** What is used of a mark. */
interface Mark {
  readonly data?: unknown;
  readonly channels?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** A mark with dates in its rows. */
function prepared(mark: Mark | null | undefined): Mark | null | undefined {
  const { data, channels = {} } = mark ?? {};
  if (data instanceof Promise) {
    throw typeError("plot() takes rows, and those of one mark are a promise: await it first");
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

/** The options of a scale with dates in its domain; any other option as it is. */
function withDates(option: unknown): unknown {
  return isRecord(option) && Array.isArray(option.domain)
    ? { ...option, domain: dated(option.domain) }
    : option;
}

/** A day, or a time with or without its offset. */
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** A value in which texts that are times are dates: it may be a text, a list or a row. */
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

/** What is used of a document and its elements. */
interface SvgDocument {
  createElement(tag: string): SvgElement;
}

interface SvgElement {
  readonly outerHTML: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  before(other: SvgElement): void;
  replaceWith(other: SvgElement): void;
  remove(): void;
  querySelector(selector: string): SvgElement | null;
  querySelectorAll(selector: string): Iterable<SvgElement>;
}

interface Drawing {
  readonly Plot: typeof Plot & Record<"plot" | "legend", (options: object) => SvgElement>;
  readonly document: SvgDocument;
}

async function drawing(): Promise<Drawing> {
  const [Plot, { DOMParser }] = await Promise.all(
    [PLOT, DOCUMENT].map((specifier) => loadPackage("draw a plot", specifier)),
  );
  // Serialized as XML: HTML would leave & and < unescaped in attributes, and the picture would not show.
  const document = new DOMParser().parseFromString("<svg/>", "image/svg+xml");
  const createElement = document.createElement.bind(document);
  document.createElement = (tag: string) => tag === "canvas" ? new ColorBar() : createElement(tag);
  return { Plot, document };
}

/** Replaces the canvas on which Observable Plot draws the bar of a color scale, pixel by pixel. */
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

/** A picture has its own colors, because a page may be light or dark. */
const COLORS = { background: "#fffdf8", color: "#292524" };

const DEFAULTS = {
  style: { ...COLORS, fontSize: "12px" },
  width: 720,
  marginTop: 28,
  marginBottom: 36,
};

/** A narrower plot would have unreadable letters: next to a side bar it scrolls instead. */
const READABLE_WIDTH = 420;

/** Observable Plot's figure as HTML without style sheets, in which each drawing is a picture. */
function withPictures(figure: SvgElement, document: SvgDocument, alt: string): string {
  const replace = (svg: SvgElement, style: string, alt: string) => {
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const image = document.createElement("img");
    image.setAttribute("style", style);
    image.setAttribute("alt", alt);
    image.setAttribute("src", dataUrl(svg.outerHTML));
    svg.replaceWith(image);
  };
  figure.setAttribute("style", "margin:0");
  figure.querySelector("h2")?.setAttribute("style", "font-size:15px;margin:0 0 4px");
  for (const style of figure.querySelectorAll("div style")) style.remove();
  for (const swatch of figure.querySelectorAll("span")) {
    swatch.setAttribute("style", "display:inline-block;margin:0 1em 4px 0");
    for (const svg of swatch.querySelectorAll("svg")) {
      // Classic Jupyter makes an image a block.
      replace(svg, "display:inline-block;margin:0 0.5em 0 0;vertical-align:middle", "");
    }
  }
  for (const ramp of figure.querySelectorAll("svg[class$=-ramp]")) {
    // The outer labels reach over both ends of the bar.
    ramp.setAttribute("viewBox", "-16 0 272 50");
    ramp.setAttribute("width", "272");
    ramp.setAttribute("style", `background:${COLORS.background};color:${COLORS.color}`);
    replace(ramp, "display:block", "color scale");
  }
  for (const svg of figure.querySelectorAll("svg")) {
    const least = Math.min(Number(svg.getAttribute("width")), READABLE_WIDTH);
    replace(svg, `display:block;max-width:100%;min-width:${least}px`, alt);
  }
  return printable(figure.outerHTML);
}

/** What XML cannot contain; no page would show a picture with one of these in a name. */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const NOT_IN_XML = /[\0-\x08\v\f\x0e-\x1f\ufffe\uffff]/g;

function dataUrl(svg: string): string {
  const bytes = new TextEncoder().encode(svg.replace(NOT_IN_XML, ""));
  return `data:image/svg+xml;base64,${bytes.toBase64()}`;
}
