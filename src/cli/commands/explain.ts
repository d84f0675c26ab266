import { columns } from "../help.ts";
import type { Answer, Given } from "../command.ts";
import { UsageError } from "../output.ts";
import { closest } from "../../errors/closest.ts";
import { wrapped } from "../../errors/lines.ts";
import { NOTICES } from "../../session/notices.ts";

/** The section of a code, or the list of all codes. The text is a file of this module. */
export async function run({ word }: Given): Promise<Answer> {
  const { default: page } = await import("../../../docs/troubleshooting.md", {
    with: { type: "text" },
  });
  const sections = sectionsOf(page);
  if (word === undefined) return listOf(sections);
  const code = word.toUpperCase().replaceAll("-", "_");
  const text = sections.get(code) ?? MEANINGS.get(code);
  if (text !== undefined) return { value: { code, text }, text: `${code}\n\n${reflowed(text)}` };
  const meant = closest(code, [...sections.keys(), ...MEANINGS.keys()]);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  throw new UsageError(`There is no such code${hint}`, "all codes: platform-auth explain");
}

/** What the notices of a status mean. */
const MEANINGS = new Map<string, string>(
  Object.entries(NOTICES).map(([code, { meaning }]) => [code, meaning]),
);

function listOf(sections: ReadonlyMap<string, string>): Answer {
  const isStatus = (name: string) => /^\d/.test(name);
  const meanings = [...sections].filter(([name]) => !isStatus(name))
    .map(([name, text]) => [name, phraseOf(text)] as const);
  const statuses = [...sections.keys()].filter(isStatus);
  const text = [
    ...columns(meanings, 1),
    ...["", "  HTTP statuses of the API:", `  ${statuses.join(", ")}`],
    ...["", "  Notices:", wrapped(`  ${[...MEANINGS.keys()].join(", ")}`, "  ", WIDTH)],
  ].join("\n");
  const codes = meanings.map(([name]) => name);
  const value = {
    codes,
    meanings: Object.fromEntries(meanings),
    notices: Object.fromEntries(MEANINGS),
  };
  return { value, text };
}

/** The sections whose heading is a code or an HTTP status. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const found = [...page.matchAll(/^## ([A-Z_]+|\d{3})\n+([^]*?)(?=^#|$(?![^]))/gm)];
  return new Map(found.map(([, code = "", text = ""]) => [code, plain(text)]));
}

/** The line above the list of symptom, cause and fix. */
function phraseOf(text: string): string {
  const [line = ""] = text.split("\n");
  return line.startsWith("- ") ? "" : line;
}

/** Without the markup of links and bold words. */
function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("**", "").trim();
}

/** Longer lines would break in many terminals. */
const WIDTH = 80;

/** Paragraphs and list items, each in lines that fit. */
function reflowed(text: string): string {
  const whole = text.replace(/(?<=[^\n])\n *(?=[^\s-]|-\S)/g, " ");
  return whole.split("\n")
    .map((paragraph) => wrapped(paragraph, paragraph.startsWith("- ") ? "  " : "", WIDTH))
    .join("\n");
}
