import type { AuthError } from "../errors/errors.ts";
import type { SettingsFault } from "../provider/provider.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Configuration } from "../session/configuration.ts";
import type { SessionStatus } from "../session/status.ts";
import type { Finding } from "./finding.ts";

/** A session at the time of a diagnosis. */
export interface SessionSnapshot {
  readonly configuration: Configuration;
  readonly status: SessionStatus;
  /** The tokens of the session, if any. Checks neither refresh nor replace them. */
  readonly tokens: Tokens | undefined;
}

/** The facts for the checks, gathered before the first check. */
export interface Facts extends SessionSnapshot {
  /** Why the settings do not allow a login; `undefined` if they do. */
  readonly fault: SettingsFault | undefined;
  /** What provides tokens instead of the `.env`: the store or the option `token`. */
  readonly source: Source | undefined;
  readonly provider: Probe | undefined;
  /** The base address of the API, or the error if the address cannot be used. */
  readonly base: URL | AuthError | undefined;
  readonly api: Probe | undefined;
  readonly apiWithToken: Probe | undefined;
}

/** The result of checking a store or calling the option `token`. */
export interface Source {
  readonly finding: Finding;
  readonly tokens?: Tokens | undefined;
}

/** A GET request and its result: the response without its body, or the failure. */
export interface Probe {
  readonly url: URL;
  readonly response?: Response;
  readonly failure?: Finding;
}

/**
 * Checks by name. A check returns `undefined` if it does not apply, or if users need not know that
 * it succeeded.
 */
export type Checks = Readonly<
  Record<string, (facts: Facts) => Finding | undefined | Promise<Finding | undefined>>
>;
