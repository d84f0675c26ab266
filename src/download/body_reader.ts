/** What comes from the network ended with an error, and not what takes it. */
export class BodyError extends Error {}

type Bytes = Uint8Array<ArrayBuffer>;

const PIECE_BYTES = 262_144;

/**
 * Reads a body piece by piece. Each piece is good until the next one is asked for: where it is
 * possible all of them are read into the same memory. A body that is not read to its end is canceled.
 *
 * @throws {BodyError} If the body breaks off.
 */
export async function* piecesOf(body: ReadableStream<Bytes>): AsyncGenerator<Bytes> {
  const reader = readerOf(body);
  let buffer = new ArrayBuffer(PIECE_BYTES);
  try {
    while (true) {
      const { done, value } = await next(reader, new Uint8Array(buffer));
      if (done || value === undefined) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

type Reader = ReadableStreamBYOBReader | ReadableStreamDefaultReader<Bytes>;

function readerOf(body: ReadableStream<Bytes>): Reader {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    // The body of a replaced `fetch`.
    return body.getReader();
  }
}

async function next(reader: Reader, room: Bytes): Promise<ReadableStreamReadResult<Bytes>> {
  try {
    const result = reader instanceof ReadableStreamBYOBReader
      ? await reader.read(room)
      : await reader.read();
    return result as ReadableStreamReadResult<Bytes>;
  } catch {
    throw new BodyError();
  }
}
