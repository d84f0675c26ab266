/**
 * The released files, which `deno task build` writes into `dist/` before these tests: they are made the
 * same everywhere, registries take them, and they work where nothing else of this project is.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { inFolder } from "../../support/child_deno.ts";
import { lackOf, testNeeding } from "../../support/needs.ts";
import { DIST, PACKAGE } from "./consumer.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

async function run(command: string, args: string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(command, {
    args,
    cwd,
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  return [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
}

/** The texts of all files in a folder and its folders, by path. */
function contentsOf(folder: string, path = ""): Map<string, string> {
  const entries = [...Deno.readDirSync(`${folder}/${path}`)].map(({ name, isDirectory }) => {
    const inside = `${path}${name}`;
    return isDirectory
      ? [...contentsOf(folder, `${inside}/`)]
      : [[inside, Deno.readTextFileSync(`${folder}/${inside}`)] as const];
  });
  return new Map(entries.flat().sort(([a], [b]) => a < b ? -1 : 1));
}

Deno.test("the source in another folder makes the same bytes", () =>
  inFolder(async (copy) => {
    const { stdout } = await new Deno.Command("git", {
      args: ["ls-files", "-co", "--exclude-standard", "--deduplicate"],
      cwd: ROOT,
    }).output();
    for (const path of new TextDecoder().decode(stdout).trim().split("\n")) {
      await Deno.mkdir(`${copy}/${path}`.replace(/\/[^/]+$/, ""), { recursive: true });
      await Deno.copyFile(`${ROOT}${path}`, `${copy}/${path}`).catch(ignoreRemoved);
    }
    const told = await run(Deno.execPath(), ["task", "--quiet", "build"], copy);
    assertStringIncludes(told, "mod.js");
    const [here, there] = [DIST, `${copy}/dist`].map((folder) => contentsOf(folder));
    assertEquals([...here?.keys() ?? []], [...there?.keys() ?? []]);
    const differing = [...here ?? []].filter(([name, text]) => there?.get(name) !== text);
    assertEquals(differing.map(([name]) => name), []);
  }));

function ignoreRemoved(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

const FILES = [
  ...["CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "cli.d.ts", "cli.js", "cli.js.map"],
  ...["deno.json", "mod.d.ts", "mod.js", "mod.js.map", "notebook.d.ts", "notebook.js"],
  ...["notebook.js.map", "package.json", "sandbox.d.ts", "sandbox.js", "sandbox.js.map"],
];

Deno.test("deno publish would take all files", async () => {
  const told = await run(
    Deno.execPath(),
    ["publish", "--dry-run", "--allow-dirty", "--no-check"],
    DIST,
  );
  const files = [...told.matchAll(/dist\/(\S+) \(/g)].map(([, name]) => name);
  assertEquals(files, FILES, told);
  assertStringIncludes(told, `of ${PACKAGE.name}@${PACKAGE.version} with`);
  assertStringIncludes(told, "Success Dry run complete");
});

const noNpm = await lackOf("npm", "--version");
const CLI_FILES = ["LICENSE", "NOTICE", "README.md", "cli.js", "launcher.cjs", "package.json"];
for (
  const [folder, named, expected] of [
    [DIST, PACKAGE.name, FILES],
    [`${DIST}npm-cli`, "@platform-auth/cli", CLI_FILES],
  ] as const
) {
  testNeeding(noNpm, `npm publish would take all files of ${named}`, async () => {
    const told = await run("npm", ["pack", "--dry-run", "--offline", "--json"], folder);
    const [{ name, version, files }] = JSON.parse(
      told.slice(told.search(/^\[/m), told.search(/^\]/m) + 1),
    );
    assertEquals([name, version], [named, PACKAGE.version]);
    assertEquals(files.map(({ path }: { path: string }) => path).sort(), expected);
  });
}

Deno.test("who imports the package fetches nothing else, and npm runs no script of the command line's", () => {
  const [module, cli] = [DIST, `${DIST}npm-cli/`].map((folder) =>
    JSON.parse(Deno.readTextFileSync(`${folder}package.json`))
  );
  assertEquals(Object.keys(module).filter((key) => /dependencies$/i.test(key)), []);
  assertEquals([cli.dependencies, cli.scripts], [undefined, undefined]);
  assert(Object.keys(cli.optionalDependencies).every((name) => name.startsWith("@deno/")));
});

testNeeding(
  await lackOf("node", "--version"),
  "Node says at import that Deno is needed",
  () =>
    inFolder(async (folder) => {
      const installed = `${folder}/node_modules/${PACKAGE.name}`;
      await Deno.mkdir(installed.replace(/\/[^/]+$/, ""), { recursive: true });
      await Deno.symlink(DIST, installed);
      for (const entry of ["", "/notebook", "/sandbox", "/cli"]) {
        const script = `import * as module from "${PACKAGE.name}${entry}"; console.log(module);`;
        await Deno.writeTextFile(`${folder}/main.mjs`, script);
        const told = await run("node", ["main.mjs"], folder);
        const errors = told.match(/^\w*Error.*$/gm);
        assertEquals(errors, [
          `Error: Cannot load ${PACKAGE.name}: it needs Deno, and this is another runtime; run your ` +
          "program with Deno 2.9.1 or later (https://deno.com)",
        ]);
      }
    }),
);

Deno.test("the build names each bundled package with its license, and maps no source outside the project", () => {
  const notice = Deno.readTextFileSync(`${DIST}NOTICE`);
  for (const name of ["hono", "jose", "zod"]) {
    assertMatch(notice, new RegExp(`^${name}@\\d[^]+?^MIT License|^${name}@\\d[^]+?The MIT`, "m"));
  }
  for (const entry of ["mod", "notebook", "sandbox", "cli"]) {
    const { sources } = JSON.parse(Deno.readTextFileSync(`${DIST}${entry}.js.map`));
    const known = /^(src\/[\w/.-]+|docs\/\w+\.md|mod\.ts|deno\.json|\.env\.example|(npm|node):.+)$/;
    assertEquals(sources.filter((source: string) => !known.test(source)), []);
  }
});
