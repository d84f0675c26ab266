/** How much of a body that comes in many pieces is kept, in bytes: a stream may be longer than the memory. */
const LIMIT = 16 * 1024 * 1024;

/** Whether a body can be sent a second time. */
export function isRepeatable(body: BodyInit | null | undefined): boolean {
  return body === undefined || body === null || typeof body === "string" || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}

/**
 * A copy of a `Request`'s body, made while the body is sent, in case it must be sent again.
 *
 * A `Request` does not tell whether its body is a stream. A string or bytes come in one piece, which
 * the caller holds in memory anyway: that is always kept. What comes in many pieces may be a stream
 * of any length: it is kept up to a limit, and what is longer cannot be sent again.
 */
export class BodyCopy {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  readonly #whole: Promise<Blob | undefined>;

  /** @throws {TypeError} If the body was read before. */
  constructor(request: Request) {
    this.#reader = request.clone().body?.getReader();
    this.#whole = this.#read();
  }

  /** The whole body; `undefined` if it is too long. Waits until it was read to its end. */
  whole(): Promise<Blob | undefined> {
    return this.#whole;
  }

  /** Keeps no more of it. */
  drop(): void {
    // Settles only when the other half of the body ends, too.
    this.#reader?.cancel().catch(() => {});
  }

  /** Never rejects: whoever sends the body gets the error. */
  async #read(): Promise<Blob | undefined> {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    try {
      while (true) {
        const { done, value } = await this.#reader?.read() ?? { done: true, value: undefined };
        if (done) return new Blob(pieces);
        pieces.push(value);
        size += value.byteLength;
        if (size > LIMIT && pieces.length > 1) break;
      }
    } catch {
      return undefined;
    }
    this.drop();
    return undefined;
  }
}
