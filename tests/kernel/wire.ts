/** Jupyter messages (protocol 5.3): JSON parts signed with HMAC-SHA256, carried as frames. */

import { createHmac, timingSafeEqual } from "node:crypto";

const DELIMITER = "<IDS|MSG>";
const PROTOCOL_VERSION = "5.3";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A JSON object whose fields have to be checked before use. */
export type JsonRecord = Record<string, unknown>;

/** A message as it came from the kernel. */
export interface Message {
  type: string;
  /** Id of the request that caused it; empty when there was none. */
  parentId: string;
  header: JsonRecord;
  content: JsonRecord;
}

/** Signs outgoing messages and checks incoming ones with the key of one connection file. */
export class Wire {
  readonly #key: string;
  readonly #session = crypto.randomUUID();

  constructor(key: string) {
    this.#key = key;
  }

  /** The frames of a new message and its id. `parent` is the header of the message it answers. */
  encode(
    type: string,
    content: JsonRecord,
    parent: JsonRecord = {},
  ): { id: string; frames: Uint8Array[] } {
    const id = crypto.randomUUID();
    const header = {
      msg_id: id,
      msg_type: type,
      session: this.#session,
      username: "notebook-runner",
      date: new Date().toISOString(),
      version: PROTOCOL_VERSION,
    };
    const parts = [header, parent, {}, content].map((part) => encoder.encode(JSON.stringify(part)));
    const frames = [encoder.encode(DELIMITER), encoder.encode(this.#sign(parts)), ...parts];
    return { id, frames };
  }

  /** Throws when the frames are no message or the signature is another key's. */
  decode(frames: readonly Uint8Array[]): Message {
    // Routing ids and the iopub topic come before the delimiter.
    const start = frames.findIndex((frame) => decoder.decode(frame) === DELIMITER);
    const [signature, ...parts] = frames.slice(start + 1);
    if (start < 0 || signature === undefined || parts.length < 4) {
      throw new Error(`Expected a Jupyter message, got ${frames.length} frames without its parts`);
    }
    const signed = parts.slice(0, 4);
    const expected = encoder.encode(this.#sign(signed));
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
      throw new Error("The kernel's message is signed with another key; is this another kernel?");
    }
    const [header = {}, parent = {}, , content = {}] = signed.map(parseRecord);
    return { type: textOf(header.msg_type), parentId: textOf(parent.msg_id), header, content };
  }

  #sign(parts: readonly Uint8Array[]): string {
    const hmac = createHmac("sha256", this.#key);
    for (const part of parts) hmac.update(part);
    return hmac.digest("hex");
  }
}

/** The value when it is a string, else an empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The value when it is a plain object, else an empty one. */
export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseRecord(bytes: Uint8Array): JsonRecord {
  return recordOf(JSON.parse(decoder.decode(bytes)));
}
