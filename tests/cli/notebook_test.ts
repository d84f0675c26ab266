/** `platform-auth notebook`. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { moduleSpecifier } from "../../src/cli/commands/notebook.ts";
import { inFolder } from "../support/child_deno.ts";
import { rejection } from "../support/portless.ts";
import { answerOf } from "./own_process.ts";

const places: [where: string, here: string, module: string, toolkit: string][] = [
  [
    "the clone that contains the notebook",
    "file:///home/ada/src/cli/commands/notebook.ts",
    "../mod.ts",
    "../src/notebook/mod.ts",
  ],
  [
    "a clone in the notebook's folder",
    "file:///home/ada/work/a%20%23b/src/cli/commands/notebook.ts",
    "./a%20%23b/mod.ts",
    "./a%20%23b/src/notebook/mod.ts",
  ],
  [
    "released files in the notebook's folder",
    "file:///home/ada/work/cli.js",
    "./mod.js",
    "./notebook.js",
  ],
  [
    "the npm package in Deno's cache",
    "file:///home/ada/.cache/deno/npm/registry.example/@ada/auth/1.2.3/cli.js",
    "npm:@ada/auth@^1.2.3",
    "npm:@ada/auth@^1.2.3/notebook",
  ],
  [
    "the package on JSR",
    "https://registry.example/@ada/auth/1.2.3/src/cli/commands/notebook.ts",
    "https://registry.example/@ada/auth/1.2.3/mod.ts",
    "https://registry.example/@ada/auth/1.2.3/src/notebook/mod.ts",
  ],
];
for (const [where, here, module, toolkit] of places) {
  Deno.test(`a notebook imports the module and the toolkit from ${where}`, () => {
    const folder = "/home/ada/work";
    const release = { name: "@ada/auth", version: "1.2.3" };
    assertEquals(moduleSpecifier(here, folder, release), module);
    assertEquals(moduleSpecifier(here, folder, release, "notebook"), toolkit);
  });
}

Deno.test("the command notebook writes a new notebook, but never replaces a file", () =>
  inFolder(async (folder) => {
    const notebook = (name: string) => answerOf("notebook", `${folder}/${name}`);
    const { value, text } = await notebook("new/folder/wind.ipynb");
    const file = join(folder, "new/folder/wind.ipynb");
    const specifier = (value as { import: string }).import;
    assertEquals(value, { file, import: specifier });
    assertMatch(specifier, /^(\.\.\/){3}\S+\/mod\.ts$/);
    assertStringIncludes(text ?? "", `wind.ipynb, which imports ${specifier}\n`);
    const written = await Deno.readTextFile(file);
    const { nbformat, cells } = JSON.parse(written);
    const kinds = cells.map((cell: { cell_type: string }) => cell.cell_type);
    assertEquals([nbformat, kinds], [4, ["markdown", "code", "markdown", "code"]]);
    const toolkit = specifier.replace("/mod.ts", "/src/notebook/mod.ts");
    assertStringIncludes(cells[1].source, `login } from "${specifier}";\n`);
    assertStringIncludes(cells[1].source, `table } from "${toolkit}";\n\n`);
    // A card that is only the cell's value may be lost or appear under the next cell.
    assertMatch(cells[1].source, /\nawait show\(await login\(\)\);$/);
    assertMatch(cells[3].source, /\nawait table\(rows\);$/);
    const error = await rejection(notebook("new/folder/wind.ipynb"));
    assertEquals(error.code, "FILE_EXISTS");
    assertMatch(error.message, /it already exists; choose another name/);
    assertEquals(await Deno.readTextFile(file), written);
  }));
