/** Finds tokens and the paths of one person's machine, which must not be committed. */

import { stripVTControlCharacters } from "node:util";
import type { Notebook, Output } from "./notebook.ts";

const OPAQUE_LENGTH = 100;
const OPAQUE_DISTINCT_CHARACTERS = 12;

// This includes shortened tokens: the first letters of a header reveal its algorithm and key. An
// illustration such as "bearer eyJ…" contains nothing.
const JWT = /eyJ[\w-]{5,}\.{1,2}[\w-]{5,}(?:\.[\w-]*)*|\beyJ[\w-]{12,}/g;
const BEARER = /\bbearer\s+eyJ[\w-][\w.-]*/gi;
const OPAQUE = new RegExp(`[\\w+/-]{${OPAQUE_LENGTH},}`, "g");
// Not in the middle of a URL or of a relative path.
const PATHS = [
  /(?<![\w.~/-])\/(?:home|root|tmp|Users|var\/folders)\/[^\s"'`<>)\\]+/g,
  /\b[A-Z]:(?:\\{1,2}|\/)\w{2}[^\s"'`<>)]*/g,
  /\bfile:\/\/\/[^\s"'`<>)\\]+/g,
];
const PICTURE_DATA = /\bdata:(?:image|font)\/[\w.+-]+;base64,[\w+/=-]+/g;

/** Returns a sentence with the place of each secret or path, but without the secret itself. */
export function scanForSecrets(notebook: Notebook): string[] {
  const found = notebook.cells.flatMap((cell, index) =>
    textsOf(cell).flatMap(([place, text]) =>
      scanText(text).map((what) => `cell ${index + 1} of the file, ${place}: ${what}`)
    )
  );
  const metadata = scanText(JSON.stringify(notebook.metadata)).map((what) => `metadata: ${what}`);
  return [...found, ...metadata];
}

/** The text with every token replaced, fit for a report. */
export function hideSecrets(text: string): string {
  return text.replace(BEARER, "bearer [hidden]").replace(JWT, "[hidden]")
    .replace(OPAQUE, (run) => isOpaque(run) ? "[hidden]" : run);
}

function scanText(raw: string): string[] {
  const text = stripVTControlCharacters(raw).replace(PICTURE_DATA, "");
  const bearers = text.match(BEARER) ?? [];
  const tokens = text.replace(BEARER, "").match(JWT) ?? [];
  const opaque = (text.replace(BEARER, "").replace(JWT, "").match(OPAQUE) ?? []).filter(isOpaque);
  const paths = PATHS.flatMap((pattern) => text.match(pattern) ?? []);
  return [
    ...bearers.map((token) => `a bearer token of ${token.length} characters`),
    ...tokens.map((token) => `a token (eyJ…) of ${token.length} characters`),
    ...opaque.map((run) => `an opaque string of ${run.length} characters`),
    ...new Set(paths.map((path) => `the absolute path ${path}`)),
  ];
}

/** Whether letters and digits are mixed as in a key, unlike a line of dashes or a long name. */
function isOpaque(run: string): boolean {
  return /\d/.test(run) && /[A-Za-z]/.test(run) && new Set(run).size >= OPAQUE_DISTINCT_CHARACTERS;
}

function textsOf(cell: Notebook["cells"][number]): [place: string, text: string][] {
  const outputs = cell.cell_type === "code" ? cell.outputs : [];
  return [
    ["source", cell.source],
    ["metadata", JSON.stringify(cell.metadata)],
    ...outputs.flatMap((output, index) =>
      outputTexts(output).map((text): [string, string] => [`output ${index + 1}`, text])
    ),
  ];
}

function outputTexts({ text, evalue, traceback, data = {}, metadata }: Output): string[] {
  // The base64 of a picture may contain "eyJ" by chance. An SVG is text.
  const texts = Object.entries(data)
    .filter(([mime]) => mime === "image/svg+xml" || !/^(image|audio|video|font)\//.test(mime))
    .map(([, value]) => value);
  return [text, evalue, traceback?.join("\n"), ...texts, metadata]
    .filter((each) => each !== undefined)
    .map((each) => typeof each === "string" ? each : JSON.stringify(each));
}
