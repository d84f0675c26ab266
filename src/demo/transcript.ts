import type { Sandbox } from "../sandbox/mod.ts";

/** A failed check in the demo. */
export class CheckFailed extends Error {
  override name = "CheckFailed";

  constructor(claim: string, readonly expected: string, readonly seen: string) {
    super(claim);
  }
}

const [GREEN, RED, CYAN, GRAY] = ["green", "red", "cyan", "gray"].map((name) => `color: ${name}`);

/** Prints the steps, their code, results and checks, and the requests that the servers received. */
export class Transcript {
  /** The servers whose requests are printed. */
  sandbox: Sandbox | undefined;
  #steps = 0;
  #printed = { requests: 0, apiRequests: 0 };

  /** Returns the requests since the step began, either to the provider or to the API. */
  received<Kind extends "requests" | "apiRequests">(kind: Kind): Sandbox[Kind][number][] {
    return [...this.sandbox?.[kind] ?? []].slice(this.#printed[kind]);
  }

  /** Prints a step, runs it, and prints the requests that the servers received. */
  async step(title: string, text: string, work: () => Promise<void>): Promise<void> {
    console.log(`\n%c${++this.#steps}. ${title}`, "font-weight: bold");
    console.log(text.replaceAll(/^/gm, "   "));
    await work();
    const requests = this.received("requests");
    const calls = this.received("apiRequests");
    this.#printed.requests += requests.length;
    this.#printed.apiRequests += calls.length;
    const summaries = [
      `requests to the provider: ${summary(requests.map(requestText))}`,
      `requests to the API:      ${summary(calls.map(requestText))}`,
    ];
    for (const line of summaries) console.log(`   %c${line}`, GRAY);
  }

  /**
   * Prints a line of code, runs it and prints its value in the form that `show` returns.
   *
   * @throws {CheckFailed} If the line throws.
   */
  async run<T>(
    code: string,
    work: () => T | Promise<T>,
    show: (value: T) => string | Promise<string> = () => "",
  ): Promise<T> {
    console.log(`   %c> ${code}`, CYAN);
    let value: T;
    try {
      value = await work();
    } catch (error) {
      throw new CheckFailed(`${code} succeeds`, "no error", String(error));
    }
    const shown = await show(value);
    if (shown !== "") console.log(shown.replaceAll(/^/gm, "     "));
    return value;
  }

  /**
   * Compares a value with the expected one, and prints that the check succeeded.
   *
   * @throws {CheckFailed} If the value is not the expected one.
   */
  check(claim: string, seen: unknown, expected: unknown): void {
    if (String(seen) !== String(expected)) {
      throw new CheckFailed(claim, String(expected), String(seen));
    }
    console.log(`   %c✓%c ${claim}`, GREEN, "");
  }

  /** Prints that all steps passed. */
  end(): void {
    console.log(`\n%cAll ${this.#steps} steps passed.`, GREEN);
  }

  /** Prints a failed check to standard error. */
  failure({ message, expected, seen }: CheckFailed): void {
    const place = this.#steps === 0 ? "The start" : `Step ${this.#steps}`;
    console.error(`\n%c${place} failed.`, RED);
    console.error(`   check:    ${message}\n   expected: ${expected}\n   seen:     ${seen}`);
  }
}

/**
 * Describes a response of the API by its status and the beginning of its text. The body can still
 * be read.
 */
export async function responseText(response: Response): Promise<string> {
  const text = await response.clone().text();
  return `${response.status} ${text.length > 70 ? `${text.slice(0, 70)}…` : text}`;
}

function requestText(request: Sandbox["requests" | "apiRequests"][number]): string {
  const name = "path" in request
    ? `${request.method} ${request.path}`
    : `${request.operation} ${request.authFlow ?? ""}`.trim();
  return `${name} → ${request.status}`;
}

/** Summarizes lines in order, with a count for repeated lines. */
function summary(lines: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const parts = [...counts].map(([line, count]) => count === 1 ? line : `${line} (${count} times)`);
  return parts.join(", ") || "none";
}
