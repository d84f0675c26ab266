// Types only: the package is loaded by the first plot.
import type * as Plot from "npm:@observablehq/plot@^0.6";
import { checkOptions } from "../errors/arguments.ts";
import { typeError } from "../errors/errors.ts";
import { loadPackage } from "../platform/packages.ts";
import { escapeHtml } from "../errors/escape.ts";
import { type Bundle, display } from "./show.ts";

/** What draws. */
const PLOT = "npm:@observablehq/plot@0.6.17";
/** There is no page in a kernel, so a document is made up to draw into. */
const DOCUMENT = "npm:linkedom@0.18.15";

/** Options of {@linkcode plot}: those of Observable Plot, and words around the picture. */
export interface PlotOptions
  extends Omit<NonNullable<Parameters<(typeof Plot)["plot"]>[0]>, "marks" | "title" | "caption"> {
  /**
   * What is drawn: a list of marks, or a function that makes them of Observable Plot, which it is
   * given.
   */
  marks: readonly unknown[] | ((plot: typeof Plot) => unknown);
  /** A line above the plot. Default: none. */
  title?: string;
  /**
   * What the colors mean: names and their colors. Default: the names of the color scale, where it has
   * names. `false`: no legend.
   */
  legend?: Readonly<Record<string, string>> | false;
  /** The figures to take away, a line each. They stand below the plot, also where it is not shown. */
  caption?: string;
}

/**
 * Draws a plot with [Observable Plot](https://observablehq.com/plot/) and shows it under its cell.
 *
 * Title, legend and caption stand around it, on a background of its own that light and dark pages share.
 * It is a picture in HTML, which untrusted notebooks and exports show, too. Outside a notebook title and
 * caption are printed. Times that are text, such as `2025-07-07T10:00:00Z`, are drawn as times.
 *
 * The first plot fetches Observable Plot from npm, if it is not in Deno's cache.
 *
 * ```ts ignore
 * const rows = await fetchJson("/v1/observations");
 * await plot({
 *   title: "A week in July",
 *   marks: (Plot) => Plot.lineY(rows, { x: "time", y: "temperatureC", stroke: "station" }),
 * });
 * ```
 *
 * @throws {TypeError} If no marks are given, their rows are a promise, or an option has a wrong type.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if a package is not in Deno's cache and cannot be fetched.
 */
export async function plot(options: PlotOptions): Promise<void> {
  await display(await plotBundle(options));
}

/** A plot as its words and as a picture in HTML. */
export async function plotBundle(options: PlotOptions): Promise<Bundle> {
  const { marks: given, title, legend, caption, x, y, ...rest } = options ?? {};
  if (given === undefined) throw noMarks("");
  checkOptions("plot()", { title, legend, caption }, {
    title: ["string"],
    legend: ["object", "false"],
    caption: ["string"],
  });
  const { Plot, document } = await drawing();
  const marks = [typeof given === "function" ? given(Plot) : given].flat(Infinity);
  if (!marks.every(isMark)) throw noMarks(", and one of these is none");
  if (
    marks.some((mark) => (mark as { data?: unknown } | null | undefined)?.data instanceof Promise)
  ) {
    throw typeError("plot() takes rows, and those of one mark are a promise: await it first");
  }
  const svg = Plot.plot({
    ...DEFAULTS,
    ...rest,
    x: readingTimes(x),
    y: readingTimes(y),
    marks,
    document,
    figure: false,
  });
  frame(svg, document, title, legend === false ? {} : legend ?? legendOf(svg));
  const words = [title, caption].filter((text) => text !== undefined).join("\n");
  return {
    "text/plain": words || "A plot, shown where pictures are",
    "text/html": figure(svg, title ?? caption ?? "A plot", caption),
  };
}

/** What Observable Plot draws; it leaves out what is nothing, such as a mark under a condition. */
function isMark(mark: unknown): boolean {
  if (typeof mark === "function" || mark === null || mark === undefined) return true;
  return typeof mark === "object" && "render" in mark && typeof mark.render === "function";
}

function noMarks(which: string): TypeError {
  return typeError(
    `plot() takes options with marks${which}, such as plot({ marks: (Plot) => ` +
      'Plot.dot(rows, { x: "time", y: "value" }) })',
  );
}

/** What is used of a document. */
interface SvgDocument {
  createElementNS(space: string, tag: string): SvgElement;
}

interface SvgElement {
  readonly outerHTML: string;
  textContent: string | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  append(child: SvgElement): void;
}

interface Scale {
  readonly type: string;
  readonly domain?: readonly unknown[];
  apply(value: unknown): unknown;
}

/** A plot that was drawn, with its scales. */
interface Drawing extends SvgElement {
  scale(name: string): Scale | undefined;
}

interface Drawer {
  readonly Plot: typeof Plot & { plot(options: object): Drawing };
  readonly document: SvgDocument;
}

