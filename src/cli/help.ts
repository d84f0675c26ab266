import { type Command, GLOBAL, type Option } from "./command.ts";

/** Returns the output of `--help`: all commands and their common options. */
export function helpOfAll(commands: Readonly<Record<string, Command>>): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return [
    "platform-auth signs you in to the data platform and calls its API.",
    "",
    "Usage: platform-auth <command> [options]",
    "",
    ...columns(rows, 1),
    "",
    "Options of all commands:",
    ...columns(Object.entries(GLOBAL).map(optionRow), 3),
    "",
    "Exit status: 0 success, 1 failure, 2 wrong usage, 3 login required,\n130 prompt canceled.",
    "Settings come from the .env, which platform-auth init writes, and from the",
    "environment.",
  ].join("\n");
}

/** Returns the output of `--help` after a command. */
export function helpOf(name: string, { description, word, options, examples }: Command): string {
  const rows = Object.entries(options).map(optionRow);
  return [
    description,
    "",
    `Usage: platform-auth ${name} ${word === undefined ? "" : `[${word.name}] `}[options]`,
    "",
    ...(rows.length > 0 ? [...columns(rows, 3), ""] : []),
    examples.length > 1 ? "Examples:" : "Example:",
    ...examples.map((example) => `  ${example}`),
  ].join("\n");
}

function optionRow([name, { short, value, help }]: [string, Option]): [string, string] {
  return [`${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`, help];
}

/** Formats two columns with a gap between them. */
export function columns(rows: readonly (readonly [string, string])[], gap: number): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + gap;
  return rows.map(([left, right]) =>
    `  ${left.padEnd(width)}${right.replaceAll("\n", `\n  ${"".padEnd(width)}`)}`
  );
}
