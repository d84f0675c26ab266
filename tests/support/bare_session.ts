/** Sessions whose settings come only from the variables and the `.env` lines that a test chooses. */
import { createSession, type Session, type SessionOptions } from "../../mod.ts";
import type { Portless } from "./portless.ts";

/** A session on the `.env` of a world, with its clocks and network, but without its settings. */
export function bareSession(world: Portless, more: SessionOptions = {}): Session {
  const { clock, envFile, options: { fetch } } = world;
  return createSession({ ...clock.options, fetch, envFile, ...more });
}

/** Replaces the `.env` of a world. */
export function writeLines({ envFile }: Portless, lines: Record<string, string>): void {
  const text = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`).join("");
  Deno.writeTextFileSync(envFile, text);
}
