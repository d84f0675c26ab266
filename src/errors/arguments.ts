import { closest } from "./wording.ts";
import { typeError } from "./errors.ts";

/**
 * Checks option names and types: notebook cells are not type-checked.
 *
 * @throws {TypeError} Naming an option that is known or nearly so, never a value.
 */
export function checkOptions(
  caller: string,
  options: unknown,
  types: Readonly<Record<string, readonly string[]>>,
): void {
  if (options === undefined) return;
  if (typeOf(options) !== "object") {
    throw typeError(`${caller} takes an options object, not ${typeOf(options)}`);
  }
  for (const [name, value] of Object.entries(options as Record<string, unknown>)) {
    const expected = Object.hasOwn(types, name) ? types[name] : undefined;
    if (expected === undefined) throw unknownOption(caller, name, Object.keys(types));
    if (value !== undefined && !expected.includes(typeOf(value))) {
      throw typeError(
        `${caller} takes ${expected.join(" or ")} as "${name}", not ${typeOf(value)}`,
      );
    }
  }
}

/** A name that is near to no option may be a secret in the wrong place, and is not quoted. */
function unknownOption(caller: string, given: string, known: readonly string[]): TypeError {
  const meant = closest(given, known);
  return typeError(
    meant === undefined
      ? `${caller} has no such option; it takes ${known.join(", ")}`
      : `${caller} has no option "${given}" (did you mean "${meant}"?)`,
  );
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (value === false) return "false";
  if (Array.isArray(value)) {
    return value.every((each) => typeof each === "string") ? "array of strings" : "array";
  }
  if (value instanceof URL) return "URL";
  if (value instanceof AbortSignal) return "AbortSignal";
  return typeof value;
}
