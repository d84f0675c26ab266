import { assert, assertEquals } from "@std/assert";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { DOCUMENTS, documentText } from "../../support/documented_flags.ts";
import { examplesIn, SOURCES, withUrls } from "../../support/examples.ts";
import { basename } from "node:path";
import { listNotebooks } from "../../notebook/kernel/run_notebooks.ts";
import { codeCells, readNotebook } from "../../notebook/kernel/notebook.ts";

/** The compiler's output for these files in the folder of a user's project with default options. */
async function errorsIn(files: Readonly<Record<string, string>>): Promise<string> {
  return await inFolder(async (folder) => {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const { code, stderr } = await outputOf(Deno.execPath(), {
      args: ["check", "--quiet", "--no-lock", ...Object.keys(files)],
      cwd: folder,
      env: { NO_COLOR: "1" },
    });
    assertEquals(code === 0, stderr === "", stderr);
    return stderr;
  });
}

/** The cells of each notebook as one program, as an editor and the kernel see them. */
async function notebookPrograms(): Promise<[name: string, text: string][]> {
  const folder = new URL("../../../notebooks/", import.meta.url).href;
  return await Promise.all((await listNotebooks()).map(async (path) => {
    const cells = codeCells(await readNotebook(path)).map(({ cell }) => cell.source);
    const text = withUrls(cells.join("\n")).replaceAll('from "./', `from "${folder}`);
    return [`${basename(path, ".ipynb")}.ts`, `${text}\nexport {};\n`] as [string, string];
  }));
}

// A check takes seconds, so there is only one. `deno task check` repeats the first two files with the
// strictest options.
Deno.test("the compiler accepts all examples and notebooks, and rejects a wrong example", async () => {
  const own = ["accepted.ts", "refused.ts"].map((name): [string, string] => [
    name,
    withUrls(documentText(`tests/project/typing/${name}`)),
  ]);
  const examples = examplesIn([...DOCUMENTS, ...SOURCES]);
  const count = Object.keys(examples).length;
  assert(count > 30, `${count} examples`);
  const wrong = withUrls('import { login } from "./mod.ts";\nlogin("bearer eyJ");\n');
  const errors = await errorsIn({
    ...Object.fromEntries(own),
    ...examples,
    ...Object.fromEntries(await notebookPrograms()),
    "wrong.ts": wrong,
  });
  // An error may also mention places in our own modules; the last place is in the example.
  const places = errors.split(/^(?:error: )?TS\d+ /m).slice(1)
    .map((error) => /([\w.]+\.ts):\d+:\d+$/m.exec(error)?.[1]);
  assertEquals([...new Set(places)], ["wrong.ts"], errors);
});
