/**
 * A small ZMTP 3.0 client: what a Jupyter kernel's TCP sockets speak (https://rfc.zeromq.org/spec/23/).
 *
 * NULL mechanism only, one connection per socket, whole messages as arrays of frames.
 */

const MORE = 0x01;
const LONG = 0x02;
const COMMAND = 0x04;
const GREETING_LENGTH = 64;
const SUBSCRIBE = 0x01;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** DEALER talks to the kernel's ROUTER sockets (shell, control, stdin), SUB listens to iopub. */
export type ZmtpSocketType = "DEALER" | "SUB";

/** Where to connect, and as what. */
export interface ZmtpOptions {
  hostname: string;
  port: number;
  type: ZmtpSocketType;
  /** Routing id of a DEALER: shell and stdin of one client share it, that is how an `input_request` finds its way back. */
  identity?: string;
}

/** One connected socket. `receive()` returns `undefined` once the other side has closed. */
export class ZmtpSocket {
  readonly #connection: Deno.TcpConn;
  readonly #reader: ByteReader;
  #lastWrite: Promise<void> = Promise.resolve();

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
    this.#reader = new ByteReader(connection);
  }

  static async connect(options: ZmtpOptions): Promise<ZmtpSocket> {
    const connection = await Deno.connect({ hostname: options.hostname, port: options.port });
    const socket = new ZmtpSocket(connection);
    try {
      connection.setNoDelay(true);
      await socket.#handshake(options.type, options.identity ?? "");
      if (options.type === "SUB") await socket.send([Uint8Array.of(SUBSCRIBE)]);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /** Sends one message. Calls are written in order, never mixed. */
  send(frames: readonly Uint8Array[]): Promise<void> {
    const bytes = concat(
      frames.map((frame, index) => encodeFrame(index < frames.length - 1 ? MORE : 0, frame)),
    );
    return this.#write(bytes);
  }

  /** The next whole message, or `undefined` when the connection has ended. */
  async receive(): Promise<Uint8Array[] | undefined> {
    const frames: Uint8Array[] = [];
    for (;;) {
      const frame = await this.#readFrame();
      if (frame === undefined) return undefined;
      if (frame.flags & COMMAND) continue;
      frames.push(frame.body);
      if (!(frame.flags & MORE)) return frames;
    }
  }

  close(): void {
    try {
      this.#connection.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }

  async #handshake(type: ZmtpSocketType, identity: string): Promise<void> {
    const greeting = new Uint8Array(GREETING_LENGTH);
    greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);
    greeting.set(encoder.encode("NULL"), 12);
    await this.#write(greeting);
    const answer = await this.#reader.exactly(GREETING_LENGTH);
    if (answer === undefined) throw new Error("The peer closed the connection during the greeting");
    if (answer[0] !== 0xff || answer[9] !== 0x7f || (answer[10] ?? 0) < 3) {
      throw new Error("The peer does not speak ZMTP 3; check the port");
    }
    const ready = concat([
      Uint8Array.of(5),
      encoder.encode("READY"),
      encodeProperty("Socket-Type", type),
      ...(type === "DEALER" ? [encodeProperty("Identity", identity)] : []),
    ]);
    await this.#write(encodeFrame(COMMAND, ready));
    const reply = await this.#readFrame();
    const name = reply && decoder.decode(reply.body.subarray(1, 1 + (reply.body[0] ?? 0)));
    if (name !== "READY") throw new Error(`Expected READY from the peer, got ${name ?? "the end"}`);
  }

  #write(bytes: Uint8Array): Promise<void> {
    const write = this.#lastWrite.then(async () => {
      for (let sent = 0; sent < bytes.length;) {
        sent += await this.#connection.write(bytes.subarray(sent));
      }
    });
    this.#lastWrite = write.catch(() => {});
    return write;
  }

  async #readFrame(): Promise<{ flags: number; body: Uint8Array } | undefined> {
    const flags = (await this.#reader.exactly(1))?.[0];
    if (flags === undefined) return undefined;
    const size = await this.#reader.exactly(flags & LONG ? 8 : 1);
    if (size === undefined) return undefined;
    const length = size.length === 1 ? size[0] : Number(viewOf(size).getBigUint64(0));
    const body = await this.#reader.exactly(length ?? 0);
    return body && { flags, body };
  }
}

/** Reads exact byte counts from a stream of chunks. */
class ByteReader {
  readonly #connection: Deno.TcpConn;
  readonly #chunk = new Uint8Array(65_536);
  #pending: Uint8Array = new Uint8Array(0);

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  async exactly(length: number): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    let missing = length;
    while (missing > 0) {
      if (this.#pending.length === 0) {
        const count = await this.#connection.read(this.#chunk).catch(endOfClosedSocket);
        if (count === null) return undefined;
        this.#pending = this.#chunk.slice(0, count);
      }
      const part = this.#pending.subarray(0, missing);
      parts.push(part);
      missing -= part.length;
      this.#pending = this.#pending.subarray(part.length);
    }
    return concat(parts);
  }
}

/** A killed kernel resets its connections and `close()` interrupts a pending read: both are an end. */
function endOfClosedSocket(error: unknown): null {
  const ends = [
    Deno.errors.ConnectionReset,
    Deno.errors.ConnectionAborted,
    Deno.errors.BadResource,
    Deno.errors.Interrupted,
  ];
  if (ends.some((kind) => error instanceof kind)) return null;
  throw error;
}

function encodeFrame(flags: number, body: Uint8Array): Uint8Array {
  if (body.length <= 0xff) return concat([Uint8Array.of(flags, body.length), body]);
  const head = new Uint8Array(9);
  head[0] = flags | LONG;
  viewOf(head).setBigUint64(1, BigInt(body.length));
  return concat([head, body]);
}

function encodeProperty(name: string, value: string): Uint8Array {
  const length = new Uint8Array(4);
  const bytes = encoder.encode(value);
  viewOf(length).setUint32(0, bytes.length);
  return concat([Uint8Array.of(name.length), encoder.encode(name), length, bytes]);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
