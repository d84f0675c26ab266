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
const MAY_FAIL = ["raises-exception"];
const RANDOM = "console.log(Math.random());";
const RANGE_ERROR = "throw new RangeError('no such station')";
const cardData = (html: string) => ({ "text/html": html, "text/plain": "a card" });
const card = (html: string) => value(cardData(html));
const showing = (html: string) =>
  `({ [Symbol.for("Jupyter.display")]: () => (${JSON.stringify(cardData(html))}) })`;

/** Cells, and whether the run reports that their output differs from the file. */
const CELLS: [cell: Notebook["cells"][number], differs: boolean][] = [
  [
    code("const rows = [1, 2];\nconsole.log('one');\nrows;", [
      printed("one\n"),
      value({ "text/plain": "[ \u001b[33m1\u001b[39m, \u001b[33m2\u001b[39m ]" }),
    ]),
    false,
  ],
  [code("rows;"), true],
  [code("const more = 2;", [printed("2 rows\n")]), true],
  [code("console.log('3 rows');", [printed("2 rows\n")]), true],
  [code(RANDOM, [printed("0.5\n")], UNSTABLE), false],
  [
    code(
      "console.log('12 rows, 1.5 MB in 2 min, until 10:00');",
      [printed("8 rows, 50 bytes in under 1 s, until 2026-01-15T09:30:00.000Z\n")],
      UNSTABLE,
    ),
    false,
  ],
  [code("console.log('valid for 30 min');", [printed("good for 30 min\n")], UNSTABLE), true],
  [code(showing("<b>valid</b> for 30 min"), [card("<i>valid</i> for 20 s")], UNSTABLE), false],
  [code(showing("<b>1 row</b>"), [card("<i>1</i> row")]), false],
  [code(showing("<b>1 row</b>"), [card("<b>2 rows</b>")]), true],
  [code(RANGE_ERROR, [thrown("RangeError", "no such station")], MAY_FAIL), false],
  [code(RANGE_ERROR, [thrown("RangeError", "other")], MAY_FAIL), true],
  // The settings of the person who runs it do not reach the notebook.
  [code("Deno.env.has('APP_CLIENT_SECRET');", [value({ "text/plain": "false" })]), false],
  [code("1;", [], MAY_FAIL), true],
];

kernelTest(
  "runNotebook() reports each cell whose output differs from its file",
  () =>
    withEnvironment({ APP_CLIENT_SECRET: "not for notebooks" }, () =>
      inFile(
        CELLS.map(([cell]) => cell),
        async (path) => {
          const { problems } = await runNotebook(path);
          const found = problems.map((problem) => Number(/^cell \[(\d+)\]/.exec(problem)?.[1]));
          const wanted = CELLS.flatMap(([, differs], at) => differs ? [at + 1] : []);
          assertEquals(found.sort((a, b) => a - b), wanted);
          // A cell that fails or should fail ends the run.
          assertMatch(problems[0] ?? "", /is tagged raises-exception and did not fail/);
        },
      )),
);

kernelTest("runNotebook() with update does not save an output that contains a token", async () => {
  const token = someToken();
  const half = token.length / 2;
  const source = `console.log("${token.slice(0, half)}" +\n  "${token.slice(half)}");`;
  await inFile([code(source)], async (path) => {
    const report = await runNotebook(path, { update: true });
    assertEquals(report.isUpdated, false);
    const shown = formatReport(report);
    assertMatch(shown, /^FAILED 01_small\.ipynb$/m);
    assertMatch(shown, /cell 1 of the file, output 1: a token \(eyJ…\) of \d+ characters/);
    assertEquals(shown.includes(token.slice(0, half)), false);
  });
});
