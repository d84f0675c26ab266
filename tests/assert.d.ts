/** The types of the assertions that the tests use. The package of `assert.ts` has none. */

/** A class, also one whose constructor is not public. */
type Class<E> = { readonly prototype: E };

export function assert(condition: unknown, message?: string): asserts condition;

export function assertEquals<T>(actual: T, expected: T, message?: string): void;
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void;

export function assertMatch(actual: string, expected: RegExp, message?: string): void;
export function assertNotMatch(actual: string, expected: RegExp, message?: string): void;
export function assertStringIncludes(actual: string, expected: string, message?: string): void;

export function assertInstanceOf<T>(
  actual: unknown,
  expected: Class<T>,
  message?: string,
): asserts actual is T;

export function assertThrows(body: () => unknown, message?: string): unknown;
export function assertThrows<E extends Error>(
  body: () => unknown,
  expected: Class<E>,
  includes?: string,
  message?: string,
): E;

export function assertRejects(body: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
export function assertRejects<E extends Error>(
  body: () => PromiseLike<unknown>,
  expected: Class<E>,
  includes?: string,
  message?: string,
): Promise<E>;
