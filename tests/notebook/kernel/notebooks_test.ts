import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { basename } from "node:path";
import type { Exercise } from "../../../notebooks/exercises/check.ts";
import { computeSecretHash } from "../../../mod.ts";
import { inCliWorld } from "../../support/cli_world.ts";
import { lackOfPrograms, testNeeding } from "../../support/needs.ts";
import { code } from "./notebook_builders.ts";
import { describeOutputs } from "./compare_outputs.ts";
import { kernelTest } from "./kernel.ts";
import { type CodeCell, codeCells, readNotebook } from "./notebook.ts";
import { runNotebook } from "./run_notebook.ts";
import { formatReport, listNotebooks } from "./run_notebooks.ts";

const NOTEBOOKS = new URL("../../../notebooks/", import.meta.url);
const MOST_COLUMNS = 85;
const SANDBOX_ONLY = "// sandbox only";

const ANSWER = /(?<==>? )undefined\b/;

/** An answer to an exercise, and the words that its cell must show. */
interface Step {
  readonly cell: CodeCell;
  readonly says: string;
}

/** The answers to try in an exercise. The last one is the solution, folded in the cell below. */
function stepsOf(
  { source }: CodeCell,
  below: string,
  exercises: Readonly<Record<string, Exercise>>,
): Step[] {
  const [, name = ""] = /\bcheck\("([\w-]+)"/.exec(source) ?? [];
  const exercise = exercises[name];
  if (exercise === undefined) throw new Error(`no exercise has the name "${name}"`);
  assert(ANSWER.test(source), `${name} has no undefined to replace with an answer`);
  const [, solution = ""] = /<details>[^]*?```ts\n([^]*?)\s*```[^]*?<\/details>/.exec(below) ?? [];
  assert(solution, `${name} has no solution in <details> in the cell below it`);
  const withAnswer = (answer: string) => code(source.replace(ANSWER, () => answer));
  return [
    ...(exercise.hints ?? []).map(({ example, say }) => ({
      cell: withAnswer(example),
      says: `✗ Not yet. ${say}`,
    })),
    {
      cell: solution.includes("check(") ? code(solution) : withAnswer(solution),
      says: `✓ Right. ${exercise.because}`,
    },
  ];
}

/** The text without the line breaks that fit it to the width of a cell. */
const unwrapped = (text: string): string => text.replace(/\s+/g, " ");

/** Runs a notebook with all answers to its exercises. */
async function runWithAnswers(path: string) {
  const { exercises } = await import(
    new URL(`exercises/${basename(path).slice(0, 2)}.ts`, NOTEBOOKS).href
  );
  const { cells } = await readNotebook(path);
  const steps: Step[] = [];
  const report = await runNotebook(path, {
    further(cell, index) {
      if (!cell.source.startsWith("// Your turn")) return [];
      const own = stepsOf(cell, cells[index + 1]?.source ?? "", exercises);
      steps.push(...own);
      return own.map(({ cell }) => cell);
    },
  });
  return { report, steps, exercises };
}

kernelTest("every notebook produces the outputs that are saved in its file", async () => {
  // A notebook waits most of the time, so all of them run at once.
  const runs = await Promise.all((await listNotebooks()).map(runWithAnswers));
  const failed = runs.filter(({ report }) => report.problems.length > 0);
  assertEquals(failed.map(({ report }) => formatReport(report)), []);
  for (const { report, steps, exercises } of runs) {
    for (const { cell, says } of steps) {
      const shown = describeOutputs(report.results.get(cell)?.outputs ?? []);
      assertStringIncludes(unwrapped(shown), unwrapped(says), cell.source);
    }
    const solved = steps.filter(({ says }) => says.startsWith("✓"));
    assertEquals(solved.length, Object.keys(exercises).length, "each exercise is in a cell");
  }
});

Deno.test("the README lists every notebook", async () => {
  const readme = await Deno.readTextFile(new URL("../../../README.md", import.meta.url));
  const listed = [...readme.matchAll(/\(notebooks\/(\w+\.ipynb)\)/g)].map(([, name]) => name);
  assertEquals(listed.sort(), (await listNotebooks()).map((path) => basename(path)));
});

Deno.test("every notebook has short lines and shows values with show()", async () => {
  const problems: string[] = [];
  for (const path of await listNotebooks()) {
    const cells = codeCells(await readNotebook(path));
    const isSandboxOnly = cells[0]?.cell.source.startsWith(`${SANDBOX_ONLY}: the whole notebook\n`);
    for (const { number, cell: { source, outputs } } of cells) {
      const at = `${basename(path)} [${number}]`;
      if (source.split("\n").some((line) => line.length > MOST_COLUMNS)) {
        problems.push(`${at} has a long line`);
      }
      // nbconvert may lose a value that is not shown with show().
      if (outputs.some(({ output_type }) => /stream|execute_result/.test(output_type))) {
        problems.push(`${at} shows something without show()`);
      }
      const isMarked = isSandboxOnly || source.startsWith(`${SANDBOX_ONLY}\n`);
      if (!isMarked && /\b(sandbox|clock)\b/.test(source)) {
        problems.push(`${at} is not marked as sandbox only`);
      }
    }
  }
  assertEquals(problems, []);
});

Deno.test("in notebook 05, the cell above each exercise shows the problem to identify", async () => {
  const { cells } = await readNotebook(new URL("05_when_it_fails.ipynb", NOTEBOOKS));
  const found = cells.flatMap((cell, index) => {
    if (!cell.source.includes("Replace undefined with a code or the name of a check.")) return [];
    const [above, , below] = cells.slice(index - 1);
    const shown = above?.cell_type === "code" ? describeOutputs(above.outputs) : "";
    const [, cause = ""] = /^"(.+)"$/m.exec(below?.source ?? "") ?? [];
    assertMatch(shown, new RegExp(`(?:(?:^|: )[✗!] |Error )${cause}:`, "m"));
    return [cause];
  });
  assertEquals(found.length, 4);
});

testNeeding(
  lackOfPrograms("python3"),
  "the Python lines of notebook 02 compute SECRET_HASH",
  async () => {
    const { cells } = await readNotebook(new URL("02_login.ipynb", NOTEBOOKS));
    const text = cells.map(({ source }) => source).join("\n");
    const [, lines = ""] = /```python\n([^]*?)```/.exec(text) ?? [];
    const values = ["Ada Ö", "client", "secret"] as const;
    const [username, clientId, clientSecret] = values.map((value) => JSON.stringify(value));
    const script = `import base64, hmac
username, client_id, client_secret = ${username}, ${clientId}, ${clientSecret}
${lines}
print(secret_hash)`;
    const { stdout } = await new Deno.Command("python3", { args: ["-c", script] }).output();
    assertEquals(new TextDecoder().decode(stdout).trim(), await computeSecretHash(...values));
  },
);

kernelTest(
  "a notebook that the command line wrote runs with the .env of its project",
  () =>
    inCliWorld(async ({ run, folder }) => {
      await Deno.writeTextFile(`${folder}/deno.json`, "{}");
      await Deno.mkdir(`${folder}/a b`);
      assertEquals((await run(["notebook", "a b/new.ipynb"])).code, 0);
      const path = `${folder}/a b/new.ipynb`;
      const { problems, isUpdated } = await runNotebook(path, { update: true });
      assertEquals([problems, isUpdated], [[], true]);
      const [login = "", call = ""] = codeCells(await readNotebook(path))
        .map(({ cell }) => describeOutputs(cell.outputs));
      assertStringIncludes(login, "Signed in as student");
      assertStringIncludes(call, "Gull Harbor");
    }),
);
