/**
 * Fetches the packages that the tests need: `deno task test:prepare`.
 *
 * Tests start many processes, some of them at once and most of them with a time limit. Were a package
 * missing, each would fetch and unpack it against its limit. After this no test needs the network.
 */
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENTRIES = ["mod.ts", "src/sandbox/mod.ts", "src/cli.ts"];

/** The emulator of the real provider, and what a process that runs it needs as flags. */
export const COGNITO_LOCAL = {
  entry: "npm:cognito-local@5.3.0/lib/bin/start.js",
  // Its 150 packages (an AWS SDK of 100 MB among them) are pinned in a lock file of their own: an entry
  // in the project's deno.lock would be downloaded by everyone who runs anything in a clone.
  flags: ["--no-config", `--lock=${ROOT}tests/data/cognito_local.lock`, "--frozen"],
};

/** Fetches what is not there yet, however long that takes, and tells whether all of it is there now. */
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

/** Fetches the emulator if need be. */
export function hasCognitoLocal(): Promise<boolean> {
  return fetched("--quiet", ...COGNITO_LOCAL.flags, COGNITO_LOCAL.entry);
}

if (import.meta.main) {
  // With the lock file, for what runs in the clone: its first package brings all that it lists.
  const locked = await fetched(...ENTRIES);
  // Without it, for scripts and notebooks elsewhere, and with the clients of the recipes.
  const recipes = ["npm:ky@^1", "npm:openapi-fetch@^0.14"];
  const free = await fetched("--no-config", "--no-lock", ...ENTRIES, ...recipes);
  if (!locked || !free) throw new Error("Cannot fetch the packages that the tests need");
  if (!await hasCognitoLocal()) console.warn("cognito-local is missing: its tests are ignored");
}
