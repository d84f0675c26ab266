import { assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import { type Notebook, readNotebook, writeNotebook } from "./notebook.ts";
import { code, notebookOf, printed, someToken, thrown, value } from "./notebook_builders.ts";
import { runNotebook } from "./run_notebook.ts";
import { formatReport } from "./main.ts";
import type { Output } from "./outputs.ts";

const COMMAND = fileURLToPath(new URL("./main.ts", import.meta.url));

function inFile(
  notebook: Notebook,
  use: (path: string) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    const path = `${folder}/01_small.ipynb`;
    await writeNotebook(path, notebook);
    await use(path);
  });
}

async function problemsOf(...cells: Notebook["cells"]): Promise<string[]> {
  const messages: string[] = [];
  await inFile(notebookOf(...cells), async (path) => {
    const { problems } = await runNotebook(path);
    messages.push(...problems.map(({ cell, message }) => cell ? `[${cell}] ${message}` : message));
  });
  return messages;
}

const RANDOM = "console.log(Math.random());";
const RANGE_ERROR = "throw new RangeError('no such station')";
const SHOW_ONE = 'await Deno.jupyter.display({ "text/plain": "1" }, { raw: true });';
const ONE: Output = { output_type: "display_data", data: { "text/plain": "1" }, metadata: {} };
const UNSTABLE = ["unstable-output"];
const RAISES = ["raises-exception"];
const value1 = value({ "text/plain": "1" });

/** What is wrong with a notebook of these cells: a pattern for each problem. */
const CHECKED: [what: string, cells: Notebook["cells"], problems: RegExp[]][] = [
  ["nothing, if it shows what its file has", [
    { cell_type: "markdown", id: "m", metadata: {}, source: "# Rows" },
    code("const rows = [1, 2];"),
    code("console.log('one');\nconsole.log('two');\nrows", [
      printed("one\n"),
      printed("two\n"),
      value({ "text/plain": "[ \u001b[33m1\u001b[39m, \u001b[33m2\u001b[39m ]" }),
    ]),
  ], []],
  ["a cleared output", [code("const rows = 2;"), code("rows;")], [
    /^\[2\] shows execute_result \(text\/plain\), the file has nothing/,
  ]],
  ["an output that the cell no longer shows", [code("const rows = 2;", [printed("2 rows\n")])], [
    /^\[1\] shows nothing, the file has stdout/,
  ]],
  ["a changed text, printed or shown", [
    code("console.log('3 rows');", [printed("2 rows\n")]),
    code("40 + 2;", [value({ "text/plain": "41" })]),
  ], [/^\[1\] shows another text[^]*2 rows[^]*3 rows/, /^\[2\] shows another text[^]*41[^]*42/]],
  ["nothing in the text of an unstable output", [code(RANDOM, [printed("0.5\n")], UNSTABLE)], []],
  ["another kind of an unstable output", [code(RANDOM, [value1], UNSTABLE)], [
    /^\[1\] shows stdout, the file has execute_result/,
  ]],
  ["nothing in one more unstable output", [code(`${SHOW_ONE}\n${SHOW_ONE}`, [ONE], UNSTABLE)], []],
  ["one more stable output", [code(`${SHOW_ONE}\n${SHOW_ONE}`, [ONE])], [
    /^\[1\] shows display_data .*, display_data .*, the file has display_data/,
  ]],
  ["nothing in the same error again", [
    code(RANGE_ERROR, [thrown("RangeError", "no such station")], RAISES),
  ], []],
  ["another error", [code(RANGE_ERROR, [thrown("RangeError", "other")], RAISES)], [
    /^\[1\] shows another text/,
  ]],
  ["a missing error", [code("1;", [value1], RAISES)], [
    /^\[1\] is tagged raises-exception and did not fail/,
  ]],
  ["the first cell that fails, even without output", [code("const = 3"), code("2;")], [
    /^\[1\] failed with Error: Execution failed; it may not parse/,
  ]],
];

for (const [what, cells, problems] of CHECKED) {
  Deno.test(`runNotebook() finds ${what}`, async () => {
    const found = await problemsOf(...cells);
    assertEquals(found.length, problems.length, found.join("\n"));
    for (const [at, problem] of problems.entries()) assertMatch(found[at] ?? "", problem);
  });
}

Deno.test("runNotebook() gives up on a notebook that does not end", async () => {
  await inFile(
    notebookOf(code("console.log('started'); await new Promise((r) => setTimeout(r, 600_000));")),
    async (path) => {
      const { problems } = await runNotebook(path, { timeoutMs: 3_000 });
      assertEquals(problems.map(({ cell }) => cell), [1]);
      assertMatch(problems[0]?.message ?? "", /still running when the limit of 3 s/);
      assertStringIncludes(problems[0]?.output ?? "", "started");
    },
  );
});

