/**
 * Fetches the packages that the tests need: `deno task test prepare`.
 *
 * Tests start many processes, several at once and most with a time limit, and each would have to fetch
 * a missing package within its limit. After this, no test needs the network.
 */
import { fileURLToPath } from "node:url";
import { lackOf } from "./needs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENTRIES = ["mod.ts", "src/sandbox/mod.ts", "src/cli.ts"];
/** Its types name a package that a plot fetches: in the lock file of what users run it would be one of theirs. */
const TOOLKIT = "src/notebook/mod.ts";

/** The emulator of the real provider, and what a process that runs it needs as flags. */
export const COGNITO_LOCAL = {
  entry: "npm:cognito-local@5.3.0/lib/bin/start.js",
  // Its 150 packages (an AWS SDK of 100 MB among them) are pinned in a separate lock file. All
  // packages of a lock file are downloaded before the first test starts, even if the emulator
  // cannot run.
  flags: ["--no-config", `--lock=${ROOT}tests/support/data/cognito_local.lock`, "--frozen"],
};

/** Fetches missing packages. @returns Whether all of them are in the cache now. */
async function fetched(...args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", ...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  return success;
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

/** Fetches the emulator if need be. */
export function hasCognitoLocal(): Promise<boolean> {
  return fetched("--quiet", ...COGNITO_LOCAL.flags, COGNITO_LOCAL.entry);
}

/** Fetches into npm's cache what the package of the command line installs: Deno for this system. */
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

/** @returns Whether all packages are here, the emulator aside. */
export async function preparePackages(): Promise<boolean> {
  // The packages of the recipes, of a plot, of an authenticator app's QR code, and the client of a
  // store.
  const loose = [
    ...["npm:ky@^1", "npm:openapi-fetch@^0.14", "npm:uqr@0.1.3", "npm:@redis/client@5.12.1"],
    ...["npm:@observablehq/plot@0.6.17", "npm:linkedom@0.18.15"],
    ...["npm:geotiff@^3", "npm:hyparquet@^1", "npm:hyparquet-writer@^0.17"],
  ];
  // As scripts and notebooks have them: without a lock file.
  const asInScripts = ["--no-config", "--no-lock"];
  const names = [...loose, ...await notebookPackages()];
  const alone = [];
  // A package can have another version if it is imported without the others.
  for (const name of names) alone.push(await fetched(...asInScripts, name));
  const all = [
    ...alone,
    await fetched("--lock=deno.lock", ...ENTRIES),
    await fetched(...asInScripts, ...ENTRIES, TOOLKIT, ...names),
    // A lock file's packages all come with the first of them.
    await fetched("--lock=tests/deno.lock", "tests/support/property.ts", TOOLKIT),
    await lackOf("npm", "--version") !== undefined || await fetchedByNpm(),
  ];
  if (!await hasCognitoLocal()) console.warn("cognito-local is missing: its tests are ignored");
  return !all.includes(false);
}
