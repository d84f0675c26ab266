/**
 * Returns the known word closest to the given word. Returns `undefined` if no word is close: the
 * given word may then be a secret that was passed by mistake, and must not be quoted.
 */
export function closest(word: string, known: readonly string[]): string | undefined {
  const given = word.toLowerCase();
  const near = known.map((each) => ({ each, edits: editsBetween(given, each.toLowerCase()) }))
    .filter(({ each, edits }) => edits <= 2 && edits <= each.length / 2);
  return near.sort((a, b) => a.edits - b.edits)[0]?.each;
}

/** The number of characters to insert, delete or replace to turn one word into the other (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let row = [...Array(to.length + 1).keys()];
  for (const [at, character] of [...from].entries()) {
    let left = at + 1;
    row = row.map((above, column) => {
      if (column === 0) return left;
      const replaced = (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1);
      return left = Math.min(above + 1, left + 1, replaced);
    });
  }
  return row.at(-1) ?? 0;
}
