/** The released files, which `deno task build` writes into `dist/` before these tests. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { lackOf, lackOfPrograms, testNeeding } from "../../support/needs.ts";
import { DIST, PACKAGE } from "./consumer.ts";

async function run(command: string, args: string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await outputOf(command, { args, cwd, env: { NO_COLOR: "1" } });
  return stdout + stderr;
}

const FILES = [
  ...["CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "cli.d.ts", "cli.js", "cli.js.map"],
  ...["deno.json", "mod.d.ts", "mod.js", "mod.js.map", "needs_deno.js", "notebook.d.ts"],
  ...["notebook.js", "notebook.js.map", "package.json", "platform_auth.py", "redis.d.ts"],
  ...["redis.js", "redis.js.map", "sandbox.d.ts", "sandbox.js", "sandbox.js.map"],
];

Deno.test("deno publish accepts all files", async () => {
  const output = await run(
    Deno.execPath(),
    ["publish", "--dry-run", "--allow-dirty", "--no-check"],
    DIST,
  );
  const files = [...output.matchAll(/dist\/(\S+) \(/g)].map(([, name]) => name);
  assertEquals(files, FILES, output);
  assertStringIncludes(output, `of ${PACKAGE.name}@${PACKAGE.version} with`);
  assertStringIncludes(output, "Success Dry run complete");
});

const CLI_FILES = [
  ...["LICENSE", "NOTICE", "README.md", "cli.js", "launcher.cjs", "package.json"],
  "platform_auth.py",
];
const PACKAGES: [folder: string, name: string, files: string[]][] = [
  [DIST, PACKAGE.name, FILES],
  [`${DIST}npm-cli`, "@platform-auth/cli", CLI_FILES],
];
const noNpm = await lackOf("npm", "--version");
for (const [folder, named, expected] of PACKAGES) {
  testNeeding(noNpm, `npm publish accepts all files of ${named}`, async () => {
    const args = ["pack", "--dry-run", "--offline", "--json"];
    const { stdout } = await outputOf("npm", { args, cwd: folder });
    const [{ name, version, files }] = JSON.parse(stdout);
    assertEquals([name, version], [named, PACKAGE.version]);
    assertEquals(files.map(({ path }: { path: string }) => path).sort(), expected);
  });
}

Deno.test("npm fetches no dependency of the packages except Deno, and runs no install script", () => {
  const [module, cli] = [DIST, `${DIST}npm-cli/`].map((folder) =>
    JSON.parse(Deno.readTextFileSync(`${folder}package.json`))
  );
  assertEquals(Object.keys(module).filter((key) => /dependencies$/i.test(key)), []);
  assertEquals([cli.dependencies, cli.scripts], [undefined, undefined]);
  assert(Object.keys(cli.optionalDependencies).every((name) => name.startsWith("@deno/")));
});

testNeeding(
  // Without Node, Deno runs itself as "node".
  lackOfPrograms("node"),
  "importing the package in Node fails with the advice to use Deno",
  () =>
    inFolder(async (folder) => {
      const installed = `${folder}/node_modules/${PACKAGE.name}`;
      await Deno.mkdir(installed.replace(/\/[^/]+$/, ""), { recursive: true });
      await Deno.symlink(DIST, installed);
      // Node looks for the name before it runs any code.
      const imports = [
        `{ login } from "${PACKAGE.name}"`,
        ...["notebook", "redis", "sandbox", "cli"].map((entry) => `"${PACKAGE.name}/${entry}"`),
      ];
      for (const what of imports) {
        await Deno.writeTextFile(`${folder}/main.mjs`, `import ${what};`);
        const output = await run("node", ["main.mjs"], folder);
        assertMatch(output, /^Error: Cannot load .* run your program with Deno [\d.]+ or later/m);
      }
    }),
);

Deno.test("NOTICE names each bundled package with its license", () => {
  const notice = Deno.readTextFileSync(`${DIST}NOTICE`);
  for (const name of ["@noble/hashes", "hono", "jose", "otpauth", "zod"]) {
    assertMatch(notice, new RegExp(`^${name}@\\d[^]+?^MIT License|^${name}@\\d[^]+?The MIT`, "m"));
  }
});
