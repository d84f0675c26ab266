/**
 * Writes the files that are released: `deno task build [folder]`, into `dist/` unless a folder is given.
 *
 * Each entry point becomes one module with its declarations, so that an import is one request and needs
 * no package. The same source gives the same bytes, wherever it lies.
 */
import { generateDtsBundle } from "dts-bundle-generator";
import * as esbuild from "esbuild";
import { basename, dirname, posix, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { eager } from "./eager.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The modules that users import, with their source. */
const ENTRIES = {
  mod: "mod.ts",
  notebook: "src/notebook/mod.ts",
  redis: "src/redis/mod.ts",
  sandbox: "src/sandbox/mod.ts",
  cli: "src/cli.ts",
};

/** The package of each `npm:` specifier in the source, as the lock file of the users pins it. */
interface Packages {
  /** Such as `npm:zod@4.6.7/mini` -> `npm:/zod@4.6.7/mini`. */
  redirects: Record<string, string>;
  /** By name and version, with the place in Deno's cache. */
  npmPackages: Record<string, { name: string; localPath: string }>;
}

async function packages(): Promise<Packages> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    // The command line imports all that is imported anywhere.
    args: ["info", "--quiet", "--json", "--lock=deno.lock", "--frozen", ENTRIES.cli],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot build: deno info does not list the packages");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** The namespace of packages, so that no path of this machine gets into the output. */
const PACKAGE = { namespace: "npm" };

/**
 * Resolves what esbuild does not know: packages in Deno's cache, and the modules of Node's. The latter
 * are loaded by the code that needs them, because the first one delays the start by some milliseconds.
 */
function denoImports(
  entryPoint: string,
  modules: string,
  { redirects, npmPackages }: Packages,
): esbuild.Plugin {
  return {
    name: "deno-imports",
    setup(build) {
      build.onResolve({ filter: /^npm:/ }, async ({ path, kind }) => {
        const [, id = "", rest = ""] = /^npm:\/(.[^@]+@[^/]+)(.*)$/.exec(redirects[path] ?? "") ??
          [];
        const name = npmPackages[id]?.name;
        if (name === undefined) throw new Error(`Cannot build: deno.lock does not list ${path}`);
        const found = await build.resolve(`${name}${rest}`, { kind, resolveDir: modules });
        const { errors, sideEffects } = found;
        const inPackage = found.path.slice(`${modules}/${name}`.length).replaceAll("\\", "/");
        return {
          path: `${id}${inPackage}`,
          ...PACKAGE,
          errors,
          sideEffects,
          pluginData: sideEffects,
        };
      });
      build.onResolve(
        { filter: /^\./, ...PACKAGE },
        ({ path, importer, pluginData: sideEffects }) => ({
          path: posix.join(posix.dirname(importer), path),
          ...PACKAGE,
          sideEffects,
          pluginData: sideEffects,
        }),
      );
      build.onLoad({ filter: /./, ...PACKAGE }, ({ path, pluginData }) => {
        const [id = ""] = /^.[^@]+@[^/]+/.exec(path) ?? [];
        const file = `${npmPackages[id]?.localPath}${path.slice(id.length)}`;
        const contents = Deno.readTextFileSync(file);
        return { contents, pluginData };
      });
      build.onResolve({ filter: /^node:/ }, ({ path }) => ({
        path: path.slice("node:".length),
        namespace: "node",
      }));
      build.onLoad({ filter: /./, namespace: "node" }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule("node:${path}");`,
      }));
      // In one file with others, only the entry point is the main module.
      build.onLoad(
        { filter: /\.ts$/ },
        ({ path }) =>
          resolve(ROOT, path) === entryPoint ? undefined : {
            contents: Deno.readTextFileSync(path).replaceAll("import.meta.main", "false"),
            loader: "ts",
          },
      );
      // Only these two lines of the configuration are used.
      build.onLoad({ filter: /\/deno\.json$/ }, () => ({
        contents: JSON.stringify({ name: NAME, version: VERSION }),
        loader: "text",
      }));
    },
  };
}

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

/** The first lines of a module. Without them, it would fail later on another runtime, without a reason. */
function head(entry: string): string {
  return [
    ...(entry === "cli" ? ["#!/usr/bin/env -S deno run -A"] : []),
    `/* @ts-self-types="./${entry}.d.ts" */`,
    `if (typeof Deno === "undefined") throw new Error("Cannot load ${NAME}: it needs Deno, and this ` +
    `is another runtime; run your program with Deno ${OLDEST} or later (https://deno.com)");`,
  ].join("\n");
}

async function writeModules(out: string, used: Packages): Promise<void> {
  const scratch = await Deno.realPath(await Deno.makeTempDir());
  const modules = `${scratch}/node_modules`;
  try {
    await Deno.mkdir(modules);
    for (const { name, localPath } of Object.values(used.npmPackages)) {
      await Deno.symlink(localPath, `${modules}/${name}`, { type: "dir" });
    }
    for (const [entry, source] of Object.entries(ENTRIES)) {
      const entryPoint = resolve(ROOT, source);
      const file = `${out}/${entry}.js`;
      const { metafile, outputFiles: [bundle] } = await esbuild.build({
        entryPoints: [entryPoint],
        outfile: file,
        absWorkingDir: ROOT,
        write: false,
        bundle: true,
        metafile: true,
        format: "esm",
        platform: "neutral",
        conditions: ["deno"],
        sourcemap: "inline",
        preserveSymlinks: true,
        plugins: [denoImports(entryPoint, modules, used)],
      });
      const text = bundle?.text ?? "";
      const [exported = ""] = /^export \{[^}]*\};$/m.exec(text) ?? [];
      const { code, map } = await esbuild.transform(
        (entry === "mod" ? eager(text, metafile) : text).replace(exported, ""),
        {
          // ASCII is imported faster, because the runtime stores it in one byte per character.
          charset: "ascii",
          // Names inside functions get short. Those at the top level stay, for traces and profiles: of
          // a script, which exports nothing, esbuild takes them for names that others use.
          minify: true,
          legalComments: "none",
          // What the oldest runtime that must at least understand the first lines can parse.
          target: "node20",
          sourcemap: "external",
          sourcefile: file,
          banner: head(entry),
        },
      );
      const end = `${exported}\n//# sourceMappingURL=${basename(file)}.map\n`;
      await Deno.writeTextFile(file, `${code}${end}`);
      await Deno.writeTextFile(`${file}.map`, portable(map, out));
    }
  } finally {
    await esbuild.stop();
    await Deno.remove(scratch, { recursive: true });
  }
}

/** The source map with names that are the same wherever it is written. */
function portable(text: string, out: string): string {
  const map: { sources: string[] } = JSON.parse(text);
  map.sources = map.sources.map((source) =>
    /^(npm|node):/.test(source)
      ? source
      : relative(ROOT, resolve(out, source)).replaceAll("\\", "/")
  );
  return JSON.stringify(map);
}

/** The declarations of all that is exported, with their docstrings, one file for each module. */
async function writeDeclarations(out: string): Promise<void> {
  const scratch = await Deno.makeTempDir();
  const config = `${scratch}/tsconfig.json`;
  // No declaration of a package is read. The one package that public types name stays an import, as it
  // is in the folder of packages.
  const packages = `${scratch}/packages.d.ts`;
  const plot = `${scratch}/node_modules/plot/index.d.ts`;
  try {
    await Deno.mkdir(dirname(plot), { recursive: true });
    await Deno.writeTextFile(`${dirname(plot)}/package.json`, '{ "name": "plot" }');
    await Deno.writeTextFile(plot, "export {};\n");
    await Deno.writeTextFile(packages, "export {};\n");
    // Types are checked by `deno task check`. Every exported name has its type written beside it.
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

/** The folder, within that of the files, with the package that brings Deno along. */
const CLI_PACKAGE = "npm-cli";

/** The metadata for npm and JSR, and the licenses. */
async function writeRest(out: string, used: Packages): Promise<void> {
  const exports = Object.keys(ENTRIES).map((entry) => ({
    as: entry === "mod" ? "." : `./${entry}`,
    types: `./${entry}.d.ts`,
    default: `./${entry}.js`,
  }));
  await writeJson(`${out}/package.json`, {
    name: NAME,
    ...PUBLISHED,
    description: found("mod.ts", /^\/\*\*\n \* ([^]+?)\.\s/).replaceAll("\n * ", " "),
    keywords: KEYWORDS,
    type: "module",
    sideEffects: false,
    engines: { deno: `>=${OLDEST}` },
    exports: Object.fromEntries(exports.map(({ as, ...files }) => [as, files])),
    types: "./mod.d.ts",
    bin: { "platform-auth": "cli.js" },
    files: ["/*", `!/${CLI_PACKAGE}`],
    publishConfig: { access: "public" },
  });
  await writeJson(`${out}/deno.json`, {
    name: NAME,
    version: VERSION,
    license: PUBLISHED.license,
    exports: Object.fromEntries(exports.map((each) => [each.as, each.default])),
    // Otherwise the package.json next to it would forbid the packages that are loaded on demand.
    nodeModulesDir: "none",
    lock: false,
    // This folder is ignored by git, and what git ignores is published only if it is named here.
    publish: { exclude: ["!**/*", CLI_PACKAGE] },
  });
  for (const name of ["README.md", "CHANGELOG.md", "LICENSE"]) {
    await Deno.copyFile(`${ROOT}${name}`, `${out}/${name}`);
  }
  const licenses = Object.entries(used.npmPackages).map(([id, { localPath }]) => {
    const file = [...Deno.readDirSync(localPath)].find(({ name }) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`Cannot build: ${id} has no license file`);
    return `${id}\n\n${Deno.readTextFileSync(`${localPath}/${file.name}`).trim()}\n`;
  });
  const intro = "These packages are part of the modules here, under their own licenses.\n";
  await Deno.writeTextFile(`${out}/NOTICE`, [intro, ...licenses].join("\n"));
}

/** The package for a computer with Node: the command line, and a launcher that runs it with Deno. */
async function writeCliPackage(out: string): Promise<void> {
  const folder = `${out}/${CLI_PACKAGE}`;
  await Deno.mkdir(folder);
  const { name, ...rest } = JSON.parse(read(".ci/npm/package.json"));
  await writeJson(`${folder}/package.json`, { name, ...PUBLISHED, keywords: KEYWORDS, ...rest });
  for (const name of ["launcher.cjs", "README.md"]) {
    await Deno.copyFile(`${ROOT}.ci/npm/${name}`, `${folder}/${name}`);
  }
  for (const name of ["cli.js", "LICENSE", "NOTICE"]) {
    await Deno.copyFile(`${out}/${name}`, `${folder}/${name}`);
  }
}

if (import.meta.main) {
  const out = resolve(Deno.args[0] ?? `${ROOT}dist`);
  await Deno.mkdir(out, { recursive: true });
  for (const { name } of Deno.readDirSync(out)) {
    await Deno.remove(`${out}/${name}`, { recursive: true });
  }
  const used = await packages();
  await writeModules(out, used);
  await writeDeclarations(out);
  await writeRest(out, used);
  await writeCliPackage(out);
  const sizes = Object.keys(ENTRIES).map((entry) => {
    const kib = Deno.statSync(`${out}/${entry}.js`).size / 1024;
    return `${entry}.js ${kib.toFixed(0)} KiB`;
  });
  console.log(`${basename(dirname(out))}/${basename(out)}: ${sizes.join(", ")}`);
}
