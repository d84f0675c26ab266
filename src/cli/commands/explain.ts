import { columns } from "../help.ts";
import type { Answer, Given } from "../command.ts";
import { UsageError } from "../output.ts";
import { NOTICES } from "../../session/notices.ts";

/**
 * Explains a code, or lists all codes. The text is part of this module, so that the command works
 * offline.
 */
export async function run({ word }: Given): Promise<Answer> {
  const { default: page } = await import("../../../docs/troubleshooting.md", {
    with: { type: "text" },
  });
  const texts = new Map([...sectionsOf(page), ...noticeTexts()]);
  if (word === undefined) return listOf(texts);
  const code = word.toUpperCase().replaceAll("-", "_");
  const text = texts.get(code) ?? (/^[345]\d\d$/.test(code) ? texts.get("API_STATUS") : undefined);
  if (text !== undefined) return { value: { code, text }, text: `${code}\n\n${text}` };
  throw new UsageError("There is no such code", "run platform-auth explain to list all codes");
}

function listOf(texts: ReadonlyMap<string, string>): Answer {
  const meanings = [...texts].map(([code, text]) => {
    const [firstSentence = ""] = text.split(/(?<=\.)\s/);
    return [code, firstSentence] as const;
  });
  return { value: Object.fromEntries(meanings), text: columns(meanings, 1).join("\n") };
}

/** The text of each notice: its meaning and, if something can be done, the fix. */
function noticeTexts(): [code: string, text: string][] {
  return Object.entries(NOTICES).map(([code, { meaning, fix }]) => [
    code,
    fix === undefined ? meaning : `${meaning}\n\n- Fix. ${fix}`,
  ]);
}

/**
 * Returns the sections whose heading is a code or an HTTP status, as plain text with one line per
 * paragraph.
 */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const found = [...page.matchAll(/^## ([A-Z_]+|\d{3})\n+([^]*?)(?=^#|$(?![^]))/gm)];
  return new Map(found.map(([, code = "", text = ""]) => [code, plain(text)]));
}

function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("**", "").trim()
    .replace(/(?<=[^\n])\n *(?=[^\s-]|-\S)/g, " ");
}
