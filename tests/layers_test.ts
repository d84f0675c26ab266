import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";

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
    args: ["info", "--json", fileURLToPath(new URL(entry, ROOT))],
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

function sources(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sources(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  );
}

/** The text of a module without its comments. */
function codeOf(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT))
    .replaceAll(/\/\*\*?[^]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

const client = await graphOf("mod.ts");
/** With the command line, which starts the sandbox as well. */
const commands = new Map(
  [...await graphOf("src/cli.ts")].filter(([path]) => !path.startsWith("src/sandbox/")),
);
const sandbox = await graphOf("src/sandbox/mod.ts");

Deno.test("imports run one way, those of types included", () => {
  for (const graph of [client, sandbox]) assertEquals(cycleIn(graph), undefined);
});

/** The floors of the client, from the top: a file imports from its own floor and from those below. */
const FLOORS = [
  "mod.ts",
  "src/cli.ts",
  "src/cli/",
  "src/default_session.ts",
  "src/session.ts",
  "src/doctor/",
  "src/display/",
  "src/api/",
  "src/session/",
  "src/provider/",
  "src/settings/",
  "src/dotenv/",
  "src/runtime/",
  "src/values/",
];

function floorOf(path: string): number {
  return FLOORS.findIndex((floor) => floor.endsWith("/") ? path.startsWith(floor) : path === floor);
}

/** The imports that lead to a floor above. */
function upwardIn(graph: Map<string, Imports>): string[] {
  return [...graph].flatMap(([path, { own }]) =>
    own.filter((target) => !target.startsWith("src/sandbox/") && floorOf(target) < floorOf(path))
      .map((target) => `${path} -> ${target}`)
  );
}

Deno.test("imports run from one floor to those below", () => {
  for (const graph of [client, commands]) {
    assertEquals([...graph.keys()].filter((path) => floorOf(path) < 0), []);
    assertEquals(upwardIn(graph), []);
  }
  const planted = new Map([["src/values/a.ts", { own: ["src/session/b.ts"], specifiers: [] }]]);
  assertEquals(upwardIn(planted), ["src/values/a.ts -> src/session/b.ts"]);
});

Deno.test("the client imports nothing of the sandbox, and the sandbox nothing of the client", () => {
  assertEquals([...client.keys()].filter((path) => path.startsWith("src/sandbox/")), []);
  assertEquals([...sandbox.keys()].filter((path) => !path.startsWith("src/sandbox/")), []);
});

Deno.test("only the card knows HTML", () => {
  const found = [...client.keys()].filter((path) => /<\/[a-z]+>/.test(codeOf(path)));
  assertEquals(found, ["src/display/card.ts"]);
});

Deno.test("whoever imports the module needs no import map: packages are named in full", () => {
  for (const [path, { specifiers }] of [...client, ...sandbox]) {
    for (const specifier of specifiers) {
      const whole =
        /^\.{1,2}\/[\w./-]+\.(ts|svg|css|js)$|^node:\w+$|^npm:[@\w/-]+@\^\d[\d.]*(\/[\w./-]+)?$/;
      assert(whole.test(specifier), `${path} imports ${specifier}`);
    }
  }
});

const words: [string, RegExp, string[]][] = [
  ["the operation", /InitiateAuth/, ["src/provider/initiate_auth.ts"]],
  ["the flows", /USER_PASSWORD_AUTH|REFRESH_TOKEN_AUTH/, ["src/provider/initiate_auth.ts"]],
  ["the target header", /X-(Vendor|Amz)-Target/i, ["src/provider/provider_settings.ts"]],
  ["the service", /IdentityProviderService/, ["src/provider/provider_settings.ts"]],
  ["the content type", /x-(vendor|amz)-json/, ["src/provider/provider_settings.ts"]],
  ["the fields of a request", /[{,(]\s*"?(AuthFlow|AuthParameters|UserPoolId|SECRET_HASH)"?:/, [
    "src/provider/initiate_auth.ts",
  ]],
  ["the fields of an answer", /AuthenticationResult|ChallengeName\b/, [
    "src/provider/initiate_auth.ts",
  ]],
  ["the names of errors", /[a-z]Exception"?\b/, ["src/provider/refusal.ts"]],
];
for (const [what, pattern, places] of words) {
  Deno.test(`the client knows ${what} of the wire in one place only`, () => {
    const found = [...client.keys()].filter((path) => pattern.test(codeOf(path)));
    assertEquals(found, places);
  });
}

Deno.test("nothing of the client waits or listens at import", () => {
  for (const path of client.keys()) {
    const code = codeOf(path);
    assert(
      !/^(await|for await)\b|^(const|let) .*= await\b/m.test(code),
      `${path} awaits at import`,
    );
    assert(!/^(setTimeout|setInterval|addEventListener|Deno\.)\b/m.test(code), path);
  }
});

Deno.test("no source file is longer than 300 lines", () => {
  for (const path of ["mod.ts", ...sources("src/")]) {
    const lines = Deno.readTextFileSync(new URL(path, ROOT)).split("\n").length - 1;
    assert(lines <= 300, `${path} has ${lines} lines`);
  }
});
