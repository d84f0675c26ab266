import type { AuthError } from "../errors/errors.ts";
import type { SettingsFault } from "../provider/provider_settings.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Configuration } from "../session/configuration.ts";
import type { SessionStatus } from "../session/status.ts";
import type { Finding } from "./finding.ts";

/** A session at the moment of a diagnosis. */
export interface SessionSnapshot {
  readonly configuration: Configuration;
  readonly status: SessionStatus;
  /** The session's tokens, if any. They are neither refreshed nor replaced. */
  readonly tokens: Tokens | undefined;
}

/** What the checks look at, gathered before the first one. */
export interface Facts extends SessionSnapshot {
  /** The token endpoint; `null`: not set. */
  readonly endpoint: URL | null;
  /** Why these settings do not allow a login. */
  readonly fault: SettingsFault | undefined;
  /** The store or the command that provides tokens instead of the `.env`. */
  readonly source: Source | undefined;
  readonly provider: Probe | undefined;
  /** The API's base address; an error: it cannot be used. */
  readonly base: URL | AuthError | undefined;
  readonly api: Probe | undefined;
  readonly apiWithToken: Probe | undefined;
}

/** What a store or a command has to say. */
export interface Source {
  readonly finding: Finding;
  readonly tokens?: Tokens | undefined;
}

/** A GET and its response, without its body, or why there is none. */
export interface Probe {
  readonly url: URL;
  readonly response?: Response;
  readonly failure?: Finding;
}

/**
 * Checks by their names. A check returns `undefined` if it does not apply, or if its success means nothing
 * to a user.
 */
export type Checks = Readonly<
  Record<string, (facts: Facts) => Finding | undefined | Promise<Finding | undefined>>
>;
