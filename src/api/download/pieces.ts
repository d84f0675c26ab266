/** Reads a body piece by piece. If the body is a byte stream, one buffer serves all pieces. */

type Bytes = Uint8Array<ArrayBuffer>;

const PIECE_BYTES = 262_144;

interface Reader {
  /** @param room Buffer for the piece; a default reader ignores it. */
  read(room: Bytes): Promise<ReadableStreamReadResult<Bytes>>;
  cancel(): Promise<void>;
}

/**
 * Passes a body to `write()`, piece by piece.
 *
 * @param expected Expected length of the body, so that a small file gets a small buffer.
 * @param wait Waits for the next piece.
 * @returns The `cause` if the body broke off; `undefined` if the body is complete.
 * @throws The error of `write()`.
 */
export async function eachPiece(
  body: ReadableStream<Bytes> | null,
  expected: number,
  wait: <T>(piece: Promise<T>) => Promise<T>,
  write: (piece: Bytes) => Promise<void>,
): Promise<{ readonly cause: unknown } | undefined> {
  if (body === null) return undefined;
  let buffer = new ArrayBuffer(Math.max(1, Math.min(expected, PIECE_BYTES)));
  const reader = readerOf(body);
  try {
    while (true) {
      let piece: ReadableStreamReadResult<Bytes>;
      try {
        piece = await wait(reader.read(new Uint8Array(buffer)));
      } catch (cause) {
        return { cause };
      }
      if (piece.done) return undefined;
      await write(piece.value);
      buffer = piece.value.buffer;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function readerOf(body: ReadableStream<Bytes>): Reader {
  try {
    return body.getReader({ mode: "byob" }) as Reader;
  } catch {
    // A `fetch` that was passed as an option may return a body that is not a byte stream.
    return body.getReader();
  }
}
