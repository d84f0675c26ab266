import { ConfigError, typeError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { inKernel } from "../errors/advice.ts";
import { wrapped } from "../errors/lines.ts";
import { cellLine, type LiveLine } from "./live_line.ts";
import { withoutOuterBreaks } from "./secret.ts";
import { readVisible } from "./terminal.ts";
import type { World } from "./world.ts";

/** Time to wait for a pending signal, long enough even on a busy machine. */
const DELIVERY_MS = 50;

/**
 * If Stop was pressed while a prompt was open, waits until Stop has aborted the signal.
 *
 * @throws The signal's reason, if the signal is aborted.
 */
export async function untilHeard(signal: AbortSignal | undefined): Promise<void> {
  if (signal && inKernel()) await new Promise((resolve) => setTimeout(resolve, DELIVERY_MS));
  signal?.throwIfAborted();
}

/**
 * The text that a cell shows while a prompt is open. It says where the prompt is, because a front
 * end may show the prompt far from the cell, and how to cancel it.
 */
const OPEN_QUESTION = [
  "A prompt is open below the cell (VS Code: top of window).",
  "Stop, then Enter, cancels.",
];

/** The prompts of one call. A notebook shows a line while a prompt is open. */
export class Questions {
  #line: LiveLine | undefined;

  constructor(private readonly world: World) {}

  /** Whether a prompt is possible: in a notebook, in a terminal, or with the `prompt` option. */
  get canAsk(): boolean {
    return this.world.ask !== undefined || inKernel() ||
      (Deno.stdin.isTerminal() && Deno.stdout.isTerminal());
  }

  /** Whether a notebook shows the prompts. */
  get isInNotebook(): boolean {
    return this.world.ask === undefined && inKernel();
  }

  /** Whether a terminal shows the prompts. */
  get isInTerminal(): boolean {
    return this.world.ask === undefined && !inKernel() && Deno.stdin.isTerminal();
  }

  /**
   * Prompts the user. The input for a secret is hidden, and line breaks around it are removed.
   * A kernel's prompt blocks the thread, so Stop can abort the signal only after the prompt. The
   * method therefore waits briefly before it returns the answer.
   *
   * @param options.notes Lines to show with the prompt.
   * @returns `null` if no prompt is possible, or if the user canceled a prompt outside a terminal.
   * @throws {AuthError} `INTERRUPTED` if the user canceled the prompt in a terminal.
   * @throws The signal's reason, if it is aborted before or after the answer.
   */
  async ask(message: string, { secret, signal, notes = [] }: AskOptions): Promise<string | null> {
    signal?.throwIfAborted();
    const answer = await this.#answerTo(message, secret, notes);
    await untilHeard(signal);
    return answer === null || !secret ? answer : withoutOuterBreaks(answer);
  }

  /**
   * Prompts for a required value.
   *
   * @param next What to do if no prompt is possible.
   * @throws {ConfigError} `PROMPT_UNAVAILABLE` if no prompt is possible, or if nothing was entered.
   * @throws The signal's reason, if it is aborted before or after the answer.
   */
  async need(message: string, next: Fix, options: AskOptions): Promise<string> {
    const answer = this.canAsk ? await this.ask(message, options) : null;
    if (answer !== null && answer.trim() !== "") return answer;
    const problem = answer === null
      ? "Cannot log in: no prompt is possible here, or the prompt was canceled"
      : "Cannot log in: nothing was entered, which cancels the login";
    const again = answer !== null && this.isInNotebook;
    throw new ConfigError("PROMPT_UNAVAILABLE", problem, again ? "run the cell again" : next);
  }

  async #answerTo(
    message: string,
    secret: boolean,
    notes: readonly string[],
  ): Promise<string | null> {
    const { ask } = this.world;
    if (ask === undefined) {
      return inKernel()
        ? await this.#answerInCell(message, secret, notes)
        : await answerInTerminal(message, secret, notes);
    }
    const answer = await ask([...notes, message].join("\n"), { secret });
    if (answer === null || typeof answer === "string") return answer;
    throw typeError(`The prompt option must return a string or null, not ${typeof answer}`);
  }

  async #answerInCell(
    message: string,
    secret: boolean,
    notes: readonly string[],
  ): Promise<string | null> {
    this.#line ??= cellLine();
    await this.#line.show([...notes, ...OPEN_QUESTION].join("\n"));
    // The kernel hides the input if `prompt()` has a third argument, which the types do not list.
    const kernelPrompt = prompt as unknown as KernelPrompt;
    const question = message.split("\n").map((line) => wrapped(line)).join("\n");
    const answer = secret ? kernelPrompt(question, "", { password: true }) : prompt(question);
    await this.#line.remove();
    return answer;
  }
}

async function answerInTerminal(
  message: string,
  secret: boolean,
  notes: readonly string[],
): Promise<string | null> {
  if (!Deno.stdin.isTerminal()) return null;
  const lines = [...notes, ...message.split("\n")];
  if (secret) {
    const { readMasked } = await import("./masked_input.ts");
    return await readMasked(lines.join("\n"));
  }
  const question = lines.pop() ?? "";
  // The lines belong to the prompt, so they go to standard output like the prompt. Standard error
  // may be a file.
  const before = lines.map((line) => `${line}\n`).join("");
  if (before !== "") Deno.stdout.writeSync(new TextEncoder().encode(before));
  return readVisible(question);
}

export interface AskOptions {
  readonly secret: boolean;
  readonly signal: AbortSignal | undefined;
  readonly notes?: readonly string[];
}

type KernelPrompt = (
  message: string,
  initial: string,
  options: { password: boolean },
) => string | null;
