import { withEnvironment } from "../support/environment.ts";

/** Runs `work` with `AUTH_LOG=1`, and returns the lines of the log instead of printing them. */
export async function withLog(work: () => Promise<void>): Promise<string[]> {
  const { error } = console;
  const lines: string[] = [];
  console.error = (line: unknown) => void lines.push(String(line));
  try {
    await withEnvironment({ AUTH_LOG: "1" }, work);
  } finally {
    console.error = error;
  }
  return lines;
}
