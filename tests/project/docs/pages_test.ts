import { assert, assertEquals } from "@std/assert";
import { basename } from "node:path";
import { TOKEN_KEYS } from "../../../src/session/stored_tokens.ts";
import { ENV_FILE_VARIABLE, VARIABLES } from "../../../src/settings/options.ts";
import { denoConfig, DOCUMENTS, documentText } from "../../support/documented_flags.ts";
import { listNotebooks } from "../../notebook/kernel/run_notebooks.ts";
import { readNotebook } from "../../notebook/kernel/notebook.ts";

const ROOT = new URL("../../../", import.meta.url);

/** The anchor that a heading gets, as the usual viewers make it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-");
}

/** The documents for users, and those for contributors. */
const PAGES = [
  ...DOCUMENTS,
  ...["CONTRIBUTING.md", "bench/README.md", "tests/project/windows/README.md"],
];

/** The prose of a document or of a notebook. */
async function proseOf(path: string): Promise<string> {
  if (!path.endsWith(".ipynb")) return documentText(path);
  const { cells } = await readNotebook(new URL(path, ROOT));
  return cells.flatMap((cell) => cell.cell_type === "markdown" ? [cell.source] : []).join("\n");
}

Deno.test("links in documents and notebooks lead to existing files and headings", async () => {
  const notebooks = (await listNotebooks()).map((path) => `notebooks/${basename(path)}`);
  let count = 0;
  for (const path of [...PAGES, ...notebooks]) {
    for (const [, target = ""] of (await proseOf(path)).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = "", anchor] = target.split("#");
      const url = file === "" ? new URL(path, ROOT) : new URL(file, new URL(path, ROOT));
      assert(Deno.statSync(url), target);
      const text = anchor === undefined ? "" : Deno.readTextFileSync(url);
      const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, each = ""]) => anchorOf(each));
      assert(anchor === undefined || anchors.includes(anchor), `${path}: ${target}`);
      count++;
    }
  }
  assert(count > 10);
});

Deno.test("the tasks and files that documents mention exist", () => {
  const { tasks } = denoConfig();
  for (const page of PAGES) {
    const text = documentText(page);
    for (const [, task = ""] of text.matchAll(/deno task ([\w:]+)/g)) assert(task in tasks, task);
    for (const [, path = ""] of text.matchAll(/[` ]((?:src|tests|\.ci|bench)\/[\w/]+(\.\w+)*)/g)) {
      assert(Deno.statSync(new URL(path, ROOT)), `${page}: ${path}`);
    }
  }
});

Deno.test("every setting in the documents' examples is a setting of the module or of Deno", () => {
  const known = new Set<string | undefined>([
    ...Object.values(VARIABLES),
    ...TOKEN_KEYS,
    ENV_FILE_VARIABLE,
    "HTTPS_PROXY",
    "NO_PROXY",
    "DENO_CERT",
    "DENO_TLS_CA_STORE",
  ]);
  let count = 0;
  for (const path of DOCUMENTS) {
    for (const [, block = ""] of documentText(path).matchAll(/^```ini\n([^]*?)^```/gm)) {
      for (const [, name] of block.matchAll(/^(\w+)=/gm)) {
        assert(known.has(name), `${path}: ${name}`);
        count++;
      }
    }
  }
  assert(count > 10);
});

Deno.test("the documents install the package that a release publishes", () => {
  const { name } = JSON.parse(documentText(".ci/npm/package.json"));
  const installed = DOCUMENTS.flatMap((page) =>
    [...documentText(page).matchAll(/npm install -g (@[\w/-]+)/g)].map(([, found]) => found)
  );
  assertEquals([...new Set(installed)], [name]);
});

Deno.test("all files that install Deno install the same version", () => {
  const files = [
    ...[".ci/run", ".ci/npm/package.json", ".github/workflows/publish.yml"],
    ...["binder/Dockerfile", "CONTRIBUTING.md"],
  ];
  const versions = files.flatMap((path) =>
    documentText(path).match(/(?<=deno@|deno-version: |Deno |"@deno\/.+": ")2\.\d+\.\d+/g) ?? path
  );
  assertEquals(new Set(versions).size, 1, versions.join());
});
