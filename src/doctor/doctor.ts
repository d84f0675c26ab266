/**
 * Runs the checks of `doctor()`: is everything present that a login and a call need? A check
 * changes nothing and shows no secret.
 *
 * This folder may import `show/` and all layers below it.
 */
import type { AuthError } from "../errors/errors.ts";
import { settingsFault } from "../provider/provider.ts";
import { Notices } from "../session/notices.ts";
import { stateOf } from "../session/state.ts";
import { statusOf } from "../session/status.ts";
import { openVault } from "../session/vaults/open_vault.ts";
import { type Diagnosis, diagnosisOf } from "../show/diagnosis.ts";
import { accessText, nextStep } from "../show/status_view.ts";
import type { Checks, Facts, SessionSnapshot } from "./facts.ts";
import { checksOf, fail, failed, type Finding, type Findings, ok, skip, warn } from "./finding.ts";
import { tryLogin } from "./login_checks.ts";
import { apiAddress, NETWORK_CHECKS, probe, probeWithToken } from "./network_checks.ts";
import { neededFlags } from "./permissions.ts";
import { SETTINGS_CHECKS } from "./settings_checks.ts";
import { checkStore, STORAGE_CHECKS, tryToken } from "./storage_checks.ts";

/** Options of {@linkcode doctor}. */
export interface DoctorOptions {
  /**
   * Whether to also log in with the configured user name and password, refresh the new tokens once,
   * and revoke them. The session itself does not change. Default `false`.
   */
  login?: boolean;
  /** Cancels the checks. */
  signal?: AbortSignal;
}

/** All checks by name, in the order of the output. */
const CHECKS: Checks = {
  "runtime": checkRuntime,
  ...SETTINGS_CHECKS,
  ...STORAGE_CHECKS,
  ...NETWORK_CHECKS,
  "session": ({ status }) => {
    const isOver = ["none", "expired", "rejected"].includes(status.state);
    return isOver ? warn(accessText(status), nextStep(status)) : ok(accessText(status));
  },
  "permissions": ({ configuration: { settings } }) => ok(neededFlags(settings).join(" ")),
};

/**
 * The checks for a session whose tokens the option `token` lends. Such a session needs no provider
 * and writes no file.
 */
const LENT_CHECKS = [
  "runtime",
  "shadowing",
  "token option",
  "proxy",
  "API",
  "token",
  "permissions",
];

/** Checks everything that a login and a call need. */
export async function diagnose(
  session: SessionSnapshot,
  { login = false }: DoctorOptions,
  signal: AbortSignal | undefined,
): Promise<Diagnosis> {
  const facts = await gather(session, signal);
  const findings: Findings = {};
  const { isLent } = session.configuration;
  const names = isLent ? LENT_CHECKS : Object.keys(CHECKS);
  for (const name of names) findings[name] = await CHECKS[name]?.(facts);
  const tried = !login ? {} : isLent ? { login: NO_LOGIN } : await tryLogin(facts, signal);
  return diagnosisOf(checksOf({ ...findings, ...tried }));
}

const NO_LOGIN = skip(
  "not tried: every token comes from the option token",
);

/** Makes the diagnosis for settings that cannot be read. */
export function undiagnosed(error: AuthError): Diagnosis {
  return diagnosisOf(checksOf({ runtime: checkRuntime(), settings: failed(error) }));
}

/**
 * Gathers the facts for the checks. If the option `token` lends the tokens, sends nothing to the
 * provider.
 */
async function gather(
  { configuration, ...session }: SessionSnapshot,
  signal: AbortSignal | undefined,
): Promise<Facts> {
  const { settings, isLent } = configuration;
  const notices = new Notices();
  const vault = openVault({ configuration, notices });
  const source = isLent
    ? await tryToken(configuration, session.status, signal)
    : await checkStore(vault, { configuration, notices }, signal);
  // The session may not have read its store yet. The checks then use the tokens that `checkStore()`
  // has just read.
  const tokens = isLent ? source?.tokens : session.tokens ?? source?.tokens;
  const status = tokens === session.tokens ? session.status : statusOf({
    configuration,
    current: stateOf(tokens),
    notices: new Notices(),
    place: vault.place,
  });
  const endpoint = isLent ? null : URL.parse(settings.endpoint ?? "");
  const fault = await settingsFault(settings);
  const provider = endpoint ? await probe(configuration, "provider", endpoint, signal) : undefined;
  const base = apiAddress(settings);
  const api = base instanceof URL ? await probe(configuration, "api", base, signal) : undefined;
  const apiWithToken = await probeWithToken(configuration, api, tokens, signal);
  return {
    configuration,
    tokens,
    status,
    fault,
    source,
    provider,
    base,
    api,
    apiWithToken,
  };
}

function checkRuntime(): Finding {
  const { deno } = Deno.version;
  const isRecent = deno.localeCompare("2.9.6", undefined, { numeric: true }) >= 0;
  const message = `Deno ${deno}`;
  return isRecent ? ok(message) : fail(message, "upgrade to Deno 2.9.6 or later");
}
