import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

interface Module {
  readonly specifier: string;
  readonly npmPackage?: string;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier?: string };
    readonly isDynamic?: boolean;
  }[];
}

/** The names of the npm packages that the import of a module fetches at once. */
async function packagesAtImport(path: string): Promise<string[]> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--quiet", "--json", "--no-lock", path],
    cwd: ROOT,
    stdin: "null",
  }).output();
  assert(success, path);
  const info: { roots: string[]; modules: Module[]; redirects: Record<string, string> } = JSON
    .parse(new TextDecoder().decode(stdout));
  const modules = new Map(info.modules.map((module) => [module.specifier, module]));
  const names = new Set<string>();
  const seen = new Set<string>();
  const visit = (specifier: string) => {
    const target = info.redirects[specifier] ?? specifier;
    if (seen.has(target)) return;
    seen.add(target);
    const { npmPackage, dependencies = [] } = modules.get(target) ?? {};
    if (npmPackage !== undefined) names.add(nameOf(npmPackage));
    for (const { code, isDynamic } of dependencies) {
      if (code?.specifier !== undefined && !isDynamic) visit(code.specifier);
    }
  };
  info.roots.forEach(visit);
  return [...names].sort();
}

const nameOf = (id: string): string => id.replace(/(.)@.*/, "$1");
const SANDBOX = ["hono", "jose"];

for (const path of ["mod.ts", "src/cli.ts", "src/notebook/mod.ts"]) {
  Deno.test(`the import of ${path} fetches no package`, async () => {
    assertEquals(await packagesAtImport(path), []);
  });
}

Deno.test("the import of the sandbox fetches its two packages", async () => {
  assertEquals(await packagesAtImport("src/sandbox/mod.ts"), SANDBOX);
});

Deno.test("the lock file of what users run lists what they run, and nothing else", () => {
  const { npm } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.lock`));
  assertEquals(Object.keys(npm).map(nameOf).sort(), [...SANDBOX, "zod"]);
});
