import type { Sandbox } from "../sandbox/mod.ts";

/** A check of the demo that failed. */
export class CheckFailed extends Error {
  override name = "CheckFailed";
  readonly expected: string;
  readonly seen: string;

  constructor(claim: string, expected: string, seen: string) {
    super(claim);
    this.expected = expected;
    this.seen = seen;
  }
}

const COLORS = { bold: 1, red: 31, green: 32, cyan: 36, gray: 90 } as const;
const WIDTH = 92;

/** Prints what happens: steps, code, results, checks, and the requests that the servers got. */
export class Transcript {
  readonly #explain: (error: unknown) => string;
  #printedRequests = 0;
  #printedCalls = 0;

  /** @param explain Gives the text for an error that a line of code threw. */
  constructor(explain: (error: unknown) => string) {
    this.#explain = explain;
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
      throw new CheckFailed(`${code} succeeds`, "no error", this.#explain(error));
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

  /** Prints the requests that the provider and the API got since the last time. */
  requests({ requests, apiRequests }: Sandbox): void {
    const asked = requests.slice(this.#printedRequests)
      .map((each) =>
        `${each.operation}${each.authFlow ? ` ${each.authFlow}` : ""} → ${each.status}`
      );
    const called = apiRequests.slice(this.#printedCalls)
      .map((each) => `${each.method} ${each.path} → ${each.status}`);
    this.#printedRequests = requests.length;
    this.#printedCalls = apiRequests.length;
    console.log(paint("gray", `   requests to the provider: ${summary(asked)}`));
    console.log(paint("gray", `   requests to the API:      ${summary(called)}`));
  }

  /** Prints that all went well. */
  success(text: string): void {
    console.log(`\n${paint("green", text)}`);
  }

  /** Prints a failed check to the error output. */
  failure(where: string, { message, expected, seen }: CheckFailed): void {
    console.error(`\n${paint("red", `${where} failed.`, Deno.stderr)}`);
    console.error(`   check:    ${message}\n   expected: ${expected}\n   seen:     ${seen}`);
  }
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
