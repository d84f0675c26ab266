import { type Machine, machineText } from "./machine.ts";
import { pathOf, run } from "./processes.ts";
import { markdownOf, type PartResult } from "./report.ts";

/**
 * Replaces the text between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` with the tables of the
 * part of that name, and between those of `machine` with a description of the machine. Parts that
 * were not run stay unchanged.
 */
export async function writeTables(
  path: string,
  machine: Machine,
  results: readonly PartResult[],
): Promise<void> {
  let text = await Deno.readTextFile(path);
  text = replaceBlock(text, "machine", machineText(machine));
  for (const result of results) text = replaceBlock(text, result.part, markdownOf(result));
  await Deno.writeTextFile(path, text);
  // Notes may have several lines.
  const args = ["fmt", "--quiet", path];
  await run({ command: Deno.execPath(), args, cwd: pathOf(".") });
}

/** @throws {Error} If the text has no such block. */
function replaceBlock(text: string, name: string, content: string): string {
  const [open, close] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const start = text.indexOf(open);
  const end = text.indexOf(close);
  if (start < 0 || end < start) throw new Error(`There is no block ${name} to write to`);
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`;
}