Deno.test("runNotebook() keeps settings of the person who runs it from the notebook", async () => {
  await withEnvironment({ APP_CLIENT_SECRET: "not for notebooks" }, async () => {
    const source = "console.log(Deno.env.has('APP_CLIENT_SECRET'), Deno.env.has('PATH'));";
    assertEquals(await problemsOf(code(source, [printed("false true\n")])), []);
  });
});

Deno.test("runNotebook() says when a notebook is for another kernel", async () => {
  const notebook = notebookOf(code("1;", [value({ "text/plain": "1" })]));
  await inFile({ ...notebook, metadata: { kernelspec: { name: "python3" } } }, async (path) => {
    const { problems } = await runNotebook(path);
    assertMatch(problems.map(({ message }) => message).join(), /kernelspec is not deno/);
  });
});

Deno.test("runNotebook() with update writes what the cells show, the same every time", async () => {
  const timed = {
    ...code("console.log('hello');\n[1, 2];"),
    metadata: { execution: { t: "now" } },
  };
  const unstable = code("Math.random();", [value({ "text/plain": "0.5" })], ["unstable-output"]);
  await inFile(notebookOf(timed, unstable), async (path) => {
    const first = await runNotebook(path, { update: true });
    assertEquals([first.problems, first.updated], [[], true]);
    const text = await Deno.readTextFile(path);
    const second = await runNotebook(path, { update: true });
    assertEquals([second.problems, second.updated], [[], false]);
    assertEquals(await Deno.readTextFile(path), text);
    assertEquals((await runNotebook(path)).problems, []);

    const [cell, other] = (await readNotebook(path)).cells;
    assertEquals(cell, {
      cell_type: "code",
      id: "cell-1",
      metadata: {},
      source: "console.log('hello');\n[1, 2];",
      execution_count: 1,
      outputs: [printed("hello\n"), value({ "text/plain": "[ 1, 2 ]" })],
    });
    assertStringIncludes(JSON.stringify(other), "0.5");
  });
});

Deno.test("runNotebook() with update does not write a token, nor show it in its report", async () => {
  const token = someToken();
  const half = token.length / 2;
  const source = `console.log("${token.slice(0, half)}" +\n  "${token.slice(half)}");`;
  await inFile(notebookOf(code(source)), async (path) => {
    const before = await Deno.readTextFile(path);
    const report = await runNotebook(path, { update: true });
    assertEquals(report.updated, false);
    assertEquals(await Deno.readTextFile(path), before);
    const shown = formatReport(report);
    assertMatch(shown, /cell 1 of the file, output 1: a token \(eyJ…\) of \d+ characters/);
    assertEquals(shown.includes(token.slice(0, half)), false);

    const checked = formatReport(await runNotebook(path));
    assertStringIncludes(checked, "stdout: [hidden]");
    assertEquals(checked.includes(token.slice(0, half)), false);
  });
});

Deno.test("the command ends with status 1 and shows the cell, its source and its error", async () => {
  const notebook = notebookOf(code("console.log('fine');", [printed("fine\n")]), code("nothing()"));
  await inFile(notebook, async (path) => {
    const { code: status, stdout } = await command(path);
    assertMatch(stdout, /^FAILED 01_small\.ipynb 2 cells \d+\.\d s$/m);
    assertMatch(stdout, /cell \[2\] failed with ReferenceError: nothing is not defined/);
    assertStringIncludes(stdout, "| nothing()");
    assertEquals(status, 1);
  });
});

Deno.test("the command ends with status 0 when all is well, and 2 on wrong usage", async () => {
  await inFile(notebookOf(code("1;", [value({ "text/plain": "1" })])), async (path) => {
    const good = await command(path);
    assertMatch(good.stdout, /^ok 01_small\.ipynb 1 cells \d+\.\d s\n$/);
    assertEquals(good.code, 0);
    assertEquals((await command("--only", "02", path)).code, 1);
    assertEquals((await command("--updat", path)).code, 2);
    assertNotEquals((await command(`${path}.missing`)).code, 0);
  });
});

async function command(...args: string[]): Promise<{ code: number; stdout: string }> {
  const { code: status, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", COMMAND, ...args],
    stderr: "null",
  }).output();
  return { code: status, stdout: new TextDecoder().decode(stdout) };
}

Deno.test("runs of a notebook wait for each other, because they write the same files", async () => {
  const meanwhile = "await new Promise((done) => setTimeout(done, 500));";
  const cell = code(`Deno.mkdirSync("mine");\n${meanwhile}\nDeno.removeSync("mine");`);
  await inFile(notebookOf(cell), async (path) => {
    const reports = await Promise.all([runNotebook(path), runNotebook(path)]);
    assertEquals(reports.flatMap(({ problems }) => problems), []);
  });
});
