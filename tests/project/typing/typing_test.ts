import { assert, assertEquals } from "@std/assert";
import { basename } from "node:path";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { documentText } from "../../support/documented_flags.ts";
import { allExamples, withUrls } from "../../support/examples.ts";
import { listNotebooks } from "../../notebook/kernel/run_notebooks.ts";
import { codeCells, readNotebook } from "../../notebook/kernel/notebook.ts";

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
Deno.test("the compiler accepts all examples and notebooks, and rejects wrong calls", () =>
  inFolder(async (folder) => {
    const own = ["accepted.ts", "refused.ts"].map((name): [string, string] => [
      name,
      withUrls(documentText(`tests/project/typing/${name}`)),
    ]);
    const examples = allExamples();
    assert(examples.length > 30, `${examples.length} examples`);
    const files = [...own, ...examples, ...await notebookPrograms()];
    for (const [name, text] of files) await Deno.writeTextFile(`${folder}/${name}`, text);
    // The folder of a user's project with default options.
    const { code, stderr } = await outputOf(Deno.execPath(), {
      args: ["check", "--quiet", "--no-lock", ...files.map(([name]) => name)],
      cwd: folder,
      env: { NO_COLOR: "1" },
    });
    assertEquals([code, stderr], [0, ""]);
  }));
