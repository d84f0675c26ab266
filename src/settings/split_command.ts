/**
 * Splits a command into program and arguments, without a shell: blanks separate words, single or double
 * quotes keep blanks together, and nothing else has a meaning. So a backslash in a path stays one.
 *
 * @returns `undefined` if a quote is not closed, or there is no program.
 */
export function wordsOf(line: string): [string, ...string[]] | undefined {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g)) {
    const parts = [...word.matchAll(/"([^"]*)"|'([^']*)'|([^"']+)|["']/g)];
    const texts = parts.flatMap(([, double, single, plain]) => double ?? single ?? plain ?? []);
    if (texts.length < parts.length) return undefined;
    words.push(texts.join(""));
  }
  const [program, ...args] = words;
  return program ? [program, ...args] : undefined;
}

/** The line that is split into these words. */
export function lineOf(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(" ");
}
