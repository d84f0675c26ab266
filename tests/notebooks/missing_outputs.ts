/** Finds code cells that end in a value, though the notebook file has no output for them. */

import ts from "typescript";
import { codeCells, type Notebook } from "./nbformat.ts";

// These print or display by themselves, or give nothing.
const EFFECT = /^(?:console|Deno\.jupyter)\./;

/**
 * Numbers of the cells (1 for the first code cell) that should show a value and do not.
 *
 * A call may give nothing, so one that ends in `;` counts as made for its effect; whether it
 * really shows nothing is what running the notebook tells.
 */
export function missingOutputs(notebook: Notebook): number[] {
  return codeCells(notebook)
    .filter(({ cell }) => cell.outputs.length === 0 && endsInValue(cell.source))
    .map(({ number }) => number);
}

/** Whether the last statement is an expression that is there to be seen. */
export function endsInValue(source: string): boolean {
  const file = ts.createSourceFile("cell.ts", source, ts.ScriptTarget.Latest);
  const last = file.statements.at(-1);
  if (last === undefined || !ts.isExpressionStatement(last)) return false;
  const value = meaningOf(last.expression);
  if (ts.isVoidExpression(value) || ts.isDeleteExpression(value) || isChange(value)) return false;
  if (!ts.isCallExpression(value)) return true;
  return !last.getText(file).endsWith(";") && !EFFECT.test(value.expression.getText(file));
}

/** The expression without `await`, parentheses and type words. */
function meaningOf(expression: ts.Expression): ts.Expression {
  const wrapped = ts.isAwaitExpression(expression) || ts.isParenthesizedExpression(expression) ||
    ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression) ||
    ts.isNonNullExpression(expression);
  return wrapped ? meaningOf(expression.expression) : expression;
}

function isChange(expression: ts.Expression): boolean {
  if (ts.isPostfixUnaryExpression(expression)) return true;
  if (ts.isPrefixUnaryExpression(expression)) {
    return expression.operator === ts.SyntaxKind.PlusPlusToken ||
      expression.operator === ts.SyntaxKind.MinusMinusToken;
  }
  if (!ts.isBinaryExpression(expression)) return false;
  const operator = expression.operatorToken.kind;
  return operator >= ts.SyntaxKind.FirstAssignment && operator <= ts.SyntaxKind.LastAssignment;
}
