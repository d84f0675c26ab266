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

function base64url(text: string): string {
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** A token made at run time: none is kept in a file. */
export function someToken(): string {
  const part = (name: string): string =>
    base64url(JSON.stringify({ [name]: crypto.randomUUID().repeat(3) }));
  return `${part("alg")}.${part("sub")}.${part("sig")}`;
}

export function someOpaqueString(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return random.toBase64({ alphabet: "base64url", omitPadding: true });
}
