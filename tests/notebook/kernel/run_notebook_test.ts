import { assertEquals, assertMatch } from "@std/assert";
import { inFolder } from "../../support/child_deno.ts";
import { withEnvironment } from "../../support/environment.ts";
import { type Notebook, writeNotebook } from "./notebook.ts";
import { code, notebookOf, printed, someToken, thrown, value } from "./notebook_builders.ts";
import { kernelTest } from "./kernel.ts";
import { runNotebook } from "./run_notebook.ts";
import { formatReport } from "./run_notebooks.ts";

function inFile(cells: Notebook["cells"], use: (path: string) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const path = `${folder}/01_small.ipynb`;
    await writeNotebook(path, notebookOf(...cells));
    await use(path);
  });
}

const UNSTABLE = ["unstable-output"];
const RANDOM = "console.log(Math.random());";
const RANGE_ERROR = "throw new RangeError('no such station')";
const value1 = value({ "text/plain": "1" });
const cardData = (html: string) => ({ "text/html": html, "text/plain": "a card" });
const card = (html: string) => value(cardData(html));
const showing = (html: string) =>
  `({ [Symbol.for("Jupyter.display")]: () => (${JSON.stringify(cardData(html))}) })`;

/** Cells, and the problem that the run reports if the output differs from the file. */
const CELLS: [cell: Notebook["cells"][number], problem?: RegExp][] = [
  [code("const rows = [1, 2];\nconsole.log('one');\nrows;", [
    printed("one\n"),
    value({ "text/plain": "[ \u001b[33m1\u001b[39m, \u001b[33m2\u001b[39m ]" }),
  ])],
  [code("rows;"), /^shows execute_result \(text\/plain\), the file has nothing/],
  [code("const more = 2;", [printed("2 rows\n")]), /^shows nothing, the file has stdout/],
  [
    code("console.log('3 rows');", [printed("2 rows\n")]),
    /^shows another text[^]*2 rows[^]*3 rows/,
  ],
  [code(RANDOM, [printed("0.5\n")], UNSTABLE)],
  [code(
    "console.log('12 rows, 1.5 MB in 2 min, until 10:00');",
    [printed("8 rows, 50 bytes in under 1 s, until 2026-01-15T09:30:00.000Z\n")],
    UNSTABLE,
  )],
  [
    code("console.log('valid for 30 min');", [printed("good for 30 min\n")], UNSTABLE),
    /^shows another text[^]*good for[^]*valid for/,
  ],
  [code(showing("<b>valid</b> for 30 min"), [card("<i>valid</i> for 20 s")], UNSTABLE)],
  [code(showing("<b>1 row</b>"), [card("<i>1</i> row")])],
  [code(showing("<b>1 row</b>"), [card("<b>2 rows</b>")]), /^shows another text/],
  [code(RANGE_ERROR, [thrown("RangeError", "no such station")], ["raises-exception"])],
  [code(RANGE_ERROR, [thrown("RangeError", "other")], ["raises-exception"]), /^shows another text/],
  // The settings of the person who runs it do not reach the notebook.
  [code("Deno.env.has('APP_CLIENT_SECRET');", [value({ "text/plain": "false" })])],
  [code("1;", [value1], ["raises-exception"]), /^is tagged raises-exception and did not fail/],
];

kernelTest("runNotebook() reports each cell whose output differs from its file", async () => {
  await withEnvironment({ APP_CLIENT_SECRET: "not for notebooks" }, async () => {
    await inFile(CELLS.map(([cell]) => cell), async (path) => {
      const { problems } = await runNotebook(path);
      const wanted = CELLS.flatMap(([, problem], at) => problem ? [{ cell: at + 1, problem }] : []);
      const numbers = problems.map(({ cell }) => cell ?? 0).sort((a, b) => a - b);
      assertEquals(numbers, wanted.map(({ cell }) => cell));
      for (const { cell, problem } of wanted) {
        assertMatch(problems.find((it) => it.cell === cell)?.message ?? "", problem);
      }
    });
  });
});

kernelTest("runNotebook() with update does not save an output that contains a token", async () => {
  const token = someToken();
  const half = token.length / 2;
  const source = `console.log("${token.slice(0, half)}" +\n  "${token.slice(half)}");`;
  await inFile([code(source)], async (path) => {
    const report = await runNotebook(path, { update: true });
    assertEquals(report.updated, false);
    const shown = formatReport(report);
    assertMatch(shown, /^FAILED 01_small\.ipynb 1 cells \d+\.\d s$/m);
    assertMatch(shown, /cell 1 of the file, output 1: a token \(eyJ…\) of \d+ characters/);
    assertEquals(shown.includes(token.slice(0, half)), false);
  });
});
