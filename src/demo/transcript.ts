import { AuthError } from "../../mod.ts";
import type { Sandbox } from "../sandbox/mod.ts";

/** A check of the demo that failed. */
export class CheckFailed extends Error {
  override name = "CheckFailed";

  constructor(claim: string, readonly expected: string, readonly seen: string) {
    super(claim);
  }
}

const COLORS = { bold: 1, red: 31, green: 32, cyan: 36, gray: 90 } as const;
const WIDTH = 92;

/** Prints what happens: steps, code, results, checks, and the requests that the servers got. */
export class Transcript {
  /** The servers whose requests are printed. */
  sandbox: Sandbox | undefined;
  #steps = 0;
  /** What runs, as a failure names it. */
  #place = "The start";
  #printedRequests = 0;
  #printedCalls = 0;

  /** What the provider was sent since the step began. */
  get requests(): Sandbox["requests"] {
    return this.sandbox?.requests.slice(this.#printedRequests) ?? [];
  }

  /** What the API was sent since the step began. */
  get apiRequests(): Sandbox["apiRequests"] {
    return this.sandbox?.apiRequests.slice(this.#printedCalls) ?? [];
  }

  /**
   * Prints a step, runs it, and prints the requests that the servers got.
   *
   * @throws {CheckFailed} If it throws anything.
   */
  async step(name: string, title: string, text: string, work: () => Promise<void>): Promise<void> {
    this.#steps++;
    this.#place = `Step ${this.#steps} (${name})`;
    this.heading(`${this.#steps}. ${title}`, `(${name})`);
    this.text(text);
    try {
      await work();
    } catch (error) {
      if (error instanceof CheckFailed) throw error;
      throw new CheckFailed(`${title} works`, "no error", errorText(error));
    } finally {
      this.#printRequests();
    }
  }

  /** Prints a heading, with a remark in gray. */
  heading(text: string, aside = ""): void {
    console.log(`\n${paint("bold", text)} ${paint("gray", aside)}`.trimEnd());
  }

  /** Prints running text, wrapped. */
  text(text: string): void {
    let line = "  ";
    for (const word of text.split(" ")) {
      if (line.length + word.length >= WIDTH) {
        console.log(line);
        line = "  ";
      }
      line += ` ${word}`;
    }
    console.log(line);
  }

  /**
   * Prints a line of code, runs it and prints what `show` makes of its value.
   *
   * @throws {CheckFailed} If the line throws.
   */
  async run<T>(
    code: string,
    work: () => T | Promise<T>,
    show: (value: T) => string | Promise<string> = () => "",
  ): Promise<T> {
    console.log(paint("cyan", `   > ${code}`));
    let value: T;
    try {
      value = await work();
    } catch (error) {
      throw new CheckFailed(`${code} succeeds`, "no error", errorText(error));
    }
    const shown = await show(value);
    if (shown !== "") console.log(shown.replaceAll(/^/gm, "     "));
    return value;
  }

  /**
   * Prints a check that holds.
   *
   * @throws {CheckFailed} If what was seen is not what was expected.
   */
  check(claim: string, seen: unknown, expected: unknown): void {
    const [seenText, expectedText] = [wordsOf(seen), wordsOf(expected)];
    if (seenText !== expectedText) throw new CheckFailed(claim, expectedText, seenText);
    console.log(`   ${paint("green", "✓")} ${claim}`);
  }

  #printRequests(): void {
    const asked = this.requests.map((each) =>
      `${each.operation}${each.authFlow ? ` ${each.authFlow}` : ""} → ${each.status}`
    );
    const called = this.apiRequests.map((each) => `${each.method} ${each.path} → ${each.status}`);
    this.#printedRequests += asked.length;
    this.#printedCalls += called.length;
    console.log(paint("gray", `   requests to the provider: ${summary(asked)}`));
    console.log(paint("gray", `   requests to the API:      ${summary(called)}`));
  }

  /** Prints that all went well, and what to do next. */
  end(next: string): void {
    console.log(`\n${paint("green", `All ${this.#steps} steps passed.`)}`);
    this.text(next);
  }

  /** Prints a failed check to the error output. */
  failure({ message, expected, seen }: CheckFailed): void {
    console.error(`\n${paint("red", `${this.#place} failed.`, Deno.stderr)}`);
    console.error(`   check:    ${message}\n   expected: ${expected}\n   seen:     ${seen}`);
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

/** Colors a text, if it goes to a terminal and NO_COLOR does not forbid it. */
function paint(
  color: keyof typeof COLORS,
  text: string,
  out: { isTerminal(): boolean } = Deno.stdout,
): string {
  const colored = text !== "" && !Deno.noColor && out.isTerminal();
  return colored ? `\x1b[${COLORS[color]}m${text}\x1b[0m` : text;
}

function wordsOf(value: unknown): string {
  return Array.isArray(value) ? value.map(wordsOf).join(", ") || "nothing" : String(value);
}

/** The lines in order; those that repeat are counted. */
function summary(lines: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const parts = [...counts].map(([line, count]) => count === 1 ? line : `${line} (${count} times)`);
  return parts.join(", ") || "none";
}
