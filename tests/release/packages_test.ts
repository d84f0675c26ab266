import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder } from "../support/child_deno.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Module {
  readonly specifier: string;
  readonly npmPackage?: string;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier?: string };
    readonly isDynamic?: boolean;
  }[];
}

/**
 * The names of the npm packages that a module brings along, on demand or at once, and those that its
 * import needs. Packages that only types name are fetched by nobody who runs it.
 */
async function packagesOf(path: string): Promise<{ all: string[]; atImport: string[] }> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--quiet", "--json", "--no-lock", path],
    cwd: ROOT,
    stdin: "null",
  }).output();
  assert(success, path);
  const info: {
    roots: string[];
    modules: Module[];
    redirects: Record<string, string>;
    npmPackages: Record<string, { name: string; dependencies: string[] }>;
  } = JSON.parse(new TextDecoder().decode(stdout));
  const modules = new Map(info.modules.map((module) => [module.specifier, module]));
  const namesOf = (onDemand: boolean): string[] => {
    const seen = new Set<string>();
    const ids = new Set<string>();
    const add = (id: string) => {
      if (ids.has(id)) return;
      ids.add(id);
      info.npmPackages[id]?.dependencies.forEach(add);
    };
    const visit = (specifier: string) => {
      const target = info.redirects[specifier] ?? specifier;
      if (seen.has(target)) return;
      seen.add(target);
      const { npmPackage, dependencies = [] } = modules.get(target) ?? {};
      if (npmPackage !== undefined) add(npmPackage);
      for (const { code, isDynamic } of dependencies) {
        if (code?.specifier !== undefined && (onDemand || !isDynamic)) visit(code.specifier);
      }
    };
    info.roots.forEach(visit);
    return [...new Set([...ids].map((id) => info.npmPackages[id]?.name ?? id))].sort();
  };
  return { all: namesOf(true), atImport: namesOf(false) };
}

const SANDBOX = ["hono", "jose"];
const EXPECTED: Record<string, { all: string[]; atImport: string[] }> = {
  "mod.ts": { all: ["zod"], atImport: [] },
  "src/cli.ts": { all: [...SANDBOX, "zod"], atImport: [] },
  // What draws is fetched by the first plot.
  "src/notebook/mod.ts": { all: [], atImport: [] },
  "src/sandbox/mod.ts": { all: SANDBOX, atImport: SANDBOX },
  "src/demo/main.ts": { all: [...SANDBOX, "zod"], atImport: SANDBOX },
  "dist/mod.js": { all: [], atImport: [] },
  "dist/notebook.js": { all: [], atImport: [] },
  "dist/sandbox.js": { all: [], atImport: [] },
  "dist/cli.js": { all: [], atImport: [] },
};

for (const [path, expected] of Object.entries(EXPECTED)) {
  Deno.test(`${path} needs ${expected.all.join(", ") || "no package"}`, async () => {
    assertEquals(await packagesOf(path), expected);
  });
}

Deno.test("the first notebooks need what the module and the sandbox need", async () => {
  const text = ["01_portal_token", "02_login", "03_refresh"].flatMap((name) => {
    const { cells } = JSON.parse(Deno.readTextFileSync(`${ROOT}notebooks/${name}.ipynb`));
    return cells.flatMap(({ source }: { source: string[] }) => [...source, "\n"]);
  }).join("");
  const specifiers = [...text.matchAll(/^ *import [^"]* from "([^"]+)";$/gm)]
    .map(([, specifier = ""]) =>
      specifier.startsWith(".") ? new URL(specifier, `file://${ROOT}notebooks/`).href : specifier
    );
  assert(specifiers.length > 9);
  await inFolder(async (folder) => {
    const lines = specifiers.map((each) => `import ${JSON.stringify(each)};\n`);
    await Deno.writeTextFile(`${folder}/cells.ts`, lines.join(""));
    assertEquals((await packagesOf(`${folder}/cells.ts`)).all, [...SANDBOX, "zod"]);
  });
});

Deno.test("the lock file of what users run lists what they run, and nothing else", () => {
  const { npm } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.lock`));
  const names = Object.keys(npm).map((id) => id.replace(/(.)@.*/, "$1"));
  assertEquals(names.sort(), [...SANDBOX, "zod"]);
});
