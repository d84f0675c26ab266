import { AuthError } from "../../mod.ts";
import type { DemoContext } from "./context.ts";
import { CheckFailed, type Transcript } from "./transcript.ts";

/** One step of the demo; it builds on those before. */
export interface DemoStep {
  /** As `--break` takes it. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
  /** The fault that `--break` causes, in words. */
  readonly fault: string;
  readonly causeFault: (context: DemoContext) => void;
  readonly run: (context: DemoContext, transcript: Transcript) => Promise<void>;
}

/** Runs a step. Whatever it throws is a failed check. */
export async function runStep(
  step: DemoStep,
  context: DemoContext,
  transcript: Transcript,
): Promise<CheckFailed | undefined> {
  try {
    await step.run(context, transcript);
    return undefined;
  } catch (error) {
    if (error instanceof CheckFailed) return error;
    return new CheckFailed(`${step.title} works`, "no error", errorText(error));
  }
}

/** An error as one line, with its code. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return "something that is not an error was thrown";
  const code = error instanceof AuthError ? ` ${error.code}` : "";
  return `${error.name}${code}: ${error.message}`;
}

/** The answer of the API: its status and the beginning of its text. The body stays readable. */
export async function answerText(answer: Response): Promise<string> {
  const text = await answer.clone().text();
  return `${answer.status} ${text.length > 70 ? `${text.slice(0, 70)}…` : text}`;
}
