/** Compares the outputs of a cell with those in the committed notebook. */

import { stripVTControlCharacters } from "node:util";
import { type Output, withoutRemoved } from "./notebook.ts";
import { hideSecrets } from "./scan_for_secrets.ts";

const SHOWN_CHARACTERS = 600;

/** A number, a time, a size or a duration. A duration that rounds to nothing is "under 1 s". */
const AMOUNT =
  /(?:\bunder )?\d(?:[\d.,:T-]*\d)?Z?(?:\s(?:s|min|h|(?:second|minute|hour|day|byte)s?|[kMGT]B)\b)?/g;

/**
 * Whether the kinds (type and MIME keys) of the outputs are the same, in the same order, and also the
 * text: printed text, plain text, and the words of HTML. In a cell tagged `unstable-output`, amounts
 * and line breaks may differ, but not the words.
 */
export function isSame(
  committed: readonly Output[],
  actual: readonly Output[],
  isUnstable: boolean,
): boolean {
  const [before, now] = [committed, actual].map((outputs) =>
    withoutRemoved(outputs).flatMap((output) =>
      [kindOf(output), plainText(output), wordsOf(output)]
        .map((text) => isUnstable ? withoutAmounts(text) : text)
    )
  );
  return JSON.stringify(before) === JSON.stringify(now);
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

function wordsOf({ data }: Output): string {
  return String(data?.["text/html"] ?? "").replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
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
