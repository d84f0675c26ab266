/**
 * The text that people read: comments, messages, documents and notebooks. Phrases that made readers
 * read a sentence twice stay out.
 */
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { DOCUMENTS } from "../support/documented_flags.ts";
import { listNotebooks } from "../notebooks/main.ts";
import { readNotebook } from "../notebooks/notebook.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A phrase to avoid, and what a native writer would use. */
const HABITS: readonly (readonly [RegExp, instead: string])[] = [
  [/\b(?:is|are|was|were|be|been|being) told\b/i, "reports, is reported, is informed"],
  [/\bcounts? (?:no more|only from|in its place|as one)\b/i, "is used, takes effect, is valid"],
  [/\b(?:what|that|which|who) (?:is|was|are) there\b/i, "exists, existing"],
  [/\b(?:go|goes|went|gone|going) on\b/i, "continues, resumes"],
  [/(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more than\b|less\b)\w/i, "is not a"],
  [/\bwhoever\b/i, "anyone who, the caller that"],
  [/\b(?:nobody|somebody)\b/i, "no one, a person, another process; or name it"],
  [/\bbeside\b/i, "next to, in addition to, compared with"],
  [/\banew\b/i, "again"],
  [/\bgood (?:token|session|access|until|for)\b/i, "valid"],
  [/\b(?:stands|stood) (?:in|for|there|behind|before|above|below|on)\b/i, "is"],
  [/\bno more\b(?! than)/i, "no longer"],
  [/\bin (?:the )?place of\b/i, "instead of"],
  [/^(?:How (?:long|many|much|often)|Whether they)\b/, "a noun: the number, the time limit"],
  [/(?:^|[.;:] )Where (?:a|an|the|no|it|there|nothing|one|this|these|its)\b[^.;:]*, /, "If, When"],
  [/\btokens? (?:has|have|had) ended\b|\bended tokens?\b/i, "expired"],
  [/\bfor want of\b/i, "because … is missing"],
  [/\bof (?:one's|its|their) own accord\b/i, "by itself"],
];

/** Places where such a phrase is right. */
const RIGHT: readonly string[] = [
  "How much colder is it",
  "why nobody can change it unnoticed",
  "but nobody can change them unnoticed",
  "so that nobody can find out who has an account",
  "If no more e-mails are sent today",
];

interface Text {
  readonly place: string;
  readonly text: string;
}

function* filesIn(folder: string, ending: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(`${ROOT}${folder}`)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesIn(path, ending);
    else if (name.endsWith(ending)) yield path;
  }
}

/** The comments of a file, and its strings of several words. */
function textsOf(path: string): Text[] {
  const code = Deno.readTextFileSync(`${ROOT}${path}`);
  const source = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true);
  const found = new Map<number, string>();
  const tidy = (comment: string) => comment.replace(/^\/\*+|\*\/$|^\s*\*+ ?|^\/\/+/gm, "");
  const visit = (node: ts.Node) => {
    const start = node.getFullStart();
    const comments = [
      ...ts.getLeadingCommentRanges(code, start) ?? [],
      ...ts.getTrailingCommentRanges(code, node.getEnd()) ?? [],
    ];
    for (const { pos, end } of comments) found.set(pos, tidy(code.slice(pos, end)));
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      const text = node.getText(source);
      if (/\w \w+ \w/.test(text)) found.set(node.getStart(source), text.slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...found].map(([at, text]) => ({
    place: `${path}:${source.getLineAndCharacterOfPosition(at).line + 1}`,
    text,
  }));
}

function prose(place: string, markdown: string): Text[] {
  return markdown.replace(/^```[^]*?^```$/gm, "").split(/\n{2,}/).map((text) => ({ place, text }));
}

async function allTexts(): Promise<Text[]> {
  const documents = [...DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md"].flatMap((path) =>
    prose(path, Deno.readTextFileSync(`${ROOT}${path}`))
  );
  const code = [...filesIn("src", ".ts"), "mod.ts"].flatMap(textsOf);
  const notebooks = await Promise.all((await listNotebooks()).map(async (path) => {
    const { cells } = await readNotebook(path);
    return cells.flatMap((cell) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      if (cell.cell_type === "markdown") return prose(name, cell.source);
      return [...cell.source.matchAll(/\/\/ (.*)/g)].map(([, text = ""]) => ({
        place: name,
        text,
      }));
    });
  }));
  return [...documents, ...code, ...notebooks.flat()]
    .map(({ place, text }) => ({ place, text: text.replace(/\s+/g, " ").trim() }));
}

function habitsIn(texts: readonly Text[]): string[] {
  return texts.flatMap(({ place, text }) =>
    HABITS.flatMap(([habit, instead]) =>
      [...text.matchAll(new RegExp(habit, `${habit.flags}g`))].map((match) => {
        const around = text.slice(Math.max(0, match.index - 40), match.index + 50);
        return `${place}: …${around}… (${instead})`;
      })
    ).filter((found) => !RIGHT.some((right) => found.includes(right)))
  );
}

Deno.test("comments, messages, documents and notebooks avoid phrases that are read twice", async () => {
  assertEquals(habitsIn(await allTexts()), []);
  const planted = "The lock goes on; whoever waits is told.";
  assertEquals(habitsIn([{ place: "planted", text: planted }]).length, 3);
});
