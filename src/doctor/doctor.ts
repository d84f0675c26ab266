/**
 * Checks what a login and a call need, for `doctor()`. A check changes nothing and shows no secret.
 *
 * The folder may import `show/` and all below it.
 */
import { type Diagnosis, diagnosisOf } from "../show/diagnosis.ts";
import { accessText, nextStep } from "../show/status_view.ts";
import { checksOf, failedCheck, type Finding } from "./finding.ts";
import { endpointText, settingsFault } from "../provider/provider_settings.ts";
import { inKernel } from "../errors/kernel.ts";
import type { Configuration } from "../session/configuration.ts";
import { Notices } from "../session/notices.ts";
import { stateOf } from "../session/state.ts";
import { type SessionStatus, statusOf } from "../session/status.ts";
import { neededPermissions, scriptCommand } from "../settings/permissions.ts";
import type { AuthError } from "../errors/errors.ts";
import { fixText } from "../errors/advice.ts";
import type { Tokens } from "../provider/tokens.ts";
import { checkLogin } from "./login_checks.ts";
import { checkApi, checkProvider, checkProxy, checkToken } from "./network_checks.ts";
import { checkDialect, checkSecretHash, checkSettings, checkShadowing } from "./settings_checks.ts";
import { checkEnvFile, checkStore, checkTokenCommand } from "./storage_checks.ts";

/** Options of {@linkcode doctor}. */
export interface DoctorOptions {
  /**
   * Also log in with the configured user name and password, refresh once, and end that login at the
   * provider. The session itself does not change. Default `false`.
   */
  login?: boolean;
  /** Cancels the checks. */
  signal?: AbortSignal;
}
/** A session at the moment of a diagnosis. */
export interface SessionSnapshot {
  readonly configuration: Configuration;
  readonly status: SessionStatus;
  /** The tokens held, if any. They are neither refreshed nor replaced. */
  readonly tokens: Tokens | undefined;
}

/** Checks everything that a login and a call need. */
export async function diagnose(
  session: SessionSnapshot,
  options: DoctorOptions,
  signal: AbortSignal | undefined,
): Promise<Diagnosis> {
  const { configuration } = session;
  if (configuration.isByCommand) return await diagnoseCommand(configuration, options, signal);
  const stored = configuration.isInStore ? await checkStore(configuration, signal) : undefined;
  // A session that has not asked the store yet holds nothing.
  const found = session.tokens ? undefined : stored?.tokens;
  const tokens = session.tokens ?? found;
  const status = found ? statusOf(configuration, new Notices(), stateOf(found)) : session.status;
  const endpoint = URL.parse(endpointText(configuration.options, configuration.settings) ?? "");
  const fault = await settingsFault(configuration.options, configuration.settings);
  const reached = await checkProvider(configuration, endpoint, signal);
  const api = await checkApi(configuration, signal);
  const checks = [
    checkRuntime(),
    ...checkSettings(configuration, status, fault),
    ...checkShadowing(configuration),
    ...(stored?.checks ?? await checkEnvFile(configuration, fault)),
    ...checkProxy(configuration, endpoint),
    ...reached,
    api.finding,
    ...await checkToken("token", api, tokens, configuration, signal),
    checkSession(status),
    ...(options.login ? await checkLogin(configuration, api, signal) : []),
    checkPermissions(configuration),
    checkDialect(configuration, endpoint),
    await checkSecretHash(),
  ];
  return diagnosisOf(checksOf(checks));
}

/** A session whose tokens come from a command needs no provider and writes no file. */
async function diagnoseCommand(
  configuration: Configuration,
  { login = false }: DoctorOptions,
  signal: AbortSignal | undefined,
): Promise<Diagnosis> {
  const { check, tokens } = await checkTokenCommand(configuration, signal);
  const api = await checkApi(configuration, signal);
  return diagnosisOf(checksOf([
    checkRuntime(),
    check,
    ...checkShadowing(configuration),
    ...checkProxy(configuration, null),
    api.finding,
    ...await checkToken("token", api, tokens, configuration, signal),
    ...(login ? [NO_LOGIN] : []),
    checkPermissions(configuration),
  ]));
}

const NO_LOGIN: Finding = {
  name: "login",
  level: "skip",
  message: "not tried: the tokens come from AUTH_TOKEN_COMMAND (tokenCommand)",
  fix: "run platform-auth doctor --login where the command runs",
};

/** The diagnosis where the settings cannot even be read. */
export function undiagnosed(error: AuthError): Diagnosis {
  return diagnosisOf(checksOf([checkRuntime(), failedCheck("settings", error)]));
}

function checkRuntime(): Finding {
  const name = "runtime";
  const { deno } = Deno.version;
  const [major = 0, minor = 0, patch = 0] = deno.split(/[.-]/).map(Number);
  const recent = major > 2 || (major === 2 && (minor > 9 || (minor === 9 && patch >= 1)));
  const [place, ability] = inKernel()
    ? ["in a notebook", "can ask"]
    : Deno.stdin.isTerminal()
    ? ["in a terminal", "can ask"]
    : ["without a terminal", "cannot ask"];
  const message = fixText([`Deno ${deno} ${place}: `, { call: "login" }, ` ${ability}`]);
  return recent
    ? { name, level: "ok", message }
    : { name, level: "fail", message, fix: "upgrade to Deno 2.9.1 or later" };
}

function checkSession(status: SessionStatus): Finding {
  const name = "session";
  const message = accessText(status);
  const isOver = ["none", "expired", "rejected"].includes(status.state);
  return isOver
    ? { name, level: "warn", message, fix: nextStep(status) }
    : { name, level: "ok", message };
}

function checkPermissions({ options, settings }: Configuration): Finding {
  const name = "permissions";
  const endpoint = endpointText(options, settings);
  const needed = neededPermissions(settings, endpoint);
  const missing = needed.filter(({ granted }) => !granted);
  const flags = (missing.length > 0 ? missing : needed).map(({ flag }) => flag).join(" ");
  if (missing.length === 0) return { name, level: "ok", message: flags };
  const fix = `run: ${scriptCommand(settings, endpoint)}`;
  return { name, level: "warn", message: `missing ${flags}`, fix };
}
