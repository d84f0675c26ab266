import { defineCommand } from "../command.ts";
import { OK, print, printJson, UsageError } from "../output.ts";
import { columns, reflowed } from "../help.ts";
import { closest } from "../../errors/closest.ts";

export const command = defineCommand({
  summary: "what an error code means, and what to do",
  synonyms: ["why", "error", "errors", "codes"],
  description: `Explains an error code or an HTTP status of the API: symptom, cause and fix.
Works offline. Without a code it lists them all.`,
  word: { name: "code" },
  options: {},
  examples: ["platform-auth explain INVALID_CREDENTIALS", "platform-auth explain 404"],
  async run({ word, json }) {
    await explain(word, json);
    return OK;
  },
});

/**
 * Prints the section of an error code, or without one all codes. Needs no network: the text is a file
 * of this module.
 */
async function explain(code: string | undefined, json: boolean): Promise<void> {
  const { default: text } = await import("../../../docs/troubleshooting.md", {
    with: { type: "text" },
  });
  const sections = sectionsOf(text);
  if (code === undefined) return await list(sections, json);
  const wanted = code.toUpperCase().replaceAll("-", "_");
  const section = sections.get(wanted);
  if (section === undefined) {
    const meant = closest(wanted, [...sections.keys()]);
    const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
    throw new UsageError(`There is no such code${hint}`, "all codes: platform-auth explain");
  }
  await (json
    ? printJson({ code: wanted, text: section })
    : print(`${wanted}\n\n${reflowed(section)}`));
}

async function list(sections: ReadonlyMap<string, string>, json: boolean): Promise<void> {
  const isStatus = (name: string) => /^\d/.test(name);
  const meanings = [...sections].filter(([name]) => !isStatus(name))
    .map(([name, text]) => [name, phraseOf(text)] as const);
  const codes = meanings.map(([name]) => name);
  if (json) return await printJson({ codes, meanings: Object.fromEntries(meanings) });
  const statuses = [...sections.keys()].filter(isStatus).join(", ");
  const lines = [...columns(meanings, 1), "", "  HTTP statuses of the API:", `  ${statuses}`];
  await print(lines.join("\n"));
}

/** The sections whose heading is a code or an HTTP status, as plain text. */
function sectionsOf(markdown: string): Map<string, string> {
  const found = [...markdown.matchAll(/^## ([A-Z_]+|\d{3})\n+([^]*?)(?=^#|$(?![^]))/gm)];
  return new Map(found.map(([, code = "", text = ""]) => [code, plain(text)]));
}

/** The line above the list of symptom, cause and fix. */
function phraseOf(text: string): string {
  const [line = ""] = text.split("\n");
  return line.startsWith("- ") ? "" : line;
}

/** Without the marks of links and bold words. */
function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("**", "").trim();
}
