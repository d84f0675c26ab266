/**
 * Runs the tests: `deno task test [PART…]`, by default all parts, one after another.
 *
 * `deno task test --changed` runs the tests that import what changed since `main`.
 *
 * All packages are fetched before the first test starts: see `support/packages.ts`.
 */
import { changedTests } from "./changed_tests.ts";
import { preparePackages } from "./support/packages.ts";

const FLAGS = ["--lock=tests/deno.lock", "--parallel", "--quiet", "--no-check", "--seed=1"];
/** Tests with a Deno kernel, Jupyter or Chromium. */
const JUPYTER = ["tests/notebook/kernel", "tests/sandbox/browser", "tests/notebook/browser"];
/** Tests that have their own part or run only in `.ci/run`. */
const NOT_CORE = [
  ...JUPYTER,
  "tests/project/bench_test.ts",
  "tests/project/container",
  "tests/project/release",
  "tests/project/windows",
];

/** The test files in a folder, without its subfolders. */
const testsIn = (folder: string): string[] =>
  Array.from(Deno.readDirSync(folder), ({ name }) => `${folder}/${name}`)
    .filter((path) => path.endsWith("_test.ts"));

/** Tests that run with the released files, with which an import map replaces the source. */
const RELEASED = [
  "tests/project/release",
  ...testsIn("tests"),
  "tests/api",
  "tests/errors",
  // The released files contain the package without which `offline_test.ts` runs.
  ...testsIn("tests/provider").filter((path) => !path.endsWith("/offline_test.ts")),
  "tests/cli/cli_test.ts",
  "tests/notebook/kernel/traceback_test.ts",
];

const PARTS: Record<string, () => Promise<boolean>> = {
  prepare: preparePackages,
  core: () => deno("test", ...FLAGS, "-P", `--ignore=${NOT_CORE.join()}`, "tests"),
  jupyter: () => deno("test", ...FLAGS, "-A", ...JUPYTER),
  released: async () =>
    await deno("task", "build") &&
    await deno(
      "test",
      ...FLAGS,
      "-P",
      "--import-map=tests/project/release/import_map.json",
      ...RELEASED,
    ),
};

/** Runs the tests that import what changed, in seconds where that is possible. */
async function testChanges(): Promise<boolean> {
  const { near, far, notImported } = await changedTests();
  if (notImported.length > 0) console.log(`No test imports ${notImported.join(", ")}`);
  if (far.size > 0) {
    console.log(`${far.size} other test files import it through other files: deno task test core`);
  }
  const isIn = (places: string[]) => (path: string) => places.some((it) => path.startsWith(it));
  const inCore = [...near].filter((path) => !isIn(NOT_CORE)(path));
  const inJupyter = [...near].filter(isIn(JUPYTER));
  const isGreen = inCore.length === 0 || await deno("test", ...FLAGS, "-P", ...inCore);
  return (inJupyter.length === 0 || await deno("test", ...FLAGS, "-A", ...inJupyter)) && isGreen;
}

async function deno(...args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), { args }).spawn().status;
  return success;
}

if (Deno.args.includes("--changed")) Deno.exit(await testChanges() ? 0 : 1);
const parts = Deno.args.length > 0 ? Deno.args : Object.keys(PARTS);
let isGreen = true;
for (const part of parts) {
  const run = PARTS[part];
  if (run === undefined) {
    console.error(`no such part: ${part}; the parts are ${Object.keys(PARTS).join(", ")}`);
    Deno.exit(2);
  }
  console.log(`== ${part}`);
  if (await run()) continue;
  isGreen = false;
  // Without the packages, all other tests would fail.
  if (part === "prepare") break;
}
Deno.exit(isGreen ? 0 : 1);
