import { foldersOf } from "../files/file_info.ts";
import { shortPath } from "../files/paths.ts";
import { secretFiles } from "../settings/secret_file.ts";
import type { Settings } from "../settings/settings.ts";
import { apiHosts } from "../settings/trust.ts";

/** Lists the permissions that a script needs with these settings, as flags of `deno run`. */
export function neededFlags(settings: Settings): string[] {
  const { envFile, tokenFile, location: { kind } } = settings;
  // The search for the global `.env` begins in the working folder, which must be readable.
  const read = [...(kind === "own" ? ["."] : []), ...foldersWith([envFile, ...secretFiles()])];
  const addresses = [settings.endpoint, settings.text("store")];
  const hosts = [
    ...addresses.flatMap((address) => URL.parse(address ?? "")?.host || []),
    ...apiHosts((name) => settings.text(name)),
  ];
  return [
    ...flagOf("read", read),
    ...flagOf("write", foldersWith([tokenFile])),
    ...(hosts.length === 0 ? ["--allow-net"] : flagOf("net", hosts)),
    "--allow-env",
  ];
}

function foldersWith(paths: readonly (string | undefined)[]): string[] {
  return paths.flatMap((path) => path === undefined ? [] : foldersOf(path)).map(shortPath);
}

function flagOf(name: string, values: readonly string[]): string[] {
  return values.length === 0 ? [] : [`--allow-${name}=${[...new Set(values)].join()}`];
}
