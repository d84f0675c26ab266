import { foldersOf } from "./env_file.ts";
import { mayUseVariable } from "../platform/environment.ts";
import { workingFolder } from "../platform/paths.ts";
import { ENV_FILE_VARIABLE, splitCommand, VARIABLES } from "./options.ts";
import type { Settings } from "./settings.ts";

/** A permission that a script needs, as the flag that grants it. */
export interface NeededPermission {
  readonly flag: string;
  /** Whether it is there, so that nobody is asked for it. */
  readonly granted: boolean;
}

/**
 * The permissions that a script needs with these settings, and no others.
 *
 * @param endpoint The token endpoint, as far as it is known.
 */
export function neededPermissions(
  settings: Settings,
  endpoint: string | undefined,
): NeededPermission[] {
  const command = settings.text("tokenCommand");
  const store = settings.text("store");
  const needed: NeededPermission[] = [];

  const folders = settings.envFile === undefined ? [] : foldersOf(settings.envFile);
  for (const name of ["read", "write"] as const) {
    if (folders.length === 0) continue;
    // Where a command or a store has the tokens nothing is written.
    if (name === "write" && (command ?? store) !== undefined) continue;
    needed.push({
      flag: `--allow-${name}=${folders.map(shortPath).join()}`,
      granted: folders.every((path) => isGranted({ name, path })),
    });
  }

  // A command has the tokens by itself.
  const sources = command === undefined ? [endpoint, store] : [];
  const allowed = (settings.text("allowedOrigins") ?? "").split(",");
  const urls = [...sources, settings.text("apiBaseUrl"), ...allowed]
    .flatMap((text) => URL.parse((text ?? "").trim()) ?? [])
    // An address such as localhost:8000 parses, and has none.
    .filter(({ host }) => host !== "");
  const hosts = new Map(urls.map((url) => [url.host, hostAndPort(url)]));
  needed.push({
    flag: hosts.size === 0 ? "--allow-net" : `--allow-net=${[...hosts.keys()].join()}`,
    // Where no host is known, none is known to be missing.
    granted: [...hosts.values()].every((host) => isGranted({ name: "net", host })),
  });

  needed.push({
    flag: "--allow-env",
    granted: [...Object.values(VARIABLES), ENV_FILE_VARIABLE].every(mayUseVariable),
  });

  const program = splitCommand(command ?? "")?.[0];
  if (program !== undefined) {
    needed.push({
      flag: `--allow-run=${program}`,
      granted: isGranted({ name: "run", command: program }),
    });
  }
  return needed;
}

/** The command that gives a script all of its permissions, to be pasted. */
export function scriptCommand(settings: Settings, endpoint: string | undefined): string {
  const flags = neededPermissions(settings, endpoint).map(({ flag }) =>
    /[^\w.,:/\\@=+[\]-]/.test(flag) ? `"${flag}"` : flag
  );
  return `deno run ${flags.join(" ")} script.ts`;
}

function isGranted(permission: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

/**
 * Whether this process may send to a host; where the runtime would ask the user at the first use, it
 * asks.
 */
export function mayReach(url: URL): boolean {
  return Deno.permissions.requestSync({ name: "net", host: hostAndPort(url) }).state === "granted";
}

/** Host and port, also where the address leaves the port out. */
export function hostAndPort({ hostname, port, protocol }: URL): string {
  const usual = protocol === "http:" ? "80" : protocol.startsWith("redis") ? "6379" : "443";
  return `${hostname}:${port || usual}`;
}

function shortPath(folder: string): string {
  return folder === workingFolder() ? "." : folder.replace(/(?<=.)[\\/]$/, "");
}
