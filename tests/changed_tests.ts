/** The tests that import what changed since `main`: `deno task test --changed`. */
import { mustRun } from "./support/child_deno.ts";

const ROOT = new URL("../", import.meta.url);

interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly code?: { readonly specifier: string } }[];
  }[];
}

/** Paths from the root of the project. */
interface Changed {
  /** The tests that import a changed file directly, or through others from a folder of its name. */
  readonly near: ReadonlySet<string>;
  /** The other tests that import a changed file through others: often nearly all. */
  readonly far: ReadonlySet<string>;
  /** The changed files that no test imports, such as pages and notebooks. */
  readonly notImported: readonly string[];
}

export async function changedTests(): Promise<Changed> {
  const changed = [
    ...await linesOf("git", "diff", "--name-only", "--diff-filter=d", "main"),
    ...await linesOf("git", "ls-files", "--others", "--exclude-standard"),
  ];
  const importers = await importersOfAll();
  const near = new Set<string>();
  const far = new Set<string>();
  for (const path of changed) {
    const direct = [path, ...importers.get(path) ?? []];
    // A loop over a Set also reaches what the loop adds.
    const found = new Set(direct);
    for (const each of found) importers.get(each)?.forEach((importer) => found.add(importer));
    for (const test of found) {
      if (!test.endsWith("_test.ts")) continue;
      (direct.includes(test) || roomOf(test) === roomOf(path) ? near : far).add(test);
    }
  }
  const notImported = changed.filter((path) => !path.endsWith("_test.ts") && !importers.has(path));
  return { near, far: far.difference(near), notImported };
}

/** `api` for `src/api/call.ts` and `tests/api/auth_fetch_test.ts`. */
function roomOf(path: string): string | undefined {
  return path.split("/")[1]?.replace(/(_test)?\.ts$/, "");
}

/** The files that import each file of the project. */
async function importersOfAll(): Promise<Map<string, string[]>> {
  const tests = await linesOf("git", "ls-files", "--cached", "--others", "tests/**_test.ts");
  // `deno info` takes one file.
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const imports = tests.map((path) => `import(${JSON.stringify(new URL(path, ROOT))});\n`);
    await Deno.writeTextFile(entry, imports.join(""));
    const flags = ["--json", "--config=deno.json", "--lock=tests/deno.lock"];
    const graph: Graph = JSON.parse(
      (await linesOf(Deno.execPath(), "info", ...flags, entry)).join("\n"),
    );
    const importers = new Map<string, string[]>();
    for (const { specifier, dependencies = [] } of graph.modules) {
      if (!specifier.startsWith(ROOT.href)) continue;
      for (const { code } of dependencies) {
        if (!code?.specifier.startsWith(ROOT.href)) continue;
        const path = code.specifier.slice(ROOT.href.length);
        importers.set(path, [...importers.get(path) ?? [], specifier.slice(ROOT.href.length)]);
      }
    }
    return importers;
  } finally {
    await Deno.remove(entry);
  }
}

/** The lines that a program prints. @throws {Error} If it fails. */
async function linesOf(program: string, ...args: string[]): Promise<string[]> {
  const output = await mustRun(program, { args, cwd: ROOT });
  return output.split("\n").filter((line) => line !== "");
}
