/** Turns a kernel's iopub messages into the outputs that nbformat 4 stores, as a front end does. */

import { isRecord, type JsonRecord, type Message, recordOf, textOf } from "../kernel/wire.ts";

/** MIME type to content: text, base64 of a picture, or JSON. */
export type MimeBundle = JsonRecord;

/** Printed text. Consecutive outputs of the same name are one. */
export interface StreamOutput {
  output_type: "stream";
  name: "stdout" | "stderr";
  text: string;
}

/** An output of `Deno.jupyter.display`. */
export interface DisplayDataOutput {
  output_type: "display_data";
  data: MimeBundle;
  metadata: JsonRecord;
}

/** The value of the cell. */
export interface ExecuteResultOutput {
  output_type: "execute_result";
  data: MimeBundle;
  metadata: JsonRecord;
  execution_count: number | null;
}

/** An error that the cell threw. */
export interface ErrorOutput {
  output_type: "error";
  ename: string;
  evalue: string;
  traceback: string[];
}

export type Output = StreamOutput | DisplayDataOutput | ExecuteResultOutput | ErrorOutput;

/** The outputs of every cell that ran, by request id. Late messages still reach their cell. */
export class OutputCollector {
  readonly #cells = new Map<string, Output[]>();
  readonly #displays = new Map<string, (DisplayDataOutput | ExecuteResultOutput)[]>();

  /** The array that the messages caused by `requestId` go to from now on. */
  open(requestId: string): Output[] {
    const outputs: Output[] = [];
    this.#cells.set(requestId, outputs);
    return outputs;
  }

  accept(message: Message): void {
    const { type, content } = message;
    if (type === "update_display_data") {
      for (const shown of this.#displays.get(displayId(content)) ?? []) {
        shown.data = recordOf(content.data);
        shown.metadata = recordOf(content.metadata);
      }
      return;
    }
    const outputs = this.#cells.get(message.parentId);
    if (outputs === undefined) return;
    if (type === "clear_output") outputs.length = 0;
    const output = toOutput(type, content);
    if (output === undefined) return;
    if (output.output_type === "display_data" || output.output_type === "execute_result") {
      const id = displayId(content);
      if (id !== "") this.#displays.set(id, [...this.#displays.get(id) ?? [], output]);
    }
    append(outputs, output);
  }
}

/**
 * Joins consecutive stream outputs of the same name, and omits outputs that were removed again, such as
 * a line of progress, which depends on the speed of the machine.
 */
export function mergeStreams(outputs: readonly Output[]): Output[] {
  const merged: Output[] = [];
  for (const output of outputs) {
    if ("data" in output && Object.values(output.data).every((text) => text === "")) continue;
    append(merged, { ...output });
  }
  return merged;
}

function append(outputs: Output[], output: Output): void {
  // Under load, the kernel may send printed text after the error or value that followed it (in 8 of 200
  // runs), so errors and values stay last, and the order is always the same.
  const last = outputs.at(-1);
  const ended = last?.output_type === "error" || last?.output_type === "execute_result";
  const at = ended && output.output_type === "stream" ? outputs.length - 1 : outputs.length;
  const before = outputs[at - 1];
  if (
    output.output_type === "stream" && before?.output_type === "stream" &&
    before.name === output.name
  ) {
    before.text += output.text;
  } else {
    outputs.splice(at, 0, output);
  }
}

function toOutput(type: string, content: JsonRecord): Output | undefined {
  const data = recordOf(content.data);
  const metadata = recordOf(content.metadata);
  switch (type) {
    case "stream":
      return {
        output_type: type,
        name: content.name === "stderr" ? "stderr" : "stdout",
        text: textOf(content.text),
      };
    case "display_data":
      return { output_type: type, data, metadata };
    case "execute_result": {
      const count = content.execution_count;
      return {
        output_type: type,
        data,
        metadata,
        execution_count: typeof count === "number" ? count : null,
      };
    }
    case "error":
      return {
        output_type: type,
        ename: textOf(content.ename),
        evalue: textOf(content.evalue),
        traceback: tracebackOf(content),
      };
    default:
      return undefined;
  }
}

/** The stack lines of an error message or of a failed reply. */
export function tracebackOf(content: JsonRecord): string[] {
  return Array.isArray(content.traceback) ? content.traceback.map(String) : [];
}

function displayId(content: JsonRecord): string {
  return isRecord(content.transient) ? textOf(content.transient.display_id) : "";
}
