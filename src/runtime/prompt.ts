import { ConfigError, typeError } from "../errors/errors.ts";
import type { Fix } from "../errors/fix.ts";
import { inKernel } from "../errors/front_end.ts";
import type { World } from "./world.ts";

/** Whether a user can be asked: through a replaced prompt, a notebook, or a terminal. */
export function canAsk(world: World): boolean {
  return world.ask !== undefined || inKernel() ||
    (Deno.stdin.isTerminal() && Deno.stdout.isTerminal());
}

/** Longer than it takes, on a busy machine, to deliver a signal that is already there. */
const DELIVERY_MS = 50;

/**
 * Asks the user; secrets are masked. Only the last line of the message is the question.
 *
 * A kernel's prompt blocks the thread, so a Stop during the question aborts the signal only after it.
 * The answer is returned when the signal had time to abort.
 *
 * @returns `null` where a user cannot be asked, or canceled the question.
 * @throws The signal's reason, if it is aborted before or after the answer.
 */
export async function askUser(
  world: World,
  message: string,
  secret: boolean,
  signal?: AbortSignal,
): Promise<string | null> {
  signal?.throwIfAborted();
  const answer = await answerTo(world, message, secret);
  await untilHeard(signal);
  return answer;
}

/**
 * Waits until a Stop that was pressed at an open prompt had time to abort the signal.
 *
 * @throws The signal's reason, if it is aborted.
 */
export async function untilHeard(signal: AbortSignal | undefined): Promise<void> {
  if (signal && inKernel()) await new Promise((resolve) => setTimeout(resolve, DELIVERY_MS));
  signal?.throwIfAborted();
}

async function answerTo(world: World, message: string, secret: boolean): Promise<string | null> {
  if (world.ask !== undefined) {
    const answer = await world.ask(message, { secret });
    if (answer !== null && typeof answer !== "string") {
      throw typeError(`The prompt option must give a string or null, not ${typeof answer}`);
    }
    return answer;
  }
  if (inKernel()) {
    // The kernel masks on a third argument that the types do not know.
    const kernelPrompt = prompt as unknown as KernelPrompt;
    return secret ? kernelPrompt(message, "", { password: true }) : prompt(message);
  }
  if (!Deno.stdin.isTerminal()) return null;
  const lines = message.split("\n");
  const question = lines.pop() ?? "";
  // To the terminal itself, as the question: standard error may be a file.
  if (lines.length > 0) Deno.stdout.writeSync(new TextEncoder().encode(`${lines.join("\n")}\n`));
  if (!secret) return prompt(question);
  const { readMasked } = await import("./masked_input.ts");
  return readMasked(question);
}

type KernelPrompt = (
  message: string,
  initial: string,
  options: { password: boolean },
) => string | null;

/**
 * Asks for something that is needed.
 *
 * @param next What to do if nothing is entered.
 * @throws {ConfigError} `PROMPT_UNAVAILABLE` if nothing was entered.
 * @throws The signal's reason, if it is aborted before or after the answer.
 */
export async function askUserFor(
  world: World,
  message: string,
  secret: boolean,
  next: Fix,
  signal?: AbortSignal,
): Promise<string> {
  const answer = canAsk(world) ? await askUser(world, message, secret, signal) : null;
  if (answer !== null && answer.trim() !== "") return answer;
  const why = answer === null
    ? "this front end cannot ask, or the question was canceled"
    : "nothing was entered, which cancels the login";
  throw new ConfigError("PROMPT_UNAVAILABLE", `Cannot log in: ${why}`, next);
}
