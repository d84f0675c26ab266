import { ConfigError, typeError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { inKernel } from "../errors/kernel.ts";
import { wrapped } from "../errors/lines.ts";
import { cellLine, type LiveLine } from "./live_line.ts";
import type { World } from "./world.ts";

/** Longer than it takes, on a busy machine, to deliver a signal that is already there. */
const DELIVERY_MS = 50;

/**
 * Waits until a Stop that was pressed at an open prompt had time to abort the signal.
 *
 * @throws The signal's reason, if it is aborted.
 */
export async function untilHeard(signal: AbortSignal | undefined): Promise<void> {
  if (signal && inKernel()) await new Promise((resolve) => setTimeout(resolve, DELIVERY_MS));
  signal?.throwIfAborted();
}

/** Where a question is, and how to leave it: a front end may show it far from the cell that asks. */
const OPEN_QUESTION = [
  "A question is open below the cell (VS Code: top of window).",
  "Stop, then Enter, cancels.",
];

/** The questions of one call. In a notebook a line says that one is open, until it is answered. */
export class Questions {
  readonly #world: World;
  #line: LiveLine | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether a user can be asked: through a replaced prompt, a notebook, or a terminal. */
  get canAsk(): boolean {
    return this.#world.ask !== undefined || inKernel() ||
      (Deno.stdin.isTerminal() && Deno.stdout.isTerminal());
  }

  /** Whether a notebook shows the questions. */
  get isInNotebook(): boolean {
    return this.#world.ask === undefined && inKernel();
  }

  /**
   * Asks the user; secrets are masked. A notebook is not wide, so long lines are broken there.
   *
   * A kernel's prompt blocks the thread, so a Stop during the question aborts the signal only after it.
   * The answer is returned when the signal had time to abort.
   *
   * @param options.notes What to show with the question, line by line.
   * @returns `null` where a user cannot be asked, or canceled the question.
   * @throws The signal's reason, if it is aborted before or after the answer.
   */
  async ask(message: string, { secret, signal, notes = [] }: AskOptions): Promise<string | null> {
    signal?.throwIfAborted();
    const answer = await this.#answerTo(message, secret, notes);
    await untilHeard(signal);
    return answer;
  }

  /**
   * Asks for something that is needed.
   *
   * @param next What to do where nobody can be asked.
   * @throws {ConfigError} `PROMPT_UNAVAILABLE` if nothing was entered.
   * @throws The signal's reason, if it is aborted before or after the answer.
   */
  async need(message: string, next: Fix, options: AskOptions): Promise<string> {
    const answer = this.canAsk ? await this.ask(message, options) : null;
    if (answer !== null && answer.trim() !== "") return answer;
    const problem = answer === null
      ? "Cannot log in: this front end cannot ask, or the question was canceled"
      : "Cannot log in: nothing was entered, which cancels the login";
    const again = answer !== null && this.isInNotebook;
    throw new ConfigError("PROMPT_UNAVAILABLE", problem, again ? "run the cell again" : next);
  }

  async #answerTo(
    message: string,
    secret: boolean,
    notes: readonly string[],
  ): Promise<string | null> {
    const { ask } = this.#world;
    if (ask !== undefined) {
      const answer = await ask([...notes, message].join("\n"), { secret });
      if (answer !== null && typeof answer !== "string") {
        throw typeError(`The prompt option must give a string or null, not ${typeof answer}`);
      }
      return answer;
    }
    if (inKernel()) {
      this.#line ??= cellLine();
      await this.#line.show([...notes, ...OPEN_QUESTION].join("\n"));
      // The kernel masks on a third argument that the types do not know.
      const kernelPrompt = prompt as unknown as KernelPrompt;
      const question = message.split("\n").map((line) => wrapped(line)).join("\n");
      const answer = secret ? kernelPrompt(question, "", { password: true }) : prompt(question);
      await this.#line.remove();
      return answer;
    }
    if (!Deno.stdin.isTerminal()) return null;
    const lines = [...notes, ...message.split("\n")];
    if (secret) {
      const { readMasked } = await import("./masked_input.ts");
      return await readMasked(lines.join("\n"));
    }
    const question = lines.pop() ?? "";
    // To the terminal itself, as the question: standard error may be a file.
    const before = lines.map((line) => `${line}\n`).join("");
    if (before !== "") Deno.stdout.writeSync(new TextEncoder().encode(before));
    return prompt(question);
  }
}

/** How a question is asked. */
interface AskOptions {
  readonly secret: boolean;
  readonly signal: AbortSignal | undefined;
  readonly notes?: readonly string[];
}

type KernelPrompt = (
  message: string,
  initial: string,
  options: { password: boolean },
) => string | null;
