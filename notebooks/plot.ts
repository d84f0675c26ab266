/**
 * Plots for the notebooks. There is no browser in a kernel, so Observable Plot draws into a document
 * of linkedom's.
 */
/// <reference lib="dom" />

import * as Plot from "npm:@observablehq/plot@^0.6";
import { parseHTML } from "npm:linkedom@0.18.10";
import { show } from "./show.ts";

export { Plot };

const { document } = parseHTML("<html></html>");

// Colors of its own, the background among them: a page may be light or dark.
const style = { background: "#fffdf8", color: "#292524", fontSize: "12px" };
const WIDTH = 720;
const HEAD = 52;

export interface PlotWords {
  title: string;
  /** What the colors mean: the names and their colors. */
  legend?: Readonly<Record<string, string>>;
  /** The figures to take away, a line each. They stand below the plot, also where it is not shown. */
  caption: string;
}

/**
 * Draws a plot with a title and a legend, and shows it with its caption.
 *
 * As a picture in HTML: what is shown as SVG, exports to HTML reduce to its words, and a notebook
 * that is not trusted does not show.
 */
export async function plot(words: PlotWords, options: Plot.PlotOptions): Promise<void> {
  const frame = { document, style, width: WIDTH, marginTop: 28, marginBottom: 36 };
  const svg = Plot.plot({ ...frame, ...options });
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const height = HEAD + Number(svg.getAttribute("height"));
  svg.setAttribute("height", String(height));
  svg.setAttribute("viewBox", `0 ${-HEAD} ${WIDTH} ${height}`);
  add(svg, "text", { x: 12, y: 24 - HEAD, "font-size": 15, "font-weight": 600 }, words.title);
  let x = 12;
  for (const [name, fill] of Object.entries(words.legend ?? {})) {
    add(svg, "rect", { x, y: 36 - HEAD, width: 12, height: 12, rx: 2, fill });
    add(svg, "text", { x: x + 18, y: 46 - HEAD }, name);
    x += 40 + 6.5 * name.length;
  }
  const data = new TextEncoder().encode(svg.outerHTML).toBase64();
  const image = `<img alt="${escaped(words.title)}" src="data:image/svg+xml;base64,${data}">`;
  const caption = escaped(words.caption).replaceAll("\n", "; ");
  const html = `<figure style="margin:0">${image}<figcaption>${caption}</figcaption></figure>`;
  await show(Deno.jupyter.html`${html}`, `${words.title}\n${words.caption}`);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function add(svg: Element, tag: string, attributes: Record<string, unknown>, text = ""): void {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  const all = { "text-anchor": "start", fill: "currentColor", ...attributes };
  for (const [name, value] of Object.entries(all)) element.setAttribute(name, String(value));
  element.textContent = text;
  svg.append(element);
}
