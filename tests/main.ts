/**
 * Runs the tests: `deno task test [PART…]`, by default all parts, one after another.
 *
 * All packages are here before the first test starts: see `support/packages.ts`.
 */
import { preparePackages } from "./support/packages.ts";

const FLAGS = ["--lock=tests/deno.lock", "--parallel", "--quiet", "--no-check", "--seed=1"];
/** They need more than the permissions in deno.json, have their own part, or run only in `.ci/run`. */
const NOT_CORE = [
  ...["notebook/kernel", "notebook/browser", "sandbox/browser", "project/bench_test.ts"],
  ...["project/release", "project/windows", "project/container"],
].map((path) => `tests/${path}`);

const inFolder = (folder: string, names: readonly string[]) =>
  names.map((name) => `tests/${folder}/${name}_test.ts`);

/** What users do, once more with the released files: the import map puts them in place of the source. */
const RELEASED = [
  "tests/project/release",
  ...[...Deno.readDirSync("tests")].map(({ name }) => `tests/${name}`)
    .filter((path) => path.endsWith("_test.ts")),
  ...inFolder("api", ["auth_fetch", "faults", "fetch_json", "origin", "redirect", "request"]),
  "tests/provider",
  ...inFolder("settings", ["documents", "identity", "options", "portal_url", "settings"]),
  ...inFolder("session", ["login", "lifetime", "race", "refresh"]),
  ...inFolder("errors", ["canary", "canary_error", "log", "stack"]),
  ...inFolder("cli", ["cli"]),
  ...inFolder("notebook/kernel", ["traceback"]),
];

const PARTS: Record<string, () => Promise<boolean>> = {
  prepare: preparePackages,
  core: () => deno("test", ...FLAGS, "-P", `--ignore=${NOT_CORE.join()}`, "tests"),
  kernel: () => deno("test", ...FLAGS, "-P", "tests/notebook/kernel"),
  browser: () => deno("test", ...FLAGS, "-A", "tests/notebook/browser", "tests/sandbox/browser"),
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

async function deno(...args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), { args }).spawn().status;
  return success;
}

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
