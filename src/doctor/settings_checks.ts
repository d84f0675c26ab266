import type { Finding } from "./finding.ts";
import { dialectOf, isAwsHost, type SettingsFault } from "../provider/provider_settings.ts";
import { computeSecretHash } from "../provider/secret_hash.ts";
import type { Configuration } from "../session/configuration.ts";
import type { SessionStatus } from "../session/status.ts";
import type { SettingOrigin } from "../settings/settings.ts";
import { SETTING_NAMES, VARIABLES } from "../settings/options.ts";

/** Where settings come from, as people call it. */
const PLACES: Readonly<Record<SettingOrigin, string>> = {
  option: "as options",
  environment: "from the environment",
  file: "from the .env",
};

/** A line of names is not longer, so that it fits a terminal and a card. */
const MAX_NAMES_LENGTH = 72;

/** Whether all settings of a login are there, and where each came from: a line for each place. */
export function checkSettings(
  { settings }: Configuration,
  status: SessionStatus,
  fault: SettingsFault | undefined,
): Finding[] {
  const name = "settings";
  // A portal token needs none of them while it lasts.
  const usable = status.state === "valid" || status.state === "unknown";
  const level = usable && !status.canRefresh ? "warn" : "fail";
  if (fault) return [{ name, level, message: fault.problem, fix: fault.fix }];
  return Object.entries(PLACES).flatMap(([origin, place]) => {
    const names = SETTING_NAMES.filter((key) => settings.origin(key) === origin);
    return inLines(names.map((key) => VARIABLES[key]))
      .map((line): Finding => ({ name, level: "ok", message: `${place}: ${line}` }));
  });
}

function inLines(names: readonly string[]): string[] {
  const lines: string[] = [];
  for (const name of names) {
    const longer = `${lines.at(-1)}, ${name}`;
    if (lines.length > 0 && longer.length <= MAX_NAMES_LENGTH) lines[lines.length - 1] = longer;
    else lines.push(name);
  }
  return lines;
}

/**
 * Names the variables of the environment that win over another value in the `.env`: often they are
 * forgotten.
 */
export function checkShadowing({ settings }: Configuration): Finding[] {
  const shadowed = SETTING_NAMES.filter((name) => {
    const inFile = settings.file.values.get(VARIABLES[name]);
    return settings.origin(name) === "environment" && inFile && inFile !== settings.text(name);
  }).map((name) => VARIABLES[name]);
  if (shadowed.length === 0) return [];
  return [{
    name: "shadowing",
    level: "warn",
    message: `the environment wins over another value in the .env: ${shadowed.join(", ")}`,
    fix: `unset ${shadowed.join(" ")}, or remove these lines from the .env`,
  }];
}

/** Whether the dialect fits the host. */
export function checkDialect(
  { options, settings }: Configuration,
  endpoint: URL | null,
): Finding {
  const name = "request headers";
  const dialect = dialectOf(options, settings);
  if (!dialect || !endpoint) return { name, level: "skip", message: "no provider is set" };
  const isAws = dialect.service.startsWith("AWSCognito");
  const fits = !isAwsHost(endpoint.hostname) || isAws;
  const whose = typeof options.provider === "object"
    ? "as the option provider has them"
    : `as ${isAws ? "Amazon Cognito" : "the API document"} has them`;
  const message = `${whose} (${dialect.targetHeader}: ${dialect.service})`;
  return fits
    ? { name, level: "ok", message }
    : { name, level: "fail", message, fix: "remove AUTH_PROVIDER, or set it to aws" };
}

/** Section 5.3 of the API document, compared with a value that another implementation computed. */
export async function checkSecretHash(): Promise<Finding> {
  const name = "SECRET_HASH";
  const right = await computeSecretHash("user", "client", "key") ===
    "YwFvZ4loYJ8AoBhNXIih/Y38DF2IP6/Lq768LwhOvJ0=";
  return right
    ? { name, level: "ok", message: "HMAC-SHA-256 gives the known value" }
    : { name, level: "fail", message: "HMAC-SHA-256 gives a wrong value", fix: "reinstall Deno" };
}
