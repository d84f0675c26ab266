import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);

/** What a module imports: its own modules by path, the others as they are written. */
interface Imports {
  readonly own: string[];
  readonly specifiers: string[];
}

interface Dependency {
  readonly specifier: string;
  readonly code?: { readonly specifier?: string };
  readonly type?: { readonly specifier?: string };
}

/** The modules that an entry point reaches, types included, as `deno info` sees them. */
async function graphOf(entry: string): Promise<Map<string, Imports>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL(entry, ROOT).href],
    stderr: "null",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout));
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

function pathOf(specifier: string): string {
  return specifier.slice(ROOT.href.length);
}

/** The first way from a module back to itself. */
function cycleIn(graph: Map<string, Imports>): string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, way: string[]): string[] | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of graph.get(path)?.own ?? []) {
      const cycle = visit(next, [...way, path]);
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return undefined;
}

const client = await graphOf("mod.ts");
/** With the command line, which starts the sandbox as well. */
const commands = new Map(
  [...await graphOf("src/cli.ts")].filter(([path]) => !path.startsWith("src/sandbox/")),
);
const toolkit = await graphOf("src/notebook/mod.ts");
const sandbox = await graphOf("src/sandbox/main.ts");
const demo = await graphOf("src/demo/main.ts");

Deno.test("imports run one way, those of types included", () => {
  for (const graph of [client, toolkit, sandbox, demo]) assertEquals(cycleIn(graph), undefined);
});

/** The floors of the client, from the top: a file imports from its own floor and from those below. */
const FLOORS = [
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

/** The floors of the sandbox, from the top. */
const SANDBOX_FLOORS = [
  "src/sandbox/main.ts",
  "src/sandbox/mod.ts",
  "src/sandbox/start_sandbox.ts",
  "src/sandbox/sandbox.ts",
  "src/sandbox/portal/",
  "src/sandbox/data_api/",
  "src/sandbox/identity_provider/",
  "src/sandbox/",
];

/** The floors of the demo, from the top; below them are the two public modules that it shows. */
const DEMO_FLOORS = [
  "src/demo/main.ts",
  "src/demo/",
  "mod.ts",
  "src/sandbox/mod.ts",
];

function floorOf(path: string, floors: readonly string[]): number {
  return floors.findIndex((floor) => floor.endsWith("/") ? path.startsWith(floor) : path === floor);
}

/** The imports that lead to a floor above, or out of the house. */
function upwardIn(graph: Map<string, Imports>, floors: readonly string[]): string[] {
  return [...graph].flatMap(([path, { own }]) =>
    own.filter((target) => floorOf(target, floors) < floorOf(path, floors))
      .map((target) => `${path} -> ${target}`)
  );
}

/** The part of a graph whose modules are in a folder. */
function within(folder: string, graph: Map<string, Imports>): Map<string, Imports> {
  return new Map([...graph].filter(([path]) => path.startsWith(folder)));
}

/** A graph of one import. */
function planted(from: string, to: string): Map<string, Imports> {
  return new Map([[from, { own: [to], specifiers: [] }]]);
}

Deno.test("imports run from one floor to those below", () => {
  for (const graph of [client, toolkit, commands]) {
    assertEquals([...graph.keys()].filter((path) => floorOf(path, FLOORS) < 0), []);
    // The command line may start the sandbox, as anybody does.
    const start = /^src\/cli\b.* -> src\/sandbox\/main\.ts$/;
    assertEquals(upwardIn(graph, FLOORS).filter((each) => !start.test(each)), []);
  }
  const found = upwardIn(planted("src/platform/a.ts", "src/session/b.ts"), FLOORS);
  assertEquals(found, ["src/platform/a.ts -> src/session/b.ts"]);
});

Deno.test("imports of the sandbox run from one floor to those below", () => {
  assertEquals(upwardIn(sandbox, SANDBOX_FLOORS), []);
  const [portal, api, provider] = ["portal", "data_api", "identity_provider"]
    .map((folder) => `src/sandbox/${folder}/a.ts`);
  for (
    const [from = "", to = ""] of [
      ["src/sandbox/options.ts", provider],
      [provider, api],
      [api, portal],
      [portal, "src/sandbox/sandbox.ts"],
      ["src/sandbox/sandbox.ts", "src/sandbox/mod.ts"],
      ["src/sandbox/options.ts", "src/errors/errors.ts"],
    ]
  ) {
    assertEquals(upwardIn(planted(from, to), SANDBOX_FLOORS), [`${from} -> ${to}`]);
  }
});

Deno.test("the demo uses the two public modules only, and nobody uses the demo", () => {
  assertEquals(upwardIn(within("src/demo/", demo), DEMO_FLOORS), []);
  for (const graph of [client, commands, sandbox]) {
    assertEquals([...within("src/demo/", graph).keys()], []);
  }
  for (
    const [from, to] of [
      ["src/demo/transcript.ts", "src/demo/main.ts"],
      ["src/demo/transcript.ts", "src/sandbox/sandbox.ts"],
      ["src/demo/transcript.ts", "src/errors/errors.ts"],
    ] as const
  ) {
    assertEquals(upwardIn(planted(from, to), DEMO_FLOORS), [`${from} -> ${to}`]);
  }
});

Deno.test("the toolkit for notebooks knows no session, and nobody needs the toolkit", () => {
  const below = /^src\/(notebook|platform|errors)\//;
  assertEquals([...toolkit.keys()].filter((path) => !below.test(path)), []);
  for (const graph of [client, commands, sandbox, demo]) {
    assertEquals([...within("src/notebook/", graph).keys()], []);
  }
});

Deno.test("the client imports nothing of the sandbox, and the sandbox nothing of the client", () => {
  assertEquals([...client.keys()].filter((path) => path.startsWith("src/sandbox/")), []);
  assertEquals([...sandbox.keys()].filter((path) => !path.startsWith("src/sandbox/")), []);
});

Deno.test("whoever imports the module needs no import map: packages are named in full", () => {
  for (const [path, { specifiers }] of [...client, ...toolkit, ...sandbox]) {
    for (const specifier of specifiers) {
      const whole =
        /^\.{1,2}\/[\w./-]+\.(ts|svg|css|js|base64)$|^node:\w+$|^npm:[@\w/-]+@\^\d[\d.]*(\/[\w./-]+)?$/;
      assert(whole.test(specifier), `${path} imports ${specifier}`);
    }
  }
});
