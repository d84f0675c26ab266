import { apiAccessOf } from "../api/api_access.ts";
import { type Check, type Diagnosis, failedCheck } from "../display/diagnosis.ts";
import { directClient, networkReason } from "../runtime/transport.ts";
import { checkEnvFile } from "./file_checks.ts";
import { checkProxy } from "./network_checks.ts";
import { AuthError, sentenceOf } from "../values/errors.ts";
import { obtainTokens } from "../session/login.ts";
import { permissionFlags } from "./permissions.ts";
import { inKernel } from "../runtime/prompt.ts";
import { checkProviderSettings, dialectOf, endpointText } from "../provider/provider_settings.ts";
import { computeSecretHash } from "../provider/secret_hash.ts";
import type { Configuration } from "../session/configuration.ts";
import { Notices } from "../session/notices.ts";
import { type SettingName, VARIABLES } from "../settings/settings.ts";
import type { SessionStatus } from "../session/status.ts";
import { accessText, nextText } from "../display/status_text.ts";

/** Options of a diagnosis. */
export interface DoctorOptions {
  /** Also try the login with the user name and password that are set. Default `false`. */
  login?: boolean;
  /** Ends the wait. */
  signal?: AbortSignal;
}

const REACH_MS = 5_000;

/** Looks at everything that a login and a call need. Changes nothing and shows nothing secret. */
export async function diagnose(
  context: Configuration,
  status: SessionStatus,
  options: DoctorOptions,
  signal: AbortSignal | undefined,
): Promise<Diagnosis> {
  const endpoint = URL.parse(endpointText(context.options, context.settings) ?? "");
  const checks: Check[] = [
    checkRuntime(),
    await checkSettings(context, status),
    ...shadowing(context),
  ];
  checks.push(
    ...checkEnvFile(context),
    checkWords(context, endpoint),
    await checkSecretHash(),
    ...checkProxy(endpoint, apiUrl(context)),
  );
  const provider = await reach(context, "provider", endpoint, signal);
  checks.push(provider.check, checkClock(context, provider.date));
  checks.push(await checkApi(context, signal), checkSession(status), checkPermissions(context));
  if (options.login) checks.push(await tryLogin(context, signal));
  return { ok: checks.every(({ level }) => level !== "fail"), checks };
}

/** What can be said where the settings cannot even be read. */
export function undiagnosed(error: AuthError): Diagnosis {
  return { ok: false, checks: [checkRuntime(), failedCheck("settings", error)] };
}

function checkRuntime(): Check {
  const { deno } = Deno.version;
  const [major = 0, minor = 0, patch = 0] = deno.split(/[.-]/).map(Number);
  const recent = major > 2 || (major === 2 && (minor > 9 || (minor === 9 && patch >= 1)));
  const place = inKernel() ? "a notebook" : Deno.stdin.isTerminal() ? "a terminal" : "no terminal";
  const asks = place === "no terminal" ? ": login() cannot ask" : ": login() can ask";
  const message = `Deno ${deno} in ${place}${asks}`;
  return recent
    ? { name: "runtime", level: "ok", message }
    : { name: "runtime", level: "fail", message, fix: "upgrade to Deno 2.9.1 or later" };
}

async function checkSettings(context: Configuration, status: SessionStatus): Promise<Check> {
  const { settings, options } = context;
  const name = "settings";
  // A portal token needs none of them while it lasts.
  const usable = status.state === "valid" || status.state === "unknown";
  const level = usable && !status.canRefresh ? "warn" : "fail";
  try {
    await checkProviderSettings("log in", options, settings);
  } catch (error) {
    const message = error instanceof AuthError ? sentenceOf(error) : "cannot be read";
    const [found, ...fix] = message.replace(/^Cannot log in: /, "").split("; ");
    return { name, level, message: found ?? message, fix: fix.join("; ") };
  }
  const origins = (Object.keys(VARIABLES) as SettingName[]).flatMap((key) => {
    const origin = settings.origin(key);
    return origin === undefined ? [] : [`${VARIABLES[key]} (${origin})`];
  });
  return { name, level: "ok", message: origins.join(", ") };
}

/** A variable that silently wins over the file is a classic; it is said, not mended. */
function shadowing(context: Configuration): Check[] {
  const { settings } = context;
  const shadowed = (Object.keys(VARIABLES) as SettingName[]).filter((name) => {
    const inFile = settings.file.values.get(VARIABLES[name]);
    return settings.origin(name) === "environment" && inFile && inFile !== settings.text(name);
  }).map((name) => VARIABLES[name]);
  if (shadowed.length === 0) return [];
  return [{
    name: "shadowing",
    level: "warn",
    message: `the environment wins over another value in the .env: ${shadowed.join(", ")}`,
    fix: `unset ${shadowed.join(" ")}, or take the lines out of the .env`,
  }];
}

