/**
 * The details of the underlying error that an {@linkcode AuthError} keeps. The message of the
 * underlying error is left out, because it may contain an address or a secret.
 */
export interface ErrorCause {
  /** The class, such as `ConnectionRefused` or `TypeError`. */
  readonly name: string;
  /** The system's or the TLS library's code, such as `ECONNREFUSED`, `os error 28` or `UnknownIssuer`. */
  readonly code?: string;
}

/** The TLS library's names for a rejected certificate or connection. */
const TLS_CODE =
  /\b(UnknownIssuer|Expired|NotValidYet|NotValidForName|Revoked|BadSignature|BadEncoding|HandshakeFailure|CaUsedAsEndEntity|UnhandledCriticalExtension)\b/;

/** Reduces an error to its class and a system code, found in the error or in its cause. */
export function causeOf(error: unknown): ErrorCause | undefined {
  try {
    if (!(error instanceof Error)) return undefined;
    const code = codeIn(error);
    return Object.freeze({ name: classOf(error), ...(code !== undefined && { code }) });
  } catch {
    // The error of a program may have a getter that throws.
    return undefined;
  }
}

/** Returns the operating system's own words, such as "Is a directory (os error 21)". */
export function systemWords(error: unknown): string | undefined {
  return error instanceof Error ? /^[^:]+\(os error \d+\)/.exec(error.message)?.[0] : undefined;
}

function classOf(error: Error): string {
  const { name } = error.constructor;
  return /^\w{1,60}$/.test(name) ? name : "Error";
}

function codeIn(error: Error): string | undefined {
  for (const each of [error, error.cause]) {
    if (!(each instanceof Error)) continue;
    const { code } = each as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return code;
    const found = /\(os error \d+\)/.exec(each.message)?.[0].slice(1, -1) ??
      TLS_CODE.exec(each.message)?.[0];
    if (found !== undefined) return found;
  }
  return undefined;
}
