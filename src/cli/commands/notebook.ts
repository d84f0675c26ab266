import { relative } from "node:path";
import type { Answer, Given } from "../command.ts";
import { UsageError } from "../output.ts";
import { type Release, release } from "../release.ts";
import { filePath, fileUrl, folderOf } from "../../files/paths.ts";
import { infoAt } from "../../files/file_info.ts";
import { onDisk } from "../../api/save_errors.ts";
import { ConfigError } from "../../errors/errors.ts";

const DEFAULT_FILE = "notebook.ipynb";

/** The address of this file or, in a release, of the bundle that contains it. */
const HERE = import.meta.url;

/** Writes a notebook with a login and a first call. Never replaces a file. */
export async function run({ word: file = DEFAULT_FILE }: Given): Promise<Answer> {
  if (!file.endsWith(".ipynb")) {
    throw new UsageError("notebook takes a file that ends in .ipynb", `such as ${DEFAULT_FILE}`);
  }
  const specifier = await create(file);
  // A user of the npm package may not have the `deno` command, so the text explains how to install
  // it.
  const install = specifier.startsWith("npm:") ? "npm install -g deno\n" : "";
  return {
    value: { file: filePath(fileUrl(file)), import: specifier },
    text: `Wrote ${file}, which imports ${specifier}
Open it in Jupyter or VS Code and choose the kernel Deno. To install this kernel once, run:
${install}deno jupyter --install
The notebook takes its settings from the .env, which platform-auth init writes.`,
  };
}

/**
 * Creates the notebook.
 *
 * @returns The specifier that the notebook imports.
 */
async function create(file: string): Promise<string> {
  if (infoAt(file) !== undefined) {
    throw new ConfigError(
      "FILE_EXISTS",
      `Cannot save ${file}: it already exists`,
      "choose another name",
    );
  }
  return await onDisk(file, async () => {
    const folder = folderOf(file);
    await Deno.mkdir(folder, { recursive: true });
    // The kernel resolves symbolic links and runs in the real folder, so the relative import starts
    // there.
    const real = await Deno.realPath(folder);
    const released = await release();
    const specifier = moduleSpecifier(HERE, real, released);
    const text = notebookText(specifier, moduleSpecifier(HERE, real, released, "notebook"));
    await Deno.writeTextFile(file, text, { createNew: true });
    return specifier;
  });
}

/** The entry points in the source tree. */
const SOURCES = { mod: "../../../mod.ts", notebook: "../../notebook/mod.ts" };

/**
 * Returns the specifier with which a notebook imports this module.
 *
 * @param here The address of this file.
 * @param folder Absolute path of the notebook's folder.
 * @param release The package that contains this file, if it was installed from npm.
 * @param entry The module itself, or the toolkit for notebooks.
 */
export function moduleSpecifier(
  here: string,
  folder: string,
  { name, version }: Release,
  entry: keyof typeof SOURCES = "mod",
): string {
  // This file is in a folder of packages: `node_modules` or Deno's cache. Only the scope is
  // compared, because the package of the command line has another name in the same scope.
  const [scope] = name.split("/");
  if (here.startsWith("file:") && here.includes(`/${scope}/`)) {
    return `npm:${name}@^${version}${entry === "mod" ? "" : `/${entry}`}`;
  }
  // In a release, all files are in one folder.
  const isSource = here.endsWith("/src/cli/commands/notebook.ts");
  const module = new URL(isSource ? SOURCES[entry] : `./${entry}.js`, here);
  if (module.protocol !== "file:") return module.href;
  const path = relative(folder, filePath(module)).replaceAll("\\", "/");
  // On Windows, no relative path can lead to another drive.
  if (/^[A-Za-z]:/.test(path)) return module.href;
  const address = path.split("/").map(encodeURIComponent).join("/");
  return address.startsWith("../") ? address : `./${address}`;
}

function notebookText(module: string, toolkit: string): string {
  const cells = [
    text(
      "# A notebook with the data platform",
      "",
      "`login()` takes the settings from the `.env` and prompts for whatever is missing. It keeps a valid",
      "session, so you can run this cell again at any time. `show` waits until the card appears.",
    ),
    code(
      `import { fetchJson, login } from ${JSON.stringify(module)};`,
      `import { plot, show, table } from ${JSON.stringify(toolkit)};`,
      "",
      "await show(await login());",
    ),
    text(
      "`fetchJson` adds the token, keeps it current, and returns the parsed response. `/v1/stations` is a",
      "path of the sandbox: with your own account, use a path of your API instead. `table` shows the",
      "rows, `show` shows any value, and `plot` draws a plot.",
    ),
    code('const rows = await fetchJson("/v1/stations");', "await table(rows);"),
  ];
  const notebook = {
    cells: cells.map((cell, at) => ({ ...cell, id: `cell-${at + 1}` })),
    metadata: {
      kernelspec: { display_name: "Deno", language: "typescript", name: "deno" },
      language_info: { file_extension: ".ts", mimetype: "text/x.typescript", name: "typescript" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

function text(...lines: string[]) {
  return { cell_type: "markdown", metadata: {}, source: lines.join("\n") };
}

function code(...lines: string[]) {
  const source = lines.join("\n");
  return { cell_type: "code", execution_count: null, metadata: {}, outputs: [], source };
}
