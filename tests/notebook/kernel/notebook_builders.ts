/** Small notebooks for the tests of the notebook runner. */

import type { CodeCell, Notebook, Output } from "./notebook.ts";

export function code(source: string, outputs: Output[] = [], tags?: string[]): CodeCell {
  const metadata = tags ? { tags } : {};
  return { cell_type: "code", id: "c", metadata, source, outputs, execution_count: null };
}

export function notebookOf(...cells: Notebook["cells"]): Notebook {
  return {
    cells: cells.map((cell, index) => ({ ...cell, id: `cell-${index + 1}` })),
    metadata: { kernelspec: { display_name: "Deno", language: "typescript", name: "deno" } },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

export function printed(text: string): Output {
  return { output_type: "stream", name: "stdout", text };
}

export function value(data: Record<string, unknown>): Output {
  return { output_type: "execute_result", data, metadata: {}, execution_count: 1 };
}

export function thrown(ename: string, evalue: string): Output {
  return { output_type: "error", ename, evalue, traceback: [`${ename}: ${evalue}`] };
}

/** A random string without a structure, in the alphabet of tokens. */
export function someOpaqueString(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return random.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** A token made at run time, so that no file contains one. */
export function someToken(): string {
  return `eyJ${someOpaqueString(60)}.eyJ${someOpaqueString(60)}.${someOpaqueString(60)}`;
}
