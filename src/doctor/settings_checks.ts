import { SETTING_NAMES, type SettingName, VARIABLES } from "../settings/options.ts";
import { apiHosts } from "../settings/trust.ts";
import type { Checks } from "./facts.ts";
import { fail, ok, warn, warnOf } from "./finding.ts";

const PLACES = {
  option: "as options",
  environment: "from the environment",
  file: "from the .env",
} as const;

/** Checks the settings, and lines of the `.env` that were probably meant as settings. */
export const SETTINGS_CHECKS: Checks = {
  // Checks whether all settings for a login are set, and shows where each setting comes from.
  "settings": ({ configuration: { settings }, fault, status }) => {
    if (fault) {
      // A valid portal token needs none of these settings.
      const isUsable = status.state === "valid" || status.state === "unknown";
      const level = isUsable && !status.canRefresh ? warn : fail;
      return level(fault.problem, fault.fix);
    }
    const lists = Object.entries(PLACES).flatMap(([origin, place]) => {
      const names = variablesOf((name) => settings.origin(name) === origin);
      return names.length === 0 ? [] : [`${place}: ${names.join(", ")}`];
    });
    return ok(lists.join("; "));
  },

  // Suggests settings that were probably meant.
  "settings to check": async ({ configuration: { settings } }) => {
    const { suggestionsOn } = await import("../settings/suggestions.ts");
    const { notes, rivalNames, trust: { withheld } } = settings;
    const rest = notes.filter((note) => note !== withheld);
    return warnOf([...(rivalNames ? [rivalNames] : []), ...rest, ...suggestionsOn(settings)]);
  },

  // Says which hosts receive the secrets.
  "receivers": ({ configuration: { issuer, settings }, fault }) => {
    const { withheld } = settings.trust;
    // The check "settings" already reports this problem.
    if (withheld && fault?.code === "UNTRUSTED_ORIGIN") return undefined;
    if (withheld) return warn(withheld.problem, withheld.fix);
    const provider = URL.parse(issuer.provider ?? "")?.host;
    const hosts = apiHosts((name) => settings.text(name));
    const receivers = [
      ...(provider === undefined ? [] : [`password and refresh token: ${provider}`]),
      ...(hosts.length === 0 ? [] : [`access token: ${hosts.join(", ")}`]),
    ];
    return receivers.length === 0 ? undefined : ok(receivers.join("; "));
  },

  // Warns if an environment variable, perhaps a forgotten one, overrides a different value in the
  // .env.
  "shadowing": ({ configuration: { settings } }) => {
    const names = variablesOf((name) => {
      const inFile = settings.file.values.get(VARIABLES[name]);
      return settings.origin(name) === "environment" && !!inFile && inFile !== settings.text(name);
    });
    if (names.length === 0) return undefined;
    return warn(
      `environment variables override the .env, which has other values: ${names.join(", ")}`,
      `unset ${names.join(" ")}, or remove these lines from the .env`,
    );
  },
};

function variablesOf(isMeant: (name: SettingName) => boolean): string[] {
  return SETTING_NAMES.filter(isMeant).map((name) => VARIABLES[name]);
}