function checkWords(context: Configuration, endpoint: URL | null): Check {
  const name = "wire words";
  const words = dialectOf(context.options, context.settings);
  if (!words || !endpoint) return { name, level: "skip", message: "no provider is set" };
  const isAws = words.service.startsWith("AWSCognito");
  const fits = !endpoint.hostname.endsWith(".amazonaws.com") || isAws;
  const message = `${words.targetHeader}: ${words.service}`;
  return fits
    ? { name, level: "ok", message }
    : { name, level: "fail", message, fix: "take AUTH_PROVIDER out, or set it to aws" };
}

/** Section 5.3 against a value computed by another implementation. */
async function checkSecretHash(): Promise<Check> {
  const name = "SECRET_HASH";
  const right = await computeSecretHash("user", "client", "key") ===
    "YwFvZ4loYJ8AoBhNXIih/Y38DF2IP6/Lq768LwhOvJ0=";
  return right
    ? { name, level: "ok", message: "HMAC-SHA-256 gives the known value" }
    : { name, level: "fail", message: "HMAC-SHA-256 gives a wrong value", fix: "reinstall Deno" };
}

async function reach(
  context: Configuration,
  name: string,
  url: URL | null | undefined,
  signal: AbortSignal | undefined,
): Promise<{ check: Check; date?: number }> {
  if (!url) return { check: { name, level: "skip", message: "no address is set" } };
  const limit = AbortSignal.timeout(REACH_MS);
  const client = context.world.fetch === undefined ? directClient(url) : undefined;
  try {
    const response = await (context.world.fetch ?? fetch)(url, {
      method: "GET",
      redirect: "manual",
      ...(client && { client }),
      signal: signal ? AbortSignal.any([limit, signal]) : limit,
    });
    await response.body?.cancel();
    const date = Date.parse(response.headers.get("date") ?? "");
    const message = `${url.host} answers (status ${response.status})`;
    return { check: { name, level: "ok", message }, date };
  } catch (error) {
    signal?.throwIfAborted();
    const message = limit.aborted
      ? `${url.host} did not answer in ${REACH_MS / 1_000} seconds`
      : error instanceof Deno.errors.NotCapable
      ? `${url.host} may not be reached`
      : `${url.host}: ${networkReason(error instanceof Error ? causes(error) : "").words}`;
    const fix = error instanceof Deno.errors.NotCapable
      ? `run with --allow-net=${url.host}`
      : "check the address, the network and any proxy";
    return { check: { name, level: "fail", message, fix } };
  } finally {
    client?.close();
  }
}

function causes(error: Error): string {
  return `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`;
}

function checkClock(context: Configuration, date: number | undefined): Check {
  const name = "clock";
  if (date === undefined || Number.isNaN(date)) {
    return { name, level: "skip", message: "the provider told no time to compare with" };
  }
  const seconds = Math.round((context.world.now() - date) / 1_000);
  const message = Math.abs(seconds) <= 1
    ? "agrees with the provider's"
    : `${Math.abs(seconds)} seconds ${seconds > 0 ? "ahead of" : "behind"} the provider's`;
  return Math.abs(seconds) <= 60
    ? { name, level: "ok", message }
    : { name, level: "warn", message, fix: "set this computer's clock right" };
}

/** The address of the API, as far as one is set. */
function apiUrl(context: Configuration): URL | null {
  return URL.parse(context.settings.text("apiBaseUrl") ?? "");
}

async function checkApi(
  context: Configuration,
  signal: AbortSignal | undefined,
): Promise<Check> {
  const name = "API";
  try {
    const { base } = apiAccessOf(context.settings);
    if (base) return (await reach(context, name, base, signal)).check;
    return {
      name,
      level: "warn",
      message: "API_BASE_URL is not set",
      fix: "set it, so that authFetch() takes paths and may send the token there",
    };
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return failedCheck(name, error);
  }
}

function checkSession(status: SessionStatus): Check {
  const message = accessText(status);
  const warns = ["none", "expired", "rejected"].includes(status.state);
  const check: Check = { name: "session", level: warns ? "warn" : "ok", message };
  return check.level === "ok" ? check : { ...check, fix: nextText(status) };
}

function checkPermissions(context: Configuration): Check {
  return { name: "permissions", level: "ok", message: permissionFlags(context).join(" ") };
}

async function tryLogin(
  context: Configuration,
  signal: AbortSignal | undefined,
): Promise<Check> {
  const name = "login";
  try {
    await obtainTokens({ configuration: context, notices: new Notices() }, {
      strategy: "environment",
    }, signal);
    return { name, level: "ok", message: "the provider accepts user name and password" };
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return failedCheck(name, error);
  }
}
