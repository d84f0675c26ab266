import { assertEquals, assertMatch } from "@std/assert";
import { inFolder } from "../../support/child_deno.ts";
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
const RANGE_ERROR = "throw new RangeError('no such station')";
const cardData = (html: string) => ({ "text/html": html, "text/plain": "a card" });
const card = (html: string) => value(cardData(html));
const showing = (html: string) =>
  `({ [Symbol.for("Jupyter.display")]: () => (${JSON.stringify(cardData(html))}) })`;

/** Cells that show the output of the file. */
const SAME = [
  code("console.log('one');\n[1, 2];", [
    printed("one\n"),
    value({ "text/plain": "[ \u001b[33m1\u001b[39m, \u001b[33m2\u001b[39m ]" }),
  ]),
  code(
    "console.log('12 rows, 1.5 MB in 2 min, until 10:00');",
    [printed("8 rows, 50 bytes in under 1 s, until 2026-01-15T09:30:00.000Z\n")],
    UNSTABLE,
  ),
  code(showing("<b>valid</b> for 30 min"), [card("<i>valid</i> for 20 s")], UNSTABLE),
  code(showing("<b>1 row</b>"), [card("<i>1</i> row")]),
  code(RANGE_ERROR, [thrown("RangeError", "no such station")], MAY_FAIL),
];

/** Cells to report. */
const OTHERS = [
  code("[1, 2];"),
  code("const more = 2;", [printed("2 rows\n")]),
  code("console.log('3 rows');", [printed("2 rows\n")]),
  code("console.log('valid for 30 min');", [printed("good for 30 min\n")], UNSTABLE),
  code(showing("<b>1 row</b>"), [card("<b>2 rows</b>")]),
  code(RANGE_ERROR, [thrown("RangeError", "other")], MAY_FAIL),
  // A cell that fails or should fail ends the run.
  code("1;", [], MAY_FAIL),
];

kernelTest(
  "runNotebook() reports each cell whose output differs from its file",
  () =>
    inFile([...SAME, ...OTHERS], async (path) => {
      const { problems } = await runNotebook(path);
      assertMatch(problems[0] ?? "", /is tagged raises-exception and did not fail/);
      const found = problems.map((problem) => Number(/^cell \[(\d+)\]/.exec(problem)?.[1]));
      assertEquals(found.sort((a, b) => a - b), OTHERS.map((_, at) => SAME.length + at + 1));
    }),
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
