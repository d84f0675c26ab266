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
const HEAD = 64;

export interface PlotWords {
  title: string;
  /** What the colors mean: the names and their colors. */
  legend?: Readonly<Record<string, string>>;
  /** The figures that one can read from the plot, for where no picture is shown. */
  asText: string;
}

/** Draws a plot with a title and a legend, and shows it. */
export async function plot(words: PlotWords, options: Plot.PlotOptions): Promise<void> {
  const frame = { document, style, width: 720, marginTop: HEAD, marginBottom: 36 };
  const svg = Plot.plot({ ...frame, ...options });
  // The front end shows it as a picture, and for that needs to be told what it is.
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words.title);
  add(svg, "text", { x: 12, y: 22, "font-size": 15, "font-weight": 600 }, words.title);
  let x = 12;
  for (const [name, fill] of Object.entries(words.legend ?? {})) {
    add(svg, "rect", { x, y: 33, width: 12, height: 12, rx: 2, fill });
    add(svg, "text", { x: x + 18, y: 43 }, name);
    x += 40 + 6.5 * name.length;
  }
  await show(svg, `${words.title}\n${words.asText}`);
}

function add(svg: Element, tag: string, attributes: Record<string, unknown>, text = ""): void {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  const all = { "text-anchor": "start", fill: "currentColor", ...attributes };
  for (const [name, value] of Object.entries(all)) element.setAttribute(name, String(value));
  element.textContent = text;
  svg.append(element);
}
