/**
 * Fetches the packages that the tests need: `deno task test prepare`.
 *
 * Tests start many processes, several at once and most with a time limit, and each would have to fetch
 * a missing package within its limit. After this, no test needs the network.
 */
import { fileURLToPath } from "node:url";
import { lackOf } from "./needs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENTRIES = ["mod.ts", "src/redis/mod.ts", "src/sandbox/mod.ts", "src/cli.ts"];
/** Not in ENTRIES: its types import a package for plots, which must not be in the users' lock file. */
const TOOLKIT = "src/notebook/mod.ts";

/** The emulator of the real provider, and the flags for the process that runs it. */
export const COGNITO_LOCAL = {
  entry: "npm:cognito-local@5.3.0/lib/bin/start.js",
  // Its 150 packages (an AWS SDK of 100 MB among them) are pinned in a separate lock file. All
  // packages of a lock file are downloaded before the first test starts, even if the emulator
  // cannot run.
  flags: ["--no-config", `--lock=${ROOT}tests/support/data/cognito_local.lock`, "--frozen"],
};

async function deno(args: string[], stdout: "inherit" | "null"): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    stdin: "null",
    stdout,
    stderr: "inherit",
  }).output();
  return success;
}

/** Fetches missing packages. @returns Whether all of them are in the cache now. */
function fetched(...args: string[]): Promise<boolean> {
  return deno(["cache", ...args], "inherit");
}

/** Fetches esbuild, with which Deno bundles, as the build of the released files does. */
function fetchedBundler(): Promise<boolean> {
  return deno(["bundle", "--quiet", "--no-lock", "mod.ts"], "null");
}

/** The packages that the notebooks import. */
async function notebookPackages(): Promise<string[]> {
  const found = new Set<string>();
  for (const { name } of Deno.readDirSync(`${ROOT}notebooks`)) {
    if (!name.endsWith(".ipynb")) continue;
    const text = await Deno.readTextFile(`${ROOT}notebooks/${name}`);
    for (const [, specifier] of text.matchAll(/"(npm:[^"\\]+)\\?"/g)) found.add(specifier ?? "");
  }
  return [...found];
}

/** Fetches the emulator if it is missing. @returns Whether it is in the cache now. */
export function hasCognitoLocal(): Promise<boolean> {
  return fetched("--quiet", ...COGNITO_LOCAL.flags, COGNITO_LOCAL.entry);
}

/** Fetches Deno for this system, which the command line's npm package installs, into npm's cache. */
async function fetchedByNpm(): Promise<boolean> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.copyFile(`${ROOT}.ci/npm/package.json`, `${folder}/package.json`);
    const { success } = await new Deno.Command("npm", {
      args: ["install", "--prefer-offline", "--no-audit", "--no-fund", "--silent"],
      cwd: folder,
      stdin: "null",
    }).output();
    return success;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** @returns Whether all packages are in the cache. The emulator may be missing. */
export async function preparePackages(): Promise<boolean> {
  // Packages of the recipes, of the QR code for an authenticator app, of a store's client, of plots
  // and of the file readers.
  const loose = [
    ...["npm:ky@^1", "npm:uqr@0.1.3", "npm:@redis/client@6.3.1"],
    ...["npm:@observablehq/plot@0.6.17", "npm:linkedom@0.18.15"],
    ...["npm:hyparquet@^1", "npm:hyparquet-writer@^0.17"],
  ];
  // Scripts and notebooks have no lock file.
  const asInScripts = ["--no-config", "--no-lock"];
  const names = [...loose, ...await notebookPackages()];
  const alone = [];
  // Each package is fetched alone, too: without the others, it can have another version.
  for (const name of names) alone.push(await fetched(...asInScripts, name));
  const all = [
    ...alone,
    await fetched("--lock=deno.lock", ...ENTRIES),
    await fetched(...asInScripts, ...ENTRIES, TOOLKIT, ...names),
    // Fetching one package of a lock file fetches all of them.
    await fetched("--lock=tests/deno.lock", "tests/support/property.ts", TOOLKIT),
    await fetchedBundler(),
    await lackOf("npm", "--version") !== undefined || await fetchedByNpm(),
  ];
  if (!await hasCognitoLocal()) console.warn("cognito-local is missing: its tests are ignored");
  return !all.includes(false);
}
