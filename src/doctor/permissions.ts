import { folderOf, workingFolder } from "../runtime/file_paths.ts";
import { endpointText } from "../provider/provider_settings.ts";
import type { Configuration } from "../session/configuration.ts";

/** The permission flags that a script needs with these settings, and no others. */
export function permissionFlags(context: Configuration): string[] {
  const { envFile, options, settings } = context;
  const flags: string[] = [];
  if (envFile !== undefined) {
    const folder = folderOf(envFile);
    const place = folder === workingFolder() ? "." : folder.replace(/[\\/]$/, "");
    flags.push(`--allow-read=${place}`, `--allow-write=${place}`);
  }
  const urls = [endpointText(options, settings), settings.text("apiBaseUrl")];
  const others = (settings.text("allowedOrigins") ?? "").split(",");
  const hosts = [...urls, ...others].flatMap((text) => URL.parse((text ?? "").trim())?.host ?? []);
  flags.push(hosts.length === 0 ? "--allow-net" : `--allow-net=${[...new Set(hosts)].join(",")}`);
  flags.push("--allow-env");
  return flags;
}
