/** Two columns with a gap between them. */
export function columns(rows: readonly (readonly [string, string])[], gap: number): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + gap;
  return rows.map(([left, right]) =>
    `  ${left.padEnd(width)}${right.replaceAll("\n", `\n  ${"".padEnd(width)}`)}`
  );
}
