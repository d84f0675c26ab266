/**
 * The exercises of the notebooks, on a real kernel: each says "your turn" as it is stored, takes its
 * own solution, and answers each wrong answer with the hint for it.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename } from "node:path";
import type { Exercise } from "../../notebooks/exercises/check.ts";
import { code } from "./notebook_builders.ts";
import { type CodeCell, describeOutputs, type Notebook, readNotebook } from "./notebook.ts";
import { listNotebooks } from "./main.ts";
import { runCells } from "./run_notebook.ts";

const TURN = "// Your turn";
const ANSWER = /(?<==>? )undefined\b/;

/** A cell to run, and the words that it must show. */
interface Step {
  cell: CodeCell;
  says?: string;
}

/** The name that the cell gives to `check()`. */
function nameIn({ source }: CodeCell): string {
  return /\bcheck\("([\w-]+)"/.exec(source)?.[1] ?? "";
}

/** The code of the solution that is folded below an exercise. */
function solutionIn(markdown: string): string {
  return /<details>[^]*?```ts\n([^]*?)```[^]*?<\/details>/.exec(markdown)?.[1]?.trim() ?? "";
}

/** All code of a notebook in order; behind each exercise its wrong answers and its solution. */
function stepsOf(notebook: Notebook, exercises: Readonly<Record<string, Exercise>>): Step[] {
  return notebook.cells.flatMap((cell, index): Step[] => {
    if (cell.cell_type !== "code" || cell.source.trim() === "") return [];
    if (!cell.source.startsWith(TURN)) return [{ cell }];
    const name = nameIn(cell);
    const exercise = exercises[name];
    if (exercise === undefined) throw new Error(`no exercise has the name "${name}"`);
    assert(ANSWER.test(cell.source), `${name} has no undefined to put an answer in place of`);
    const solution = solutionIn(notebook.cells[index + 1]?.source ?? "");
    assert(solution, `${name} has no solution in <details> in the cell below it`);
    const withAnswer = (answer: string) => code(cell.source.replace(ANSWER, () => answer));
    return [
      { cell, says: `… Your turn. ${exercise.hint}` },
      ...(exercise.hints ?? []).map(({ example, say }) => ({
        cell: withAnswer(example),
        says: `✗ Not yet. ${say}`,
      })),
      {
        cell: solution.includes("check(") ? code(solution) : withAnswer(solution),
        says: `✓ Right. ${exercise.because}`,
      },
    ];
  });
}

/** The text without the line breaks that a cell gets for its width. */
function unwrapped(text: string): string {
  return text.replace(/\s+/g, " ");
}

async function assertSteps(steps: readonly Step[], path: string): Promise<void> {
  const cells = steps.map(({ cell }, index) => ({ number: index + 1, cell }));
  const { results, problems } = await runCells(cells, path);
  assertEquals(problems, []);
  for (const { number, cell } of cells) {
    const { says } = steps[number - 1] ?? {};
    if (says === undefined) continue;
    const shown = describeOutputs(results.get(number)?.outputs ?? []);
    assertStringIncludes(unwrapped(shown), unwrapped(says), cell.source);
  }
}

Deno.test("every exercise takes its solution, and answers wrong answers", async (t) => {
  const folder = new URL("../../notebooks/exercises/", import.meta.url);
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name);
  for (const path of await listNotebooks()) {
    const file = files.find((name) => name === `${basename(path).slice(0, 2)}.ts`);
    if (file === undefined) continue;
    await t.step(basename(path), async () => {
      const { exercises } = await import(new URL(file, folder).href);
      const steps = stepsOf(await readNotebook(path), exercises);
      const asked = steps.filter(({ cell }) => cell.source.startsWith(TURN)).map(({ cell }) =>
        nameIn(cell)
      );
      assertEquals([...new Set(asked)].sort(), Object.keys(exercises).sort());
      await assertSteps(steps, path);
    });
  }
});
