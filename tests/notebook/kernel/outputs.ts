/** The outputs of a cell, as nbformat 4 stores them. */

export type JsonRecord = Record<string, unknown>;

/** Printed text. Consecutive outputs of the same name are one. */
export interface StreamOutput {
  output_type: "stream";
  name: "stdout" | "stderr";
  text: string;
}

/** An output of `Deno.jupyter.display`. */
export interface DisplayDataOutput {
  output_type: "display_data";
  data: JsonRecord;
  metadata: JsonRecord;
}

/** The value of the cell. */
export interface ExecuteResultOutput {
  output_type: "execute_result";
  data: JsonRecord;
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

/** Omits outputs that were removed again, such as a line of progress, which depends on the machine's speed. */
export function withoutRemoved(outputs: readonly Output[]): Output[] {
  return outputs.filter((output) =>
    !("data" in output) || Object.values(output.data).some((text) => text !== "")
  );
}
