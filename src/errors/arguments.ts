import { closest } from "./closest.ts";
import { typeError } from "./errors.ts";

/**
 * Checks the names and types of options at run time, because notebook cells are not type-checked.
 *
 * @throws {TypeError} If an option is unknown or has the wrong type. The message contains the name
 * of the option, never the value.
 */
export function checkOptions(
  caller: string,
  options: unknown,
  types: Readonly<Record<string, string | readonly string[]>>,
): void {
  if (options === undefined) return;
  if (typeOf(options) !== "object") {
    throw typeError(`${caller} takes an options object, not ${typeOf(options)}`);
  }
  for (const [name, value] of Object.entries(options as Record<string, unknown>)) {
    if (!Object.hasOwn(types, name)) throw unknownOption(caller, name, Object.keys(types));
    const expected = [types[name] ?? []].flat();
    const isAccepted = expected.some((type) =>
      type === "false" ? value === false : type === typeOf(value)
    );
    if (value !== undefined && !isAccepted) {
      throw typeError(
        `${caller} takes ${expected.join(" or ")} as "${name}", not ${typeOf(value)}`,
      );
    }
  }
}

/**
 * Matches text that looks like the name of an option. Messages quote only such a name: any other
 * text may be a secret that was passed by mistake.
 */
const LOOKS_LIKE_A_NAME = /^[A-Za-z]\w{0,29}$/;

function unknownOption(caller: string, given: string, known: readonly string[]): TypeError {
  const what = LOOKS_LIKE_A_NAME.test(given) ? `no option "${given}"` : "no such option";
  const meant = closest(given, known);
  return typeError(
    `${caller} has ${what}${meant === undefined ? "" : ` (did you mean "${meant}"?)`}`,
  );
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) {
    return value.every((each) => typeof each === "string") ? "array of strings" : "array";
  }
  if (value instanceof URL) return "URL";
  if (value instanceof AbortSignal) return "AbortSignal";
  return typeof value;
}
