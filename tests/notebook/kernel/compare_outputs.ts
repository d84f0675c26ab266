/** Compares the outputs of a cell with those in the committed notebook. */

import { stripVTControlCharacters } from "node:util";
import { type Output, withoutRemoved } from "./notebook.ts";
import { hideSecrets } from "./scan_for_secrets.ts";

const SHOWN_CHARACTERS = 600;

/** A number, a time, a size or a duration. A duration that rounds to nothing is "under 1 s". */
const AMOUNT =
  /(?:\bunder )?\d(?:[\d.,:T-]*\d)?Z?(?:\s(?:s|min|h|(?:second|minute|hour|day|byte)s?|[kMGT]B)\b)?/g;

/**
 * Returns the differences, one sentence each. The kinds (type and MIME keys) must be the same, in the
 * same order, and so must the text: printed text, plain text, and the words of HTML. In a cell tagged
 * `unstable-output`, amounts and line breaks may differ, but not the words.
 */
export function compareOutputs(
  committed: readonly Output[],
  actual: readonly Output[],
  options: { unstable?: boolean } = {},
): string[] {
  const [before, now] = [withoutRemoved(committed), withoutRemoved(actual)];
  const [kindsBefore, kindsNow] = [before, now].map((outputs) => outputs.map(kindOf).join(", "));
  if (kindsBefore !== kindsNow) {
    return [
      `shows ${kindsNow || "nothing"}, the file has ${kindsBefore || "nothing"}; ` +
      "run with --update if that is meant",
    ];
  }
  const same = (text: string) => options.unstable ? withoutAmounts(text) : text;
  return before.flatMap((output, index) => {
    const [old, fresh] = [textsOf(output), textsOf(now[index] ?? output)];
    const at = old.findIndex((text, kind) => same(text) !== same(fresh[kind] ?? ""));
    if (at < 0) return [];
    const tag = options.unstable ? "" : ", or tag the cell unstable-output if only amounts differ";
    return [
      `shows another text; run with --update if that is meant${tag}\n` +
      `the file has: ${shorten(old[at] ?? "")}\nnow: ${shorten(fresh[at] ?? "")}`,
    ];
  });
}

/** Replaces each amount with `#` and each line break with a space. */
export function withoutAmounts(text: string): string {
  return text.replace(/\s+/g, " ").replace(AMOUNT, "#").replace(/#(?: #)+/g, "#");
}

/** The outputs as text for a report, without secrets. */
export function describeOutputs(outputs: readonly Output[]): string {
  return outputs.map((output) => `${kindOf(output)}: ${shorten(plainText(output))}`).join("\n");
}

function kindOf({ output_type, name, data }: Output): string {
  if (output_type === "stream") return name ?? "";
  return data ? `${output_type} (${Object.keys(data).sort().join(", ")})` : output_type;
}

/** The plain text, and the words of HTML. */
function textsOf(output: Output): string[] {
  const html = String(output.data?.["text/html"] ?? "");
  const words = html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
  return [plainText(output), words];
}

/** The plain text. An error is its name and message: every edit changes the stack. */
function plainText({ output_type, text, data, ename, evalue }: Output): string {
  const plain = output_type === "error" ? `${ename}: ${evalue}` : text ?? data?.["text/plain"];
  return stripVTControlCharacters(String(plain ?? "")).replaceAll("\r\n", "\n");
}

function shorten(text: string): string {
  const hidden = hideSecrets(text).trimEnd();
  return hidden.length > SHOWN_CHARACTERS ? `${hidden.slice(0, SHOWN_CHARACTERS)} …` : hidden;
}
