/**
 * Marks the error classes, so that `instanceof` recognizes the errors of every copy of this module
 * in the process. Two copies are a released file and the source, for example.
 */

/** The key of the mark. All copies and versions of this module share it. */
const BRAND = Symbol.for("platform-auth.error");

/** The brand of the base class. Every branded error is also an instance of the base class. */
const BASE = "AuthError";

/**
 * Marks the instances of a class with a name. The name is passed as text, because a minifier may
 * rename the class.
 */
export function brand({ prototype }: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(prototype, BRAND, { value: name });
}

/**
 * Whether a value is an instance of this class, or of the class with the same name in another copy
 * of this module.
 */
export function isInstance(of: { readonly prototype: Error }, value: unknown): boolean {
  const { prototype } = of;
  // A program derived this class from one of ours, so the class has no brand of its own.
  if (!Object.hasOwn(prototype, BRAND)) {
    return Function.prototype[Symbol.hasInstance].call(of, value);
  }
  const found = Object(value)[BRAND];
  return found !== undefined && [BASE, found].includes(Reflect.get(prototype, BRAND));
}
