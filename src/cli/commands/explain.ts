import { defineCommand } from "../command.ts";
import { OK, print, printJson, UsageError } from "../output.ts";
import { closest } from "../../values/wording.ts";

export const command = defineCommand({
  summary: "what an error code means, and what to do",
  description:
    "Explains an error code: symptom, cause and fix. Works offline. Without a code it lists them all.",
  word: { name: "code" },
  options: {},
  examples: ["platform-auth explain INVALID_CREDENTIALS"],
  async run({ word, json }) {
    await explain(word, json);
    return OK;
  },
});

/** Prints the section of an error code, or without one all codes. Needs no network: the text is a file of this module. */
async function explain(code: string | undefined, json: boolean): Promise<void> {
  const { default: text } = await import("../../../docs/troubleshooting.md", {
    with: { type: "text" },
  });
  const sections = sectionsOf(text);
  const codes = [...sections.keys()];
  if (code === undefined) return json ? await printJson({ codes }) : await print(codes.join("\n"));
  const wanted = code.toUpperCase().replaceAll("-", "_");
  const section = sections.get(wanted);
  if (section === undefined) {
    const meant = closest(wanted, codes);
    const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
    throw new UsageError(`There is no such code${hint}`, "all codes: platform-auth explain");
  }
  await (json ? printJson({ code: wanted, text: section }) : print(`${wanted}\n\n${section}`));
}

/** The sections whose heading is a code, as plain text. */
function sectionsOf(markdown: string): Map<string, string> {
  const found = [...markdown.matchAll(/^## ([A-Z_]+)\n+([^]*?)(?=^#|$(?![^]))/gm)];
  return new Map(found.map(([, code = "", text = ""]) => [code, plain(text)]));
}

/** Without the marks of links and bold words. */
function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("**", "").trim();
}
