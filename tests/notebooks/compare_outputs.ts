/**
 * Whether a cell shows again what the committed notebook shows. The folder runs the notebooks
 * (`main.ts`) and tests what it runs them with.
 */

import { stripVTControlCharacters } from "node:util";
import { mergeStreams, type Output } from "./outputs.ts";
import { hideSecrets } from "./scan_for_secrets.ts";

const SHOWN_CHARACTERS = 600;

/**
 * What differs, one sentence each. Kinds (type and MIME keys) have to be the same in order, and
 * printed and plain text the same letter by letter. In a cell tagged `unstable-output` text may differ,
 * and a kind may come again: a slow machine shows a line of progress that a fast one does not.
 */
export function compareOutputs(
  committed: readonly Output[],
  actual: readonly Output[],
  options: { unstable?: boolean } = {},
): string[] {
  const [before, now] = [mergeStreams(committed), mergeStreams(actual)];
  const [kindsBefore, kindsNow] = [before, now].map((outputs) => {
    const kinds = outputs.map(kindOf);
    return (options.unstable ? [...new Set(kinds)] : kinds).join(", ");
  });
  if (kindsBefore !== kindsNow) {
    return [
      `shows ${kindsNow || "nothing"}, the file has ${kindsBefore || "nothing"}; ` +
      "run with --update if that is meant",
    ];
  }
  if (options.unstable) return [];
  return before.flatMap((output, index) => {
    const [old, fresh] = [plainText(output), now.slice(index, index + 1).map(plainText).join("")];
    if (old === fresh) return [];
    return [
      `shows another text; run with --update if that is meant, or tag the cell unstable-output\n` +
      `the file has: ${shorten(old)}\nnow: ${shorten(fresh)}`,
    ];
  });
}

/** The outputs as text for a report, secrets hidden. */
export function describeOutputs(outputs: readonly Output[]): string {
  return outputs.map((output) => `${kindOf(output)}: ${shorten(plainText(output))}`).join("\n");
}

function kindOf(output: Output): string {
  if (output.output_type === "stream") return output.name;
  if (output.output_type === "error") return "error";
  return `${output.output_type} (${Object.keys(output.data).sort().join(", ")})`;
}

/** A stack holds places that change with every edit: name and message are what counts. */
function plainText(output: Output): string {
  const text = output.output_type === "stream"
    ? output.text
    : output.output_type === "error"
    ? `${output.ename}: ${output.evalue}`
    : String(output.data["text/plain"] ?? "");
  return stripVTControlCharacters(text).replaceAll("\r\n", "\n");
}

function shorten(text: string): string {
  const hidden = hideSecrets(text).trimEnd();
  return hidden.length > SHOWN_CHARACTERS ? `${hidden.slice(0, SHOWN_CHARACTERS)} …` : hidden;
}
