/** An editor marks nothing in the notebooks and in the README. */
import { assertEquals, assertMatch } from "@std/assert";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inCliWorld } from "../support/cli_world.ts";
import { type LanguageServer, startLanguageServer } from "../support/language_server.ts";
import { listNotebooks } from "./main.ts";
import { codeCells, readNotebook } from "./notebook.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The marks in these cells, with the number of the cell. The cells are one program, as in a kernel. */
async function marksIn(
  server: LanguageServer,
  path: string,
  sources: readonly string[],
): Promise<string[]> {
  const uri = pathToFileURL(path).href;
  const cells = sources.map((text, at) => ({
    // The URI of a cell in VS Code.
    uri: `${uri.replace("file:", "vscode-notebook-cell:")}#cell-${at + 1}`,
    text,
  }));
  await server.openNotebook(uri, cells);
  const marks: string[] = [];
  for (const [at, { uri }] of cells.entries()) {
    marks.push(...(await server.marks(uri)).map((mark) => `cell [${at + 1}] ${mark}`));
  }
  return marks;
}

/** The server of this folder's project: it reads the types of Deno once, which takes seconds. */
let ofProject: LanguageServer;
Deno.test.beforeAll(async () => {
  ofProject = await startLanguageServer(ROOT);
});
Deno.test.afterAll(async () => {
  await ofProject[Symbol.asyncDispose]();
});

async function sourcesOf(path: string): Promise<string[]> {
  return codeCells(await readNotebook(path)).map(({ cell }) => cell.source);
}

Deno.test("an editor marks nothing in the notebooks", async (t) => {
  for (const path of await listNotebooks()) {
    await t.step(basename(path), async () => {
      assertEquals(await marksIn(ofProject, path, await sourcesOf(path)), []);
    });
  }
});

Deno.test("an editor marks nothing in a notebook that the command line wrote, unchanged or continued", () =>
  inCliWorld(async ({ run, folder }) => {
    assertEquals((await run(["notebook"])).code, 0);
    await using server = await startLanguageServer(folder);
    const path = `${folder}/notebook.ipynb`;
    const own = [
      'await table(rows, { columns: ["name"] });\nawait show(rows[0].elevationM);',
      'await plot({ marks: (Plot) => Plot.dot(rows, { x: "name", y: "elevationM" }) });',
    ];
    const sources = await sourcesOf(path);
    assertEquals(await marksIn(server, path, sources), []);
    assertEquals(await marksIn(server, `${folder}/own.ipynb`, [...sources, ...own]), []);
  }));

Deno.test("an editor marks nothing in the README's TypeScript, which readers copy into cells", async () => {
  const readme = await Deno.readTextFile(`${ROOT}README.md`);
  const blocks = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text = ""]) => text);
  for (const [at, text] of blocks.entries()) {
    assertEquals(await marksIn(ofProject, `${ROOT}readme_${at + 1}.ipynb`, [text]), [], text);
  }
});

Deno.test("a mark of an editor is found, with its cell", async () => {
  const marks = await marksIn(ofProject, `${ROOT}notebooks/wrong.ipynb`, [
    'import { fetchJson } from "../mod.ts";\nconst rows = await fetchJson("/v1/stations");',
    "rows.map(({ id }) => id);\nescape(rows);",
    'const rows: string = "again";',
  ]);
  assertEquals(marks.map((mark) => mark.split(":")[0]), [
    ...["cell [1] line 2", "cell [2] line 1", "cell [2] line 2", "cell [3] line 1"],
  ]);
  assertMatch(marks[1] ?? "", /'id' implicitly has an 'any' type/);
  assertMatch(marks[2] ?? "", /deprecated/);
});
