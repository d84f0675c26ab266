/**
 * The error classes with constructors that this module can call. The public classes in `classes.ts`
 * have hidden constructors, so code of this module imports the classes from this file.
 */
import * as classes from "./classes.ts";
import type { Fix } from "./advice.ts";
import type {
  ApiErrorCode,
  AuthErrorCode,
  ConfigErrorCode,
  ProviderErrorCode,
  SessionExpiredErrorCode,
} from "./codes.ts";
import { printable } from "./escape.ts";
import { hideOwnFrames, showCaller } from "./stack.ts";

export type { ErrorCause } from "./cause.ts";
export type * from "./codes.ts";
export { CODES, isTransient } from "./codes.ts";
export { UnreachableError } from "./classes.ts";
export { helpOn, sentenceOf } from "./parts.ts";

/** A class whose constructor is not public. */
type Made<Instance, Arguments extends readonly unknown[]> = new (...given: Arguments) => Instance;

export type AuthError = classes.AuthError;
export const AuthError = classes.AuthError as unknown as Made<
  AuthError,
  [code: AuthErrorCode, problem: string, fix: string, cause?: unknown]
>;

export type ConfigError = classes.ConfigError;
export const ConfigError = classes.ConfigError as unknown as Made<
  ConfigError,
  [code: ConfigErrorCode, problem: string, fix: Fix, cause?: unknown]
>;

export type ProviderError = classes.ProviderError;
export const ProviderError = classes.ProviderError as unknown as Made<
  ProviderError,
  [code: ProviderErrorCode, problem: string, fix: Fix, details?: classes.ProviderErrorDetails]
>;

export type ApiError = classes.ApiError;
export const ApiError = classes.ApiError as unknown as Made<
  ApiError,
  [code: ApiErrorCode, problem: string, fix: Fix, details: classes.ApiErrorDetails]
>;

export type SessionExpiredError = classes.SessionExpiredError;
export const SessionExpiredError = classes.SessionExpiredError as unknown as Made<
  SessionExpiredError,
  [code: SessionExpiredErrorCode, problem: string, fix: Fix]
>;

/**
 * Errors about a wrong argument. They are recorded here to tell them from a `TypeError` that a bug
 * throws.
 */
const misuses = new WeakSet<TypeError>();

/** Makes a `TypeError`. In a notebook, its stack lists only the caller's frames. */
export function typeError(message: string): TypeError {
  const error = new TypeError(printable(message));
  hideOwnFrames(error);
  return asMisuse(error);
}

/** Marks an error of the runtime about an argument that the caller passed on. */
export function asMisuse(error: TypeError): TypeError {
  misuses.add(error);
  return error;
}

/** Whether an error says that the caller passed a wrong argument. */
export function isMisuse(error: unknown): error is TypeError {
  return error instanceof TypeError && misuses.has(error);
}

/**
 * Waits for work that several calls share. An error then shows this caller, not the call that
 * started the work.
 */
export async function shownToCaller<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AuthError) showCaller(error);
    throw error;
  }
}

/**
 * @param action What was tried, such as "save data.csv".
 * @param flag The flag that grants the permission, such as `--allow-net=api.example.com`.
 */
export function missingPermission(action: string, flag: string, fix: string): ConfigError {
  return new ConfigError("PERMISSION", `Cannot ${action}: ${flag} is missing`, fix);
}
