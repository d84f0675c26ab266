import { assert, assertEquals } from "@std/assert";
import { outputOf } from "../support/child_deno.ts";

const ROOT = new URL("../../", import.meta.url);

/** A module in the output of `deno info`. */
interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string };
    readonly type?: { readonly specifier?: string };
  }[];
}

/** An import: the importing file, the specifier as written, and the file; without it, a package. */
interface Import {
  readonly path: string;
  readonly specifier: string;
  readonly target: string | undefined;
}

const pathOf = (address = ""): string | undefined =>
  address.startsWith(ROOT.href) ? address.slice(ROOT.href.length) : undefined;

/** The imports in an entry point and in all files below it, including those of types. */
async function importsBelow(entry: string): Promise<Import[]> {
  const args = ["info", "--json", new URL(entry, ROOT).href];
  const { stdout } = await outputOf(Deno.execPath(), { args });
  const { modules }: { modules: Module[] } = JSON.parse(stdout);
  const found = modules.flatMap(({ specifier, dependencies = [] }) => {
    const path = pathOf(specifier);
    return path === undefined ? [] : dependencies.map(({ specifier, code, type }) => ({
      path,
      specifier,
      target: pathOf(code?.specifier ?? type?.specifier),
    }));
  });
  assert(found.length > 3, `${entry} has ${found.length} imports`);
  return found;
}

const ENTRIES = [
  ...["mod.ts", "src/notebook/mod.ts", "src/redis/mod.ts", "src/sandbox/mod.ts"],
  ...["src/cli.ts", "src/demo/main.ts"],
];
const all = (await Promise.all(ENTRIES.map(importsBelow))).flat();

/** The layers from the top: a file imports only from its own layer and those below. */
const LAYERS = [
  "src/demo/main.ts",
  "src/demo/",
  "src/cli.ts",
  "src/cli/",
  "src/sandbox/command_line.ts",
  "src/sandbox/mod.ts",
  "src/sandbox/start_sandbox.ts",
  "src/sandbox/sandbox.ts",
  "src/sandbox/portal/",
  "src/sandbox/data_api/",
  "src/sandbox/identity_provider/",
  "src/sandbox/",
  "mod.ts",
  "src/default_session.ts",
  "src/session.ts",
  "src/doctor/",
  "src/show/",
  "src/api/",
  "src/session/",
  "src/redis/",
  "src/provider/",
  "src/settings/",
  "src/files/",
  "src/notebook/",
  "src/platform/",
  "src/errors/",
  // The texts that the commands explain and python print.
  "docs/",
  "python/",
  "deno.json",
];

function layerOf(path: string): number {
  const at = LAYERS.findIndex((layer) =>
    layer.endsWith("/") ? path.startsWith(layer) : path === layer
  );
  assert(at >= 0, `${path} is in no layer`);
  return at;
}

function programOf(path: string): string {
  return /^src\/(sandbox|demo)\//.exec(path)?.[1] ?? "client";
}

Deno.test("a file imports only from its own layer and those below", () => {
  const upward = all.filter(({ path, target }) =>
    target !== undefined && layerOf(target) < layerOf(path)
  );
  assertEquals(upward, []);
});

Deno.test("the client, the sandbox and the demo import only listed modules from each other", () => {
  const crossings = all.filter(({ path, target = path }) => programOf(path) !== programOf(target))
    .map(({ path, target }) => `${path.replace(/^src\/demo\/.*/, "demo")} -> ${target}`);
  assertEquals([...new Set(crossings)].sort(), [
    "demo -> mod.ts",
    "demo -> src/sandbox/mod.ts",
    "src/cli/commands/sandbox.ts -> src/sandbox/command_line.ts",
    "src/cli/commands/sandbox.ts -> src/sandbox/start_sandbox.ts",
  ]);
});

Deno.test("the module can be imported without an import map", () => {
  // Packages are imported by their full specifiers.
  const full =
    /^\.{1,2}\/[\w./-]+\.(ts|svg|css|js|base64|md|py|json)$|^node:\w+$|^npm:[@\w/-]+@\d+\.\d+\.\d+(\/[\w./-]+)?$/;
  assertEquals(all.filter(({ specifier }) => !full.test(specifier)), []);
});
