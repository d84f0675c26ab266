import { assertEquals, assertMatch } from "@std/assert";
import { moduleSpecifier } from "../../src/cli/commands/notebook.ts";
import { inCliWorld } from "../support/cli_world.ts";
import { join } from "node:path";

const places: [where: string, here: string, module: string, toolkit: string][] = [
  [
    "a clone beside it",
    "file:///home/ada/clone/src/cli/commands/notebook.ts",
    "../clone/mod.ts",
    "../clone/src/notebook/mod.ts",
  ],
  [
    "a clone around it",
    "file:///home/ada/src/cli/commands/notebook.ts",
    "../mod.ts",
    "../src/notebook/mod.ts",
  ],
  [
    "a clone in it",
    "file:///home/ada/work/a%20%23b/src/cli/commands/notebook.ts",
    "./a%20%23b/mod.ts",
    "./a%20%23b/src/notebook/mod.ts",
  ],
  [
    "the source at a URL",
    "https://code.example/v1/src/cli/commands/notebook.ts",
    "https://code.example/v1/mod.ts",
    "https://code.example/v1/src/notebook/mod.ts",
  ],
  ["a released file", "file:///home/ada/work/cli.js", "./mod.js", "./notebook.js"],
  [
    "a released file at a URL",
    "https://code.example/v1/cli.js",
    "https://code.example/v1/mod.js",
    "https://code.example/v1/notebook.js",
  ],
  [
    "the npm package in Deno's cache",
    "file:///home/ada/.cache/deno/npm/registry.example/@platform-auth/platform-auth/0.1.0/cli.js",
    "npm:@platform-auth/platform-auth@^0.1.0",
    "npm:@platform-auth/platform-auth@^0.1.0/notebook",
  ],
  [
    "the npm package in a project",
    "file:///home/ada/work/node_modules/@platform-auth/platform-auth/cli.js",
    "npm:@platform-auth/platform-auth",
    "npm:@platform-auth/platform-auth/notebook",
  ],
];
for (const [where, here, module, toolkit] of places) {
  Deno.test(`a notebook imports the module and the toolkit of ${where}`, () => {
    const folder = "/home/ada/work";
    assertEquals(moduleSpecifier(here, folder), module);
    assertEquals(moduleSpecifier(here, folder, "notebook"), toolkit);
  });
}

Deno.test("notebook writes a file once, and never over another one", () =>
  inCliWorld(async ({ run, folder }) => {
    const first = await run(["notebook"]);
    assertEquals([first.code, first.stderr], [0, ""]);
    assertMatch(first.stdout, /^Wrote notebook\.ipynb, which imports \.\.\/\S+\/mod\.ts\n/);
    const text = await Deno.readTextFile(`${folder}/notebook.ipynb`);
    const { nbformat, cells } = JSON.parse(text);
    const kinds = cells.map((cell: { cell_type: string }) => cell.cell_type);
    assertEquals([nbformat, kinds], [4, ["markdown", "code", "markdown", "code"]]);
    assertMatch(
      cells[1].source,
      /^import \{ .*login \} from "\.\.\/\S+\/mod\.ts";\nimport \{ .*table \} from ".*\/notebook\/mod\.ts";\n\nawait login/,
    );
    assertMatch(cells[3].source, /\nawait table\(rows\);$/);
    const { code, stderr } = await run(["notebook"]);
    assertEquals(code, 1);
    assertMatch(stderr, /Cannot write notebook\.ipynb: it is there already, .*give another name/);
    assertEquals(await Deno.readTextFile(`${folder}/notebook.ipynb`), text);
    const json = await run(["notebook", "other.ipynb", "--json"]);
    const { file, import: specifier } = JSON.parse(json.stdout);
    assertEquals([file, specifier.endsWith("/mod.ts")], [join(folder, "other.ipynb"), true]);
    assertEquals((await run(["notebook", "new/folder/a.ipynb"])).code, 0);
    const { cells: [, deeper] } = JSON.parse(
      await Deno.readTextFile(`${folder}/new/folder/a.ipynb`),
    );
    assertMatch(deeper.source, /from "\.\.\/\.\.\/\.\.\/\S+\/mod\.ts"/);
    assertMatch(
      (await run(["notebook", "notebook.ipynb/a.ipynb"])).stderr,
      /a\.ipynb: its folder cannot be made; name another one/,
    );
    assertEquals((await run(["notebook", "notes.txt"])).code, 2);
  }));
