import { mayUseVariable } from "../platform/environment.ts";
import { foldersOf } from "../files/file_info.ts";
import { shortPath } from "../files/paths.ts";
import { hostAndPort } from "../platform/transport.ts";
import { ENV_FILE_VARIABLE, type SettingName, VARIABLES } from "../settings/options.ts";
import { secretFiles } from "../settings/secret_file.ts";
import type { Settings } from "../settings/settings.ts";
import { apiHosts } from "../settings/trust.ts";

/** A permission that a script needs. */
interface NeededPermission {
  readonly flag: string;
  /** Whether the permission is granted without a prompt. */
  readonly granted: boolean;
}

/** Lists the permissions that a script needs with these settings. */
export function neededPermissions(settings: Settings): NeededPermission[] {
  const needed: NeededPermission[] = [];

  const { envFile, tokenFile, location: { kind } } = settings;
  const files = { read: [envFile, ...secretFiles()], write: [tokenFile] };
  for (const name of ["read", "write"] as const) {
    const folders = files[name].flatMap((path) => path === undefined ? [] : foldersOf(path));
    // The search for the user's own file begins in the working folder, which must be readable.
    if (name === "read" && kind === "own") folders.unshift(".");
    if (folders.length === 0) continue;
    needed.push({
      flag: `--allow-${name}=${[...new Set(folders.map(shortPath))].join()}`,
      granted: folders.every((path) => isGranted({ name, path })),
    });
  }

  const text = (name: SettingName) => settings.text(name);
  const addresses = [
    settings.endpoint,
    text("store"),
    ...apiHosts(text).map((host) => `https://${host}`),
  ];
  const urls = addresses.flatMap((address) => URL.parse(address ?? "") ?? [])
    // Text such as localhost:8000 is parsed as a URL without a host, for which no flag is possible.
    .filter(({ host }) => host !== "");
  const hosts = new Map(urls.map((url) => [url.host, hostAndPort(url)]));
  needed.push({
    flag: hosts.size === 0 ? "--allow-net" : `--allow-net=${[...hosts.keys()].join()}`,
    granted: [...hosts.values()].every((host) => isGranted({ name: "net", host })),
  });

  needed.push({
    flag: "--allow-env",
    granted: [...Object.values(VARIABLES), ENV_FILE_VARIABLE].every(mayUseVariable),
  });
  return needed;
}

/** Returns the command that runs a script with these permissions. */
export function scriptCommand(needed: readonly NeededPermission[]): string {
  const flags = needed.map(({ flag }) => /[^\w.,:/\\@=+[\]-]/.test(flag) ? `"${flag}"` : flag);
  return `deno run ${flags.join(" ")} script.ts`;
}

function isGranted(permission: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}
