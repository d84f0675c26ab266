import type { Sandbox } from "../sandbox/mod.ts";

/** A claim of the demo that turned out not to be true. */
export class NotHeld extends Error {
  override name = "NotHeld";
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

/** Prints what happens, for a reader: steps, code, results, claims and what the servers saw. */
export class Transcript {
  readonly #explain: (error: unknown) => string;
  #requestsTold = 0;
  #callsTold = 0;

  /** @param explain Puts an error that a line of code threw into words. */
  constructor(explain: (error: unknown) => string) {
    this.#explain = explain;
  }

  /** Prints a heading, with an aside. */
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
   * Shows a line of code, runs it and shows what came back, as far as `show` tells.
   *
   * @throws {NotHeld} If the line throws.
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
      throw new NotHeld(`${code} succeeds`, "no error", this.#explain(error));
    }
    const shown = await show(value);
    if (shown !== "") console.log(shown.replaceAll(/^/gm, "     "));
    return value;
  }

  /**
   * Makes a claim and checks it.
   *
   * @throws {NotHeld} If what was seen is not what was expected.
   */
  holds(claim: string, seen: unknown, expected: unknown): void {
    const [seenText, expectedText] = [wordsOf(seen), wordsOf(expected)];
    if (seenText !== expectedText) throw new NotHeld(claim, expectedText, seenText);
    console.log(`   ${paint("green", "✓")} ${claim}`);
  }

  /** Tells which requests the provider and the API saw since the last time. */
  requests({ requests, apiRequests }: Sandbox): void {
    const asked = requests.slice(this.#requestsTold)
      .map((each) => `${each.operation} ${each.authFlow ?? "without a flow"} → ${each.status}`);
    const called = apiRequests.slice(this.#callsTold)
      .map((each) => `${each.method} ${each.path} → ${each.status}`);
    this.#requestsTold = requests.length;
    this.#callsTold = apiRequests.length;
    console.log(paint("gray", `   the provider saw: ${summary(asked)}`));
    console.log(paint("gray", `   the API saw:      ${summary(called)}`));
  }

  /** Tells that all went well. */
  success(text: string): void {
    console.log(`\n${paint("green", text)}`);
  }

  /** Tells on the error output what did not hold. */
  failure(where: string, { message, expected, seen }: NotHeld): void {
    console.error(`\n${paint("red", `${where} did not hold: ${message}`, Deno.stderr)}`);
    console.error(`   expected: ${expected}\n   seen:     ${seen}`);
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
  return parts.join(", ") || "nothing";
}
