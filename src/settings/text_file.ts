/** The checks of a small text file that a person or a program wrote: a `.env`, or a secret. */

/**
 * Maximum size in bytes. A file written by a person is much shorter, and each start reads the whole
 * file.
 */
const MAX_BYTES = 1_048_576;

/**
 * Returns the reason why a file cannot be read as a small text; `undefined` if it can. Check a file
 * before it is opened: opening a pipe can block forever.
 */
export function whyUnreadable({ isFile, size }: Deno.FileInfo): string | undefined {
  if (!isFile) return "it is not a regular file";
  if (size > MAX_BYTES) return `it is too large: ${size} bytes, with a limit of ${MAX_BYTES}`;
  return undefined;
}

/** Decodes UTF-8, and keeps a byte order mark. Returns `undefined` if the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
