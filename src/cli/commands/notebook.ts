import { relative } from "node:path";
import { defineCommand } from "../command.ts";
import { OK, printJson, printText, UsageError } from "../output.ts";
import { filePath, fileUrl, folderOf } from "../../platform/paths.ts";
import { lookAt } from "../../platform/look.ts";
import { ConfigError, missingPermission } from "../../errors/errors.ts";

const DEFAULT_FILE = "notebook.ipynb";

/** Where this code is: in the folder of the source, or in the one file of a release. */
const HERE = import.meta.url;

export const command = defineCommand({
  summary: "write a notebook that signs in and calls the API",
  synonyms: ["new", "jupyter", "ipynb", "create"],
  description: `Writes a notebook that signs in and calls the API, with the import that fits its
folder. The folder is made if it is missing. A file that is there already is
left as it is.`,
  word: { name: "file" },
  options: {},
  examples: ["platform-auth notebook", "platform-auth notebook analysis/wind.ipynb"],
  async run({ word, json }) {
    await writeNotebook(word, json);
    return OK;
  },
});

/**
 * Writes a notebook with a login and a first call. Nothing is overwritten.
 *
 * @throws {ConfigError} `INVALID_SETTING` if the file is there already or cannot be written, `PERMISSION`.
 */
async function writeNotebook(file = DEFAULT_FILE, json: boolean): Promise<void> {
  if (!file.endsWith(".ipynb")) throw new UsageError("notebook takes a file that ends in .ipynb");
  const specifier = await create(file);
  if (json) return await printJson({ file: filePath(fileUrl(file)), import: specifier });
  await printText(
    `Wrote ${file}, which imports ${specifier}\n` +
      "Open it in Jupyter or VS Code with the kernel Deno (once: deno jupyter --install).\n" +
      "It takes its settings from the .env, which platform-auth init writes.",
  );
}

/** @returns What the notebook imports. */
async function create(file: string): Promise<string> {
  try {
    const folder = folderOf(file);
    await Deno.mkdir(folder, { recursive: true });
    // The kernel runs in the real folder, whatever links lead to it.
    const real = await Deno.realPath(folder);
    const specifier = moduleSpecifier(HERE, real);
    const text = notebookText(specifier, moduleSpecifier(HERE, real, "notebook"));
    await Deno.writeTextFile(file, text, { createNew: true });
    return specifier;
  } catch (error) {
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): ConfigError {
  if (error instanceof Deno.errors.NotCapable) {
    const folder = /^.*[\\/]/.exec(file)?.[0] ?? ".";
    const flags = `--allow-read=${folder} --allow-write=${folder}`;
    return missingPermission(`write ${file}`, { flags });
  }
  const isThere = error instanceof Deno.errors.AlreadyExists && lookAt(file) !== undefined;
  const isNoFolder = error instanceof Deno.errors.AlreadyExists ||
    error instanceof Deno.errors.NotADirectory || error instanceof Deno.errors.NotFound;
  const [why, fix] = isThere
    ? [": it is there already, and is left as it is", "give another name"]
    : isNoFolder
    ? [": its folder cannot be made", "name another one"]
    : error instanceof Deno.errors.PermissionDenied
    ? [": this user may not write there", "name another place"]
    : ["", "check the path"];
  return new ConfigError("INVALID_SETTING", `Cannot write ${file}${why}`, fix, error);
}

/** Where the entry points are: in the source, as this module sees them. */
const SOURCES = { mod: "../../../mod.ts", notebook: "../../notebook/mod.ts" };

/**
 * The name by which a notebook imports this module.
 *
 * @param here Address of a module of the command line.
 * @param folder Absolute path of the notebook's folder.
 * @param entry The entry point: what signs in and calls, or the toolkit for notebooks.
 */
export function moduleSpecifier(
  here: string,
  folder: string,
  entry: keyof typeof SOURCES = "mod",
): string {
  // A released file has the others beside it.
  const isSource = here.endsWith("/src/cli/commands/notebook.ts");
  const module = new URL(isSource ? SOURCES[entry] : `./${entry}.js`, here);
  if (module.protocol !== "file:") return module.href;
  // Deno's cache has the version in the path, a node_modules folder has not.
  const [, name, version] =
    /\/(?:node_modules|npm\/[^/]+)\/(@[^/]+\/[^/]+)\/(?:(\d[^/]*)\/)?\w+\.js$/.exec(module.href) ??
      [];
  if (name !== undefined) {
    return `npm:${name}${version ? `@^${version}` : ""}${entry === "mod" ? "" : `/${entry}`}`;
  }
  const path = relative(folder, filePath(module)).replaceAll("\\", "/");
  // On another drive of Windows nothing relative leads there.
  if (/^[A-Za-z]:/.test(path)) return module.href;
  const address = path.split("/").map(encodeURIComponent).join("/");
  return address.startsWith("../") ? address : `./${address}`;
}

function notebookText(module: string, toolkit: string): string {
  const cells = [
    text(
      "# A notebook with the data platform",
      "",
      "`login()` takes the settings from the `.env` and asks for what is missing. A session that is",
      "good is kept, so this cell may run again at any time.",
    ),
    code(
      `import { fetchJson, login } from ${JSON.stringify(module)};`,
      `import { plot, show, table } from ${JSON.stringify(toolkit)};`,
      "",
      "await login();",
    ),
    text(
      "`fetchJson` adds the token, keeps it current, and gives the parsed answer. `/v1/stations` is a",
      "path of the sandbox: with an account of your own, put a path of your API in its place. `table`",
      "shows the rows; `show` shows any value, and `plot` draws.",
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
