import { type AuthError, CODES, helpOn } from "../errors/errors.ts";
import { inKernel } from "../errors/kernel.ts";
import { errorLines } from "../errors/stack.ts";

/** Texts are broken at words where they are longer. */
const COLUMNS = 80;

/**
 * The kernel sends what a cell shows on one way and that the cell has ended on another. On a busy
 * machine the end arrives first, and the value is lost or appears under the next cell. So a cell that
 * shows something must not end at once.
 */
const PAUSE_MS = 20;

/** What a front end may choose from, by MIME type. */
export interface Bundle {
  readonly "text/plain": string;
  readonly [type: string]: unknown;
}

/**
 * Shows a value under its own cell, also in the middle of one, and waits until it is there.
 *
 * Cards, pictures and HTML show as such. A text or an error is wrapped at words. Outside a notebook the
 * text is printed.
 *
 * ```ts ignore
 * const stations = await fetchJson("/v1/stations");
 * await show(stations[0]);
 * await show(`${stations.length} stations`);
 * ```
 *
 * @param asText For HTML or a picture: what is shown where only text is.
 */
export async function show(value: unknown, asText?: string): Promise<void> {
  const isObject = typeof value === "object" && value !== null;
  const own = isObject && inKernel() ? await Deno.jupyter.format(value) : {};
  const isRich = Object.keys(own).some((type) => type !== "text/plain");
  const text = isRich ? String(own["text/plain"] ?? "") : textOf(value);
  await display({ ...own, "text/plain": asText ?? text });
}

/** Shows one thing in all its forms; outside a notebook its text. */
export async function display(bundle: Bundle): Promise<void> {
  if (!inKernel()) return console.log(bundle["text/plain"]);
  await Deno.jupyter.display(bundle, { raw: true });
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return wrapped(value);
  if (!(value instanceof Error)) return Deno.inspect(value, { breakLength: COLUMNS });
  const name = "code" in value ? `${value.name} ${value.code}` : value.name;
  if (!isOurs(value)) return wrapped(`${name}: ${value.message}`);
  const { problem, fix, code } = value;
  return errorLines(name, { problem, fix, help: helpOn(code) });
}

/** Told by what it offers: in a released file this is another copy of the class. */
function isOurs(error: Error): error is AuthError {
  return "problem" in error && "fix" in error && "code" in error &&
    Object.hasOwn(CODES, String(error.code));
}

/** Each line broken at blanks where it is longer than a screen is wide. */
function wrapped(text: string): string {
  const part = new RegExp(`(.{1,${COLUMNS}})(?: +|$)|(\\S+) *`, "g");
  return text.split("\n").map((line) => line.replace(part, "$1$2\n").trimEnd()).join("\n");
}
