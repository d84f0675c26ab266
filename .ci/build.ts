/**
 * Writes the files that are released: `deno task build [folder]`, into `dist/` unless a folder is given.
 *
 * Each entry point becomes one module with its declarations, so that an import is one request and needs
 * no package. The same source gives the same bytes, in whatever folder it is.
 */
import { generateDtsBundle } from "dts-bundle-generator";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The modules that users import, with their source. */
const ENTRIES = {
  mod: "mod.ts",
  notebook: "src/notebook/mod.ts",
  redis: "src/redis/mod.ts",
  sandbox: "src/sandbox/mod.ts",
  cli: "src/cli.ts",
};

const read = (name: string): string => Deno.readTextFileSync(`${ROOT}${name}`);
const found = (file: string, pattern: RegExp): string => {
  const [, first] = pattern.exec(read(file)) ?? [];
  if (first === undefined) throw new Error(`Cannot build: ${file} has no ${pattern}`);
  return first;
};

const VERSION = found("deno.json", /^ {2}"version": "(.+)"/m);
const NAME = found("deno.json", /^ {2}"name": "(.+)"/m);
/** The address of the public repository; `undefined` while it has none. */
const [, REPOSITORY] = /^ {2}"repository": "(https:.+)"/m.exec(read("deno.json")) ?? [];
const OLDEST = found("README.md", /Deno from (\d+\.\d+\.\d+)/);
/** The version of Deno that builds a release. Another version may write other bytes. */
const BUILDER = found(".github/workflows/publish.yml", /deno-version: (.+)/);

/** Bundles a module. Of the two files, the one with the longer path is the source map. */
async function bundled(source: string, file: string, minify: boolean) {
  const { outputFiles = [] } = await Deno.bundle({
    entrypoints: [`${ROOT}${source}`],
    outputPath: file,
    minify,
    // The module has no link to its map, which Deno would read at the first error: that takes 8 ms.
    sourcemap: "external",
    write: false,
  });
  const [code, map] = outputFiles.sort((a, b) => a.path.length - b.path.length);
  if (!code || !map) throw new Error(`Cannot build: Deno does not bundle ${source}`);
  return { code: code.text(), map: map.text() };
}

async function writeModules(out: string): Promise<void> {
  for (const [entry, source] of Object.entries(ENTRIES)) {
    const file = `${out}/${entry}.js`;
    const { code, map } = await bundled(source, file, true);
    const whole = await bundled(source, file, false);
    // esbuild 0.25, which Deno runs, wrongly turns `using x = f(); g(x);` into `g(f());`.
    const kept = code.match(/\busing [$\w]+=/g)?.length;
    if (kept !== whole.code.match(/^ *(await )?using [$\w]+ =/gm)?.length) {
      throw new Error(
        `Cannot build: in ${source}, or in what it imports, the minifier drops a \`using\` whose ` +
          "variable is mentioned only once, in the next statement; mention it twice, or use `finally`",
      );
    }
    const head = [
      ...(entry === "cli" ? ["#!/usr/bin/env -S deno run -A"] : []),
      `/* @ts-self-types="./${entry}.d.ts" */`,
    ];
    await Deno.writeTextFile(file, [...head, code].join("\n"));
    await Deno.writeTextFile(`${file}.map`, portable(map, out, head.length));
  }
}

/**
 * Returns the source map with file names that do not depend on the folder of the build.
 *
 * @param shift Number of lines in the module before the code that the map describes.
 */
