type Piece = ReadableStreamReadResult<Uint8Array>;

/**
 * Reads a body up to a limit, and cancels the rest.
 *
 * @param limit In bytes.
 * @param read Waits for the next piece. Pass this function to add a time limit or to end the stream
 * early.
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null | undefined,
  limit: number,
  read: (piece: Promise<Piece>) => Promise<Piece> = (piece) => piece,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly isWhole: boolean }> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = stream?.getReader();
  try {
    while (reader && size <= limit) {
      const { done, value } = await read(reader.read());
      if (done) break;
      pieces.push(value);
      size += value.byteLength;
    }
  } finally {
    // Not awaited: the cancellation of a cloned body settles only when the original body has ended.
    reader?.cancel().catch(() => {});
  }
  const bytes = new Uint8Array(Math.min(size, limit));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece.subarray(0, bytes.length - at), at);
    at += piece.byteLength;
  }
  return { bytes, isWhole: size <= limit };
}
