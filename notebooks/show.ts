/**
 * Shows values under the cell that they belong to. The notebooks import it; copy it beside yours.
 *
 * The kernel sends what a cell shows on one way and that the cell has ended on another. On a busy
 * machine the end arrives first, and the value is lost or appears under the next cell. So a cell that
 * shows something must not end at once: `show()` waits a moment.
 */

const COLUMNS = 80;
const PAUSE_MS = 20;

/**
 * Shows a value and waits until it is there. A text or an error is wrapped at words.
 *
 * @param asText For a table or a picture: what is shown where only text is.
 */
export async function show(value: unknown, asText?: string): Promise<void> {
  const bundle = isPlain(value) ? { "text/plain": textOf(value) } : await Deno.jupyter.format(value);
  const text = asText === undefined ? {} : { "text/plain": asText };
  await Deno.jupyter.display({ ...bundle, ...text }, { raw: true });
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** Whether the value has no way of its own to show itself in a notebook. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !(Symbol.for("Jupyter.display") in value);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return wrapped(value);
  if (!(value instanceof Error)) return Deno.inspect(value, { breakLength: COLUMNS });
  const code = "code" in value ? ` ${value.code}` : "";
  return wrapped(`${value.name}${code}: ${value.message}`);
}

/** Each line broken at blanks where it is longer than a screen is wide. */
function wrapped(text: string): string {
  const part = new RegExp(`(.{1,${COLUMNS}})(?: +|$)|(\\S+) *`, "g");
  return text.split("\n").map((line) => line.replace(part, "$1$2\n").trimEnd()).join("\n");
}
