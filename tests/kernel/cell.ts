/** How a cell is run and what comes of it. */

import type { Output } from "../notebooks/outputs.ts";

/** How to run one cell. */
export interface ExecuteOptions {
  /** Default 120 000. */
  timeoutMs?: number;
  /**
   * Answers `prompt()`. Without it, the cell has no standard input and `prompt()` returns `null`.
   * Outputs have a separate connection, so they may arrive a little later.
   */
  onInput?: (
    prompt: string,
    password: boolean,
    outputs: readonly Output[],
  ) => string | Promise<string>;
}

/** The prompts of the cell. */
export interface InputRequest {
  prompt: string;
  /** Whether the front end masks the answer. */
  password: boolean;
}

/** The outputs that a front end would show under the cell. A cell may fail without any output. */
export interface CellResult {
  status: "ok" | "error";
  /** Late output of this cell, sent while another one runs, is added here. */
  outputs: Output[];
  inputs: InputRequest[];
  executionCount: number | null;
  ename?: string;
  evalue?: string;
  traceback?: string[];
}

/** A cell did not end in time. The kernel is most likely stuck: close it. */
export class CellTimeoutError extends Error {
  override name = "CellTimeoutError";
  constructor(timeoutMs: number, readonly outputs: Output[]) {
    super(`The cell did not end within ${timeoutMs} ms; close the kernel, it may be stuck`);
  }
}
