/** Sentences are for people: no code decides by the words of a problem, a fix, a message or a warning. */
import { assert, assertEquals } from "@std/assert";
import ts from "typescript";

const ROOT = new URL("../src/", import.meta.url);

/** Names of what contains a sentence. */
const SENTENCE = /^(problem|fix|message|warnings?|sentence)$/;

/** Calls that compare a text with another one: the text is their object or, with a pattern, their argument. */
const COMPARES = /^(includes|startsWith|endsWith|match|matchAll|indexOf|lastIndexOf|search)$/;
const MATCHES = /^(test|exec)$/;

/** Files that read messages of other systems, which have no code for what these say. */
const READERS: readonly string[] = [
  // The identity provider, a Redis server, the operating system, and the runtime's lock file.
  "provider/refusals.ts",
  "session/redis/connection.ts",
  "platform/replace_file.ts",
  "errors/cause.ts",
  "platform/packages.ts",
];

function isSentence(node: ts.Node | undefined): boolean {
  if (node === undefined) return false;
  if (ts.isPropertyAccessExpression(node)) return SENTENCE.test(node.name.text);
  if (ts.isIdentifier(node)) return SENTENCE.test(node.text);
  if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node)) {
    return isSentence(node.expression);
  }
  if (ts.isBinaryExpression(node)) return isSentence(node.left);
  // As in `message.toLowerCase().includes(…)`.
  return ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) &&
    isSentence(node.expression.expression);
}

/** Whether a node compares a sentence with a text. */
function comparesSentence(node: ts.Node): boolean {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    if (COMPARES.test(name.text)) return isSentence(expression);
    return MATCHES.test(name.text) && isSentence(node.arguments[0]);
  }
  if (ts.isSwitchStatement(node)) return isSentence(node.expression);
  if (!ts.isBinaryExpression(node)) return false;
  const isText = (side: ts.Expression) => ts.isStringLiteralLike(side) && side.text !== "";
  const { left, right, operatorToken } = node;
  return /^[!=]==?$/.test(operatorToken.getText()) &&
    ((isText(left) && isSentence(right)) || (isText(right) && isSentence(left)));
}

/** The comparisons in a source. */
function comparisonsIn(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (comparesSentence(node)) found.push(`${path}: ${node.getText(source).replace(/\s+/g, " ")}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function sourcesIn(folder: URL): URL[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? sourcesIn(new URL(`${name}/`, folder))
      : name.endsWith(".ts")
      ? [new URL(name, folder)]
      : []
  );
}

Deno.test("no program reads a sentence", () => {
  const found = sourcesIn(ROOT).map((url) => [url.href.slice(ROOT.href.length), url] as const)
    .filter(([path]) => !/^(sandbox|demo)\//.test(path))
    .flatMap(([path, url]) => comparisonsIn(path, Deno.readTextFileSync(url)));
  const byReaders = (line: string) => READERS.some((path) => line.startsWith(path));
  assertEquals(found.filter((line) => !byReaders(line)), []);
  for (const path of READERS) assert(found.some((line) => line.startsWith(path)), path);
});

Deno.test("a program that reads a sentence is found", () => {
  const planted = [
    'if (error.message.startsWith("Cannot")) {}',
    'const isThere = notice.problem === "The file exists";',
    "/no session/i.test(check.fix ?? '')",
    'status.warnings.join().toLowerCase().includes("git")',
    'switch (problem) { case "busy": }',
  ];
  for (const line of planted) assertEquals(comparisonsIn("a.ts", line).length, 1, line);
  assertEquals(comparisonsIn("a.ts", 'if (fix === "" || error.code === "FILE") {}'), []);
});
