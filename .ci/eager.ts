/**
 * Makes the functions of a login compile at import.
 *
 * V8 compiles a function at its first call, unless it stands in parentheses: those it compiles with the
 * file, so that Deno keeps them compiled in its cache. A login runs some four hundred functions, each
 * for the first time.
 */
import type { Metafile } from "esbuild";
import ts from "typescript";

/** What starts and logs in. What only others load on demand would make the first import longer for nothing. */
const ROOTS = ["mod.ts", "src/session/login.ts", "src/provider/checks.ts", "src/platform/git.ts"];

/**
 * Puts functions in parentheses: those at the top level, the bodies of the bundled modules, and those
 * that are arguments or values. Methods and what stands inside functions cannot be, and stay as they are.
 *
 * @param text What esbuild wrote without minification: a comment names each module.
 */
export function eager(text: string, { inputs }: Metafile): string {
  const loaded = new Set(ROOTS);
  for (const module of loaded) {
    for (const { kind, path } of inputs[module]?.imports ?? []) {
      if (kind === "import-statement") loaded.add(path);
    }
  }
  const bundle = ts.createSourceFile("bundle.js", text, ts.ScriptTarget.Latest, true);
  const edits: { from: number; to: number; by: string }[] = [];
  const put = (from: number, by: string, to = from) => edits.push({ from, to, by });

  function visit(node: ts.Node): void {
    const start = node.getStart();
    if (ts.isFunctionDeclaration(node) && node.parent === bundle && node.name) {
      // Unlike a declaration it is not there before its line: nothing at the top level calls one earlier.
      put(start, `var ${node.name.text} = (`);
      put(node.name.pos, "", node.name.end);
      put(node.end, ");");
    } else if (ts.isMethodDeclaration(node) && ts.isStringLiteral(node.name)) {
      put(node.name.end, ": (function");
      put(node.end, ")");
    } else if (ts.isFunctionExpression(node) || ts.isArrowFunction(node) && !node.modifiers) {
      // Of arrow functions only those that are not async: V8 does not look at the others.
      put(start, "(");
      put(node.end, ")");
    }
    ts.forEachChild(node, visit);
  }

  let module = "";
  for (const statement of bundle.statements) {
    const comments = text.slice(statement.pos, statement.getStart());
    const names = comments.match(/(?<=^\/\/ )\S+$/gm) ?? [];
    module = names.findLast((name) => name in inputs) ?? module;
    if (loaded.has(module)) visit(statement);
  }
  edits.sort((a, b) => a.from - b.from);
  let result = "";
  let at = 0;
  for (const { from, to, by } of edits) {
    result += text.slice(at, from) + by;
    at = to;
  }
  return result + text.slice(at);
}
