import { allCommands } from "./commands.ts";
import { type Command, COMMON, type Option, type Options } from "./command.ts";
import { wrapped } from "../errors/lines.ts";

/** What `--help` prints: all commands, and what they have in common. */
export async function generalHelp(): Promise<string> {
  const commands = [...await allCommands()]
    .map(([name, { summary }]) => [name, summary] as const);
  const { help: _, ...common } = COMMON;
  return [
    "platform-auth signs you in to the data platform and calls its API.",
    "",
    "Usage: platform-auth <command> [options]",
    "",
    ...columns(commands, 1),
    "",
    "Options of all commands:",
    ...columns(Object.entries(common).map(optionRow), 3),
    "  --help, --version",
    "",
    "Exit status: 0 ok, 1 failed, 2 wrong usage, 3 a login is needed.",
    "Settings come from the .env, which platform-auth init writes, and from the",
    "environment.",
  ].join("\n");
}

/** What `--help` behind a command prints. */
export function helpOf(name: string, command: Command): string {
  const { description, options, examples } = command;
  const start = `Usage: platform-auth ${name} `;
  const rows = Object.entries(options).map(optionRow);
  return [
    description,
    "",
    `${start}${usageOf(command, start)}`,
    "",
    ...(rows.length > 0 ? [...columns(rows, 3), ""] : []),
    examples.length > 1 ? "Examples:" : "Example:",
    ...examples.map((example) => `  ${example}`),
  ].join("\n");
}

/** Longer lines would break in many terminals. */
const WIDTH = 80;

/** Paragraphs and points of a document, in lines that fit. */
export function reflowed(text: string): string {
  const whole = text.replace(/(?<=[^\n])\n *(?=[^\s-]|-\S)/g, " ");
  return whole.split("\n")
    .map((paragraph) => wrapped(paragraph, paragraph.startsWith("- ") ? "  " : "", WIDTH))
    .join("\n");
}

/**
 * What may stand behind the name of a command.
 *
 * @param start What stands before it on the line.
 */
function usageOf({ word, options, either = [] }: Command, start: string): string {
  const words = word === undefined ? [] : [word.required ? `<${word.name}>` : `[${word.name}]`];
  const { json = COMMON.json, ...own } = options;
  const all: Options = { ...own, json };
  const usage = (name: string) => `--${name}${valueOf(all[name])}`;
  const alternatives = new Set(either.map(([, other]) => other));
  const parts = Object.keys(all).filter((name) => !alternatives.has(name)).map((name) => {
    const others = either.filter(([one]) => one === name).map(([, other]) => other);
    return `[${[name, ...others].map(usage).join(" | ")}]`;
  });
  const whole = [...words, ...parts].join(" ");
  return start.length + whole.length <= WIDTH ? whole : [...words, "[options]"].join(" ");
}

function optionRow([name, option]: [string, Option]): [string, string] {
  const letter = option.short === undefined ? "" : `-${option.short}, `;
  return [`${letter}--${name}${valueOf(option)}`, option.help];
}

function valueOf(option: Option | undefined): string {
  return option?.value === undefined ? "" : ` ${option.value}`;
}

/** Two columns with a gap between them. */
export function columns(rows: readonly (readonly [string, string])[], gap: number): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + gap;
  return rows.map(([left, right]) =>
    `  ${left.padEnd(width)}${right.replaceAll("\n", `\n  ${"".padEnd(width)}`)}`
  );
}