function portable(text: string, out: string, shift: number): string {
  const map: { sources: string[]; mappings: string } = JSON.parse(text);
  const sources = map.sources.map((source) => {
    const path = resolve(out, source);
    if (path.startsWith(ROOT)) return path.slice(ROOT.length);
    // In Deno's cache, the host of the registry precedes the package.
    return path.replace(/.*\/npm\/[^/]+\/(@[^/]+\/[^/]+|[^/]+)\/([^/]+)\//, "npm:$1@$2/");
  });
  return JSON.stringify({ ...map, sources, mappings: ";".repeat(shift) + map.mappings });
}

/** The file that a runtime other than Deno loads instead of a module. */
const REFUSAL = "needs_deno.js";

/**
 * Writes a module whose error says that the package needs Deno. The module has the names of all
 * exports, because a runtime looks for these names before it runs any code.
 */
async function writeRefusal(out: string): Promise<void> {
  const modules = Object.keys(ENTRIES).map((entry) =>
    import(pathToFileURL(`${out}/${entry}.js`).href)
  );
  const names = new Set((await Promise.all(modules)).flatMap(Object.keys));
  const problem = `Cannot load ${NAME}: it needs Deno, and this is another runtime; run your ` +
    `program with Deno ${OLDEST} or later (https://deno.com)`;
  const text = `throw new Error("${problem}");\nexport let ${[...names].join(", ")};\n`;
  await Deno.writeTextFile(`${out}/${REFUSAL}`, text);
}

/** Writes the declarations of all exports, with their comments: one file for each module. */
async function writeDeclarations(out: string): Promise<void> {
  const scratch = await Deno.makeTempDir();
  const config = `${scratch}/tsconfig.json`;
  // Instead of the declarations of packages, empty files are read. Only Observable Plot stays an
  // import, because public types use it: its empty file is in `node_modules`.
  const packages = `${scratch}/packages.d.ts`;
  const plot = `${scratch}/node_modules/plot/index.d.ts`;
  try {
    await Deno.mkdir(dirname(plot), { recursive: true });
    await Deno.writeTextFile(`${dirname(plot)}/package.json`, '{ "name": "plot" }');
    await Deno.writeTextFile(plot, "export {};\n");
    await Deno.writeTextFile(packages, "export {};\n");
    // `deno task check` has checked the types, and every export states its type.
    const compilerOptions = {
      noCheck: true,
      noEmit: true,
      strict: true,
      allowImportingTsExtensions: true,
      target: "esnext",
      module: "esnext",
      moduleResolution: "bundler",
      lib: ["esnext", "webworker"],
      types: [],
      paths: { "npm:*": [packages], "npm:@observablehq/plot@*": [plot] },
    };
    await Deno.writeTextFile(config, JSON.stringify({ compilerOptions }));
    const output = { noBanner: true, exportReferencedTypes: false };
    const bundles = generateDtsBundle(
      Object.values(ENTRIES).map((source) => ({ filePath: `${ROOT}${source}`, output })),
      { preferredConfigPath: config },
    );
    for (const [index, [entry, source]] of Object.entries(ENTRIES).entries()) {
      const about = found(source, /^(\/\*\*[^]*?\*\/\n)/).replaceAll('"./mod.ts"', `"${NAME}"`);
      await Deno.writeTextFile(`${out}/${entry}.d.ts`, `${about}${bundles[index]}`);
    }
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Search terms for the registries. */
const KEYWORDS =
  "deno jupyter notebook data-science authentication login token jwt refresh-token mfa cognito dotenv"
    .split(" ");

/** What the packages on npm have in common. */
const PUBLISHED = {
  version: VERSION,
  license: found("deno.json", /^ {2}"license": "(.+)"/m),
  ...(REPOSITORY && { repository: { type: "git", url: `git+${REPOSITORY}.git` } }),
};

async function writeJson(file: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** The subfolder for the npm package that installs Deno, too. */
const CLI_PACKAGE = "npm-cli";

/** Writes the metadata for npm and JSR. */
async function writeMetadata(out: string): Promise<void> {
  const exports = Object.keys(ENTRIES).map((entry) => ({
    as: entry === "mod" ? "." : `./${entry}`,
    types: `./${entry}.d.ts`,
    deno: `./${entry}.js`,
  }));
  await writeJson(`${out}/package.json`, {
    name: NAME,
    ...PUBLISHED,
    description: found("mod.ts", /^\/\*\*\n \* ([^]+?)\.\s/).replaceAll("\n * ", " "),
    keywords: KEYWORDS,
    type: "module",
    sideEffects: false,
    engines: { deno: `>=${OLDEST}` },
    exports: Object.fromEntries(
      exports.map(({ as, ...files }) => [as, { ...files, default: `./${REFUSAL}` }]),
    ),
    types: "./mod.d.ts",
    bin: { "platform-auth": "cli.js" },
    files: ["/*", `!/${CLI_PACKAGE}`],
    publishConfig: { access: "public" },
  });
  await writeJson(`${out}/deno.json`, {
    name: NAME,
    version: VERSION,
    license: PUBLISHED.license,
    exports: Object.fromEntries(exports.map(({ as, deno }) => [as, deno])),
    // Without this line, the package.json in this folder would forbid loading packages on demand.
    nodeModulesDir: "none",
    lock: false,
    // Git ignores this folder. Files that git ignores are published only if they are listed here.
    publish: { exclude: ["!**/*", CLI_PACKAGE] },
  });
}

/** The file for Python. */
const PYTHON = "platform_auth.py";

/** Writes the texts for people, the file for Python, and the licenses of the bundled packages. */
async function writeTexts(out: string): Promise<void> {
  for (const name of ["README.md", "CHANGELOG.md", "LICENSE"]) {
    await Deno.copyFile(`${ROOT}${name}`, `${out}/${name}`);
  }
  await Deno.copyFile(`${ROOT}python/${PYTHON}`, `${out}/${PYTHON}`);
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    // The command line imports every package that any module imports.
    args: ["info", "--quiet", "--json", "--lock=deno.lock", "--frozen", ENTRIES.cli],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot build: deno info does not list the packages");
  const { npmPackages }: { npmPackages: Record<string, { localPath: string }> } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const licenses = Object.entries(npmPackages).map(([id, { localPath }]) => {
    const file = [...Deno.readDirSync(localPath)].find(({ name }) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`Cannot build: ${id} has no license file`);
    return `${id}\n\n${Deno.readTextFileSync(`${localPath}/${file.name}`).trim()}\n`;
  });
  const intro = "These packages are part of the modules here, under their own licenses.\n";
  await Deno.writeTextFile(`${out}/NOTICE`, [intro, ...licenses].join("\n"));
}

/** Writes the package for Node: the command line, and a launcher that runs it with Deno. */
async function writeCliPackage(out: string): Promise<void> {
  const folder = `${out}/${CLI_PACKAGE}`;
  await Deno.mkdir(folder);
  const { name, ...rest } = JSON.parse(read(".ci/npm/package.json"));
  await writeJson(`${folder}/package.json`, { name, ...PUBLISHED, keywords: KEYWORDS, ...rest });
  for (const name of ["launcher.cjs", "README.md"]) {
    await Deno.copyFile(`${ROOT}.ci/npm/${name}`, `${folder}/${name}`);
  }
  for (const name of ["cli.js", "LICENSE", "NOTICE", PYTHON]) {
    await Deno.copyFile(`${out}/${name}`, `${folder}/${name}`);
  }
}

if (import.meta.main) {
  if (Deno.version.deno !== BUILDER) {
    console.error(
      `Cannot build: a release is built with Deno ${BUILDER}, and this is Deno ` +
        `${Deno.version.deno}; run: npx --yes deno@${BUILDER} task build`,
    );
    Deno.exit(1);
  }
  const out = resolve(Deno.args[0] ?? `${ROOT}dist`);
  await Deno.mkdir(out, { recursive: true });
  for (const { name } of Deno.readDirSync(out)) {
    await Deno.remove(`${out}/${name}`, { recursive: true });
  }
  await writeModules(out);
  await writeRefusal(out);
  await writeDeclarations(out);
  await writeMetadata(out);
  await writeTexts(out);
  await writeCliPackage(out);
  const sizes = Object.keys(ENTRIES).map((entry) => {
    const kib = Deno.statSync(`${out}/${entry}.js`).size / 1024;
    return `${entry}.js ${kib.toFixed(0)} KiB`;
  });
  console.log(`${basename(dirname(out))}/${basename(out)}: ${sizes.join(", ")}`);
}
