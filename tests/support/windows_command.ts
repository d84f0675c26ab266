import { environment } from "../../src/platform/environment.ts";

/** The folder of Windows, and the paths in it. */
export interface WindowsRoot {
  readonly root: string;
  /** The copy of the repository. Like many users' paths, it contains a space and an umlaut. */
  readonly repository: string;
  /** The command line's entry point in this copy, as a Windows path. */
  readonly cli: string;
  /** Deno's cache. */
  readonly packages: string;
}

const HOME_FOLDER = "prefix/drive_c/users/root";
const COPY = "Jürgens Code/platform-auth";

/** `WINDOWS_ROOT`, or a folder in this user's cache. */
export function windowsRoot(): WindowsRoot {
  const cache = environment("XDG_CACHE_HOME") || `${environment("HOME")}/.cache`;
  const root = environment("WINDOWS_ROOT") || `${cache}/platform-auth/windows`;
  return {
    root,
    repository: root + repositoryInside(),
    cli: `C:/users/root/${COPY}/src/cli.ts`,
    packages: `${root}/deno-cache`,
  };
}

function repositoryInside(): string {
  return `/${HOME_FOLDER}/${COPY}`;
}

/**
 * The command that runs Deno for Windows. Only this command sees its mounts, and killing it ends all
 * processes that it started.
 *
 * @param folder The working folder, as seen from inside the root. Default: the copy of the repository.
 * @param variables Further environment variables.
 */
export function windowsCommand(
  args: string[],
  folder: string = repositoryInside(),
  variables: Record<string, string> = {},
): string[] {
  const { root } = windowsRoot();
  const all = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: "/root",
    // Otherwise Wine does not know the encoding of file names.
    LANG: "C.UTF-8",
    TERM: "xterm",
    XDG_RUNTIME_DIR: "/tmp",
    WINEPREFIX: "/prefix",
    WINEDEBUG: "-all",
    WINEPATH: "Z:\\deno;Z:\\programs",
    // Otherwise each process leaves a copy of Deno (97 MB).
    DENO_DISABLE_NODE_SHIM: "1",
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    DENO_DIR: "Z:\\deno-cache",
    DENO_CERT: "Z:\\etc\\ssl\\certs\\ca-certificates.crt",
    TINY_DISK: "Z:\\tiny",
    ...variables,
  };
  return [
    // A lock, because two commands at once would be two machines on one disk.
    ...["flock", `${root}/.lock`],
    ...["unshare", "--mount", "--pid", "--fork", "--kill-child"],
    ...[`--root=${root}`, "--mount-proc", `--wd=${folder}`],
    // A small disk, for the tests of full disks.
    ...["sh", "-c", 'mkdir -p /tiny; mount -t tmpfs -o size=16k tmpfs /tiny; exec "$@"', "sh"],
    ...["env", "-i", ...Object.entries(all).map((pair) => pair.join("="))],
    ...["wine", "/deno/deno.exe", ...args],
  ];
}
