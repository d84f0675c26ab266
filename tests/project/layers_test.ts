import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);

/** The imports of a module: its own modules by path, all others as written. */
interface Imports {
  readonly own: readonly string[];
  readonly specifiers: readonly string[];
}

type Graph = ReadonlyMap<string, Imports>;

interface Dependency {
  readonly specifier: string;
  readonly code?: { readonly specifier?: string };
  readonly type?: { readonly specifier?: string };
}

/** The modules that an entry point reaches, including types, according to `deno info`. */
async function graphOf(entry: string): Promise<Graph> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL(entry, ROOT).href],
    stderr: "null",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout));
  const pathOf = (specifier: string) => specifier.slice(ROOT.href.length);
  const graph = new Map<string, Imports>();
  for (const module of modules) {
    if (!module.specifier.startsWith(ROOT.href)) continue;
    const dependencies: Dependency[] = module.dependencies ?? [];
    const targets = dependencies.flatMap(({ code, type }) => [code?.specifier, type?.specifier])
      .filter((it) => it?.startsWith(ROOT.href)).map((it) => pathOf(it ?? ""));
    graph.set(pathOf(module.specifier), {
      own: [...new Set(targets)],
      specifiers: dependencies.map(({ specifier }) => specifier),
    });
  }
  assert(graph.size > 3, `${entry} reaches ${graph.size} modules`);
  return graph;
}

const [client, cli, toolkit, sandboxModule, demo] = await Promise.all(
  ["mod.ts", "src/cli.ts", "src/notebook/mod.ts", "src/sandbox/mod.ts", "src/demo/main.ts"]
    .map(graphOf),
) as [Graph, Graph, Graph, Graph, Graph];
/** The command line without the sandbox that it starts. */
const commands = new Map([...cli].filter(([path]) => !path.startsWith("src/sandbox/")));
const sandbox = new Map([...sandboxModule, ...within("src/sandbox/", cli)]);

/** The layers of the client, from the top: a file imports from its own layer and those below. */
const CLIENT = [
  "mod.ts",
  "src/cli.ts",
  "src/cli/",
  "src/default_session.ts",
  "src/session.ts",
  "src/doctor/",
  "src/show/",
  "src/api/",
  "src/session/",
  "src/provider/",
  "src/settings/",
  "src/notebook/",
  "src/platform/",
  "src/errors/",
  // Text that a command prints.
  "docs/",
  "deno.json",
  ".env.example",
];
const SANDBOX = [
  "src/sandbox/command_line.ts",
  "src/sandbox/mod.ts",
  "src/sandbox/start_sandbox.ts",
  "src/sandbox/sandbox.ts",
  "src/sandbox/portal/",
  "src/sandbox/data_api/",
  "src/sandbox/identity_provider/",
  "src/sandbox/",
];
/** The demo uses the two public modules only. */
const DEMO = ["src/demo/main.ts", "src/demo/", "mod.ts", "src/sandbox/mod.ts"];

function layerOf(path: string, layers: readonly string[]): number {
  return layers.findIndex((layer) => layer.endsWith("/") ? path.startsWith(layer) : path === layer);
}

/** The imports that lead to a layer above, or to none of the layers. */
function upwardIn(graph: Graph, layers: readonly string[]): string[] {
  return [...graph].flatMap(([path, { own }]) =>
    own.filter((target) => layerOf(target, layers) < layerOf(path, layers))
      .map((target) => `${path} -> ${target}`)
  );
}

function within(folder: string, graph: Graph): Graph {
  return new Map([...graph].filter(([path]) => path.startsWith(folder)));
}

Deno.test("a file imports only from its own layer and those below", () => {
  const all = [[client, CLIENT], [toolkit, CLIENT], [commands, CLIENT], [
    sandbox,
    SANDBOX,
  ]] as const;
  for (const [graph, layers] of all) {
    assertEquals([...graph.keys()].filter((path) => layerOf(path, layers) < 0), []);
    // The command line may start the sandbox, as anybody may.
    const start = /^src\/cli\/commands\/sandbox\.ts -> src\/sandbox\//;
    assertEquals(upwardIn(graph, layers).filter((each) => !start.test(each)), []);
  }
  assertEquals(upwardIn(within("src/demo/", demo), DEMO), []);
});

Deno.test("importing the module needs no import map: packages are imported by their full specifiers", () => {
  for (const [path, { specifiers }] of [...client, ...toolkit, ...sandbox]) {
    for (const specifier of specifiers) {
      const whole =
        /^\.{1,2}\/[\w./-]+\.(ts|svg|css|js|base64)$|^node:\w+$|^npm:[@\w/-]+@\^?\d[\d.]*(\/[\w./-]+)?$/;
      assert(whole.test(specifier), `${path} imports ${specifier}`);
    }
  }
});
