import { withEnvironment } from "./environment.ts";

/** Works with `AUTH_LOG=debug`. The lines are returned instead of printed. */
export async function withLog(work: () => Promise<void>): Promise<string[]> {
  const { error } = console;
  const lines: string[] = [];
  console.error = (line: unknown) => void lines.push(String(line));
  try {
    await withEnvironment({ AUTH_LOG: "debug" }, work);
  } finally {
    console.error = error;
  }
  return lines;
}
