/** What a notebook or a script elsewhere on this machine needs to use the module. */

import type { SandboxSettings } from "../../src/sandbox/mod.ts";
import { variablesOf } from "./sandbox_env.ts";

const MOD_URL = new URL("../../mod.ts", import.meta.url).href;

/** The settings of a sandbox as a user has them in the environment; those named are left out. */
export function settingsEnvironment(
  settings: SandboxSettings,
  ...leftOut: ("USERNAME" | "PASSWORD")[]
): Record<string, string> {
  const variables: Record<string, string> = { ...variablesOf(settings), NO_COLOR: "1" };
  // Empty, not absent: the test's own environment may hold them too.
  for (const name of leftOut) variables[name] = "";
  return variables;
}

/** A line of source for a cell that imports these names. */
export function importing(names: string): string {
  return `import { ${names} } from ${JSON.stringify(MOD_URL)};`;
}
