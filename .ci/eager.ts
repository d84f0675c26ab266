/**
 * Makes the functions of a login compile at import.
 *
 * V8 compiles a function at its first call, unless it is in parentheses: then it compiles the function
 * with the file, and Deno's cache keeps the result. A login runs some four hundred functions, each for
 * the first time.
 */
import type { Metafile } from "esbuild";
import ts from "typescript";

/** The modules of a start and a login. Others would only make the first import slower. */
const ROOTS = ["mod.ts", "src/session/login.ts", "src/provider/checks.ts"];

/** Loaded with them, but run only for an error, a prompt, a card, a refresh or a further step. */
const RARE = [
  ...["src/errors/", "src/show/", "src/session/challenges/"],
  ...["src/session/refresh.ts", "src/session/logout.ts", "src/session/plan.ts"],
  ...["src/provider/answer_challenge.ts", "src/provider/challenges.ts"],
  ...["src/provider/read_refusal.ts", "src/provider/refusal_error.ts", "src/provider/refusals.ts"],
  ...["src/platform/prompt.ts", "src/platform/live_line.ts"],
  ...["src/api/network_error.ts", "src/api/redirects.ts", "src/settings/permissions.ts"],
];

/**
 * Puts functions in parentheses: those at the top level, the bodies of the bundled modules, and those
 * that are arguments or values. Methods cannot be put in parentheses.
 *
 * @param text The output of esbuild without minification, in which a comment names each module.
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

  const converted = new Map<string, ts.FunctionDeclaration>();

  function visit(node: ts.Node): void {
    const start = node.getStart();
    if (ts.isFunctionDeclaration(node) && node.parent === bundle && node.name) {
      // Unlike a declaration, it is undefined before its line.
      converted.set(node.name.text, node);
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
    if (loaded.has(module) && !RARE.some((each) => module.startsWith(each))) visit(statement);
  }
  refuseEarlyUse(bundle, converted);
  edits.sort((a, b) => a.from - b.from);
  let result = "";
  let at = 0;
  for (const { from, to, by } of edits) {
    result += text.slice(at, from) + by;
    at = to;
  }
  return result + text.slice(at);
}

/**
 * Fails if code that runs at import uses one of these functions before its line, itself or in a function
 * that it calls.
 */
function refuseEarlyUse(
  bundle: ts.SourceFile,
  converted: ReadonlyMap<string, ts.FunctionDeclaration>,
): void {
  for (const statement of bundle.statements) {
    if (ts.isFunctionDeclaration(statement)) continue;
    const called = new Set<ts.FunctionDeclaration>();
    const run = (node: ts.Node): void => {
      // What runs later.
      if (ts.isFunctionLike(node)) return;
      if (ts.isPropertyDeclaration(node) && !ts.getModifiers(node)?.some(isStatic)) return;
      if (ts.isIdentifier(node) && !isMemberName(node)) {
        const used = converted.get(node.text);
        if (used && used.pos > statement.pos) {
          throw new Error(
            `Cannot build: code that runs at import uses ${node.text}() before its line; move the ` +
              `function up (${statement.getText().slice(0, 60)}…)`,
          );
        }
      }
      if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
        const callee = converted.get(node.expression.text);
        if (callee?.body && !called.has(callee)) {
          called.add(callee);
          ts.forEachChild(callee.body, run);
        }
      }
      ts.forEachChild(node, run);
    };
    run(statement);
  }
}

function isStatic({ kind }: ts.Modifier): boolean {
  return kind === ts.SyntaxKind.StaticKeyword;
}

/** Whether an identifier is the name of a member, not a reference. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  return (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent) ||
    ts.isPropertyDeclaration(parent)) && parent.name === node;
}