async function drawing(): Promise<Drawer> {
  const [Plot, { DOMParser }] = await Promise.all(
    [PLOT, DOCUMENT].map((specifier) => loadPackage("draw a plot", specifier)),
  );
  // Of XML: a document of HTML leaves & and < in attributes, and no page would show the picture.
  return { Plot, document: new DOMParser().parseFromString("<svg/>", "image/svg+xml") };
}

/** Colors of its own, the background among them: a page may be light or dark. */
const DEFAULTS = {
  style: { background: "#fffdf8", color: "#292524", fontSize: "12px" },
  width: 720,
  marginTop: 28,
  marginBottom: 36,
};

/** A day, or a time with or without its offset. */
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Reads times from texts, as APIs give them. Otherwise each would be a place in a row, like a name. */
function readingTimes(scale: Plot.ScaleOptions = {}): Plot.ScaleOptions {
  // Each of these is another way to read the values.
  if ("percent" in scale || "interval" in scale) return scale;
  return {
    transform: (value) => typeof value === "string" ? timeIn(value) ?? value : value,
    ...scale,
  };
}

/** A time without an offset is taken as UTC, so that a plot is the same everywhere. */
function timeIn(text: string): Date | undefined {
  const [found, offset] = TIME.exec(text) ?? [];
  if (found === undefined) return undefined;
  const hasTime = text.length > "2025-07-07".length;
  return new Date(text.replace(" ", "T") + (hasTime && offset === undefined ? "Z" : ""));
}

/** The names of a color scale and their colors. */
function legendOf(svg: Drawing): Record<string, string> {
  const scale = svg.scale("color");
  if (scale?.type !== "ordinal") return {};
  return Object.fromEntries(
    (scale.domain ?? []).map((name) => [String(name), String(scale.apply(name))]),
  );
}

const TITLE_HEIGHT = 32;
const LEGEND_HEIGHT = 20;
const SIDE = 12;
/** As wide as a letter is at most, on average. */
const LETTER = 6.5;

/** Makes room above a drawing and writes title and legend there, the latter in as many rows as it needs. */
function frame(
  svg: Drawing,
  document: SvgDocument,
  title: string | undefined,
  legend: Readonly<Record<string, string>>,
): void {
  const width = Number(svg.getAttribute("width"));
  const top = title === undefined ? 8 : TITLE_HEIGHT;
  const entries: { name: string; fill: string; x: number; row: number }[] = [];
  let [x, row] = [SIDE, 0];
  for (const [name, fill] of Object.entries(legend)) {
    const length = 40 + LETTER * name.length;
    if (x > SIDE && x + length > width) [x, row] = [SIDE, row + 1];
    entries.push({ name, fill, x, row });
    x += length;
  }
  const rows = entries.length === 0 ? 0 : row + 1;
  if (title === undefined && rows === 0) return;
  const head = top + LEGEND_HEIGHT * rows;
  const height = head + Number(svg.getAttribute("height"));
  svg.setAttribute("height", String(height));
  svg.setAttribute("viewBox", `0 ${-head} ${width} ${height}`);
  const add = (tag: string, attributes: Record<string, unknown>, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    const all = { "text-anchor": "start", fill: "currentColor", ...attributes };
    for (const [name, value] of Object.entries(all)) element.setAttribute(name, String(value));
    element.textContent = text;
    svg.append(element);
  };
  if (title !== undefined) {
    add("text", { x: SIDE, y: 24 - head, "font-size": 15, "font-weight": 600 }, title);
  }
  for (const { name, fill, x, row } of entries) {
    const y = top + LEGEND_HEIGHT * row - head;
    add("rect", { x, y: y + 4, width: 12, height: 12, rx: 2, fill });
    add("text", { x: x + 18, y: y + 14 }, name);
  }
}

/** What XML cannot hold; with one of these in a name no page would show the picture. */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const NOT_IN_XML = /[\0-\x08\v\f\x0e-\x1f\ufffe\uffff]/g;

/** A plot is not made narrower, as its letters could not be read: beside a side bar it scrolls. */
const READABLE_WIDTH = 420;

function figure(svg: Drawing, alt: string, caption: string | undefined): string {
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const data = new TextEncoder().encode(svg.outerHTML.replace(NOT_IN_XML, "")).toBase64();
  const least = Math.min(Number(svg.getAttribute("width")), READABLE_WIDTH);
  const image = `<img alt="${
    escapeHtml(alt)
  }" style="max-width:100%;min-width:${least}px" src="data:image/svg+xml;base64,${data}">`;
  const words = caption === undefined
    ? ""
    : `<figcaption>${caption.split("\n").map(escapeHtml).join("; ")}</figcaption>`;
  return `<figure style="margin:0">${image}${words}</figure>`;
}
