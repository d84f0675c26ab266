import { AuthError } from "../../mod.ts";
import { NotHeld, type Transcript } from "./transcript.ts";
import type { DemoWorld } from "./world.ts";

/** One step of the demo; it builds on those before. */
export interface DemoStep {
  /** As `--break` takes it. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
  /** What `--break` does to the world, in words. */
  readonly broken: string;
  readonly breakWorld: (world: DemoWorld) => void;
  readonly walk: (world: DemoWorld, transcript: Transcript) => Promise<void>;
}

/** Walks a step; whatever it throws says that it did not hold. */
export async function walkStep(
  step: DemoStep,
  world: DemoWorld,
  transcript: Transcript,
): Promise<NotHeld | undefined> {
  try {
    await step.walk(world, transcript);
    return undefined;
  } catch (error) {
    if (error instanceof NotHeld) return error;
    return new NotHeld(`${step.title} works`, "no error", errorText(error));
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
