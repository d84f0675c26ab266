import { helpOn, type Parts } from "../errors/parts.ts";
import { inKernel } from "../errors/advice.ts";
import { wrapped } from "../errors/lines.ts";
import { errorLines } from "../errors/stack.ts";

/** Maximum length of a line; longer lines are wrapped. */
const COLUMNS = 80;

/**
 * Time to wait after an output. On a busy machine, the message that the cell has ended may overtake
 * the output, which is then lost or appears under the next cell (docs/notebooks.md).
 */
const PAUSE_MS = 50;

/** A value in several formats, by MIME type. The front end chooses one. */
export interface Bundle {
  readonly "text/plain": string;
  readonly [type: string]: unknown;
}

/**
 * Shows a value below the calling cell, even before the cell ends, and waits until the value
 * appears.
 *
 * Cards, pictures and HTML keep their format. Long lines of text and errors are wrapped. Outside a
 * notebook, the text is printed.
 *
 * ```ts ignore
 * const stations = await fetchJson("/v1/stations");
 * await show(stations[0]);
 * await show(`${stations.length} stations`);
 * ```
 *
 * @param asText The text for outputs that cannot show HTML or pictures.
 */
export async function show(value: unknown, asText?: string): Promise<void> {
  const isObject = typeof value === "object" && value !== null;
  const own = isObject && inKernel() ? await Deno.jupyter.format(value) : {};
  const isRich = Object.keys(own).some((type) => type !== "text/plain");
  const text = isRich ? String(own["text/plain"] ?? "") : textOf(value);
  await display({ ...own, "text/plain": asText ?? text });
}

/** Shows a value in all its formats. Outside a notebook, prints its text. */
export async function display(bundle: Bundle): Promise<void> {
  if (!inKernel()) return console.log(bundle["text/plain"]);
  await Deno.jupyter.display(bundle, { raw: true });
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return fitted(value);
  if (!(value instanceof Error)) return Deno.inspect(value, { breakLength: COLUMNS });
  const { name, message, code, problem = message, fix = "", topic }: Error & Partial<Parts> = value;
  const help = code && fix ? { help: helpOn({ code, topic }) } : {};
  return errorLines(code ? `${name} ${code}` : name, { problem, fix, ...help });
}

/** Wraps each line that is wider than the screen. */
function fitted(text: string): string {
  const fit = (line: string) => line.length <= COLUMNS ? line : wrapped(line, "", COLUMNS);
  return text.split("\n").map(fit).join("\n");
}
