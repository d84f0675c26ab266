/** Sessions whose settings come only from the variables and the `.env` lines that a test chooses. */
import { createSession, type Session, type SessionOptions } from "../../mod.ts";
import { VARIABLES } from "../../src/settings/options.ts";
import { withEnvironment } from "./environment.ts";
import type { Portless } from "./portless.ts";

const UNSET = Object.fromEntries(
  [...Object.values(VARIABLES), "ACCESS_TOKEN", "REFRESH_TOKEN"].map((name) => [name, undefined]),
);

/** Runs `work` with these variables as the only settings in the environment. */
export function withOnly<T>(
  variables: Record<string, string>,
  work: () => T | Promise<T>,
): Promise<T> {
  return withEnvironment({ ...UNSET, ...variables }, work);
}

/** A session on the `.env` of a world, with its clocks and network, but without its settings. */
export function bareSession({ envFile, options }: Portless, more: SessionOptions = {}): Session {
  const { fetch, now, monotonic, sleep } = options;
  const outside = fetch && now && monotonic && sleep && { fetch, now, monotonic, sleep };
  return createSession({ ...outside, envFile, ...more });
}

/** Replaces the `.env` of a world. */
export function writeLines({ envFile }: Portless, lines: Record<string, string>): void {
  const text = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`).join("");
  Deno.writeTextFileSync(envFile, text);
}
