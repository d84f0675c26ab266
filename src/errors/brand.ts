/**
 * Marks the error classes, so that `instanceof` recognizes the errors of every copy of this module
 * in the process, such as a released file next to the source.
 */

/** Shared by all copies and versions of this module. */
const BRAND = Symbol.for("platform-auth.error");

/** The brand of the base class, which every error has. */
const BASE = "AuthError";

/** Marks the instances of a class with its name, which does not change if the code is minified. */
export function brand({ prototype }: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(prototype, BRAND, { value: name });
}

/** Whether a value is an instance of this class, or of the class with its name in another copy. */
export function isInstance(of: { readonly prototype: Error }, value: unknown): boolean {
  const { prototype } = of;
  // A program derived its own class from one of ours.
  if (!Object.hasOwn(prototype, BRAND)) {
    return Function.prototype[Symbol.hasInstance].call(of, value);
  }
  const found = Object(value)[BRAND];
  return found !== undefined && [BASE, found].includes(Reflect.get(prototype, BRAND));
}
