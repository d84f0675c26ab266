import { environment } from "../../src/platform/environment.ts";

/** Where Windows is, and where things are in it. */
export interface WindowsRoot {
  readonly root: string;
  /** The copy of the repository. Its path has a blank and an umlaut, as many a user's. */
  readonly repository: string;
  /** The entry point of the command line in it, as Windows names it. */
  readonly cli: string;
  /** Deno's cache. */
  readonly packages: string;
}

const HOME_FOLDER = "prefix/drive_c/users/root";
const COPY = "Jürgens Code/platform-auth";

/** `WINDOWS_ROOT`, or a folder of this user's cache. */
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
 * The command that runs Deno for Windows. What it mounts is its own, and when it is killed all that it
 * started ends with it.
 *
 * @param folder Where, as seen from inside the root. Default: the copy of the repository.
 * @param variables Further ones of its environment.
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
    // Else Wine cannot tell which characters the names of files are made of.
    LANG: "C.UTF-8",
    TERM: "xterm",
    XDG_RUNTIME_DIR: "/tmp",
    WINEPREFIX: "/prefix",
    WINEDEBUG: "-all",
    WINEPATH: "Z:\\deno;Z:\\programs",
    // Else each process leaves a copy of Deno, of 97 MB.
    DENO_DISABLE_NODE_SHIM: "1",
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    DENO_DIR: "Z:\\deno-cache",
    DENO_CERT: "Z:\\etc\\ssl\\certs\\ca-certificates.crt",
    TINY_DISK: "Z:\\tiny",
    ...variables,
  };
  return [
    // Two of them at once would be two machines on one disk.
    ...["flock", `${root}/.lock`],
    ...["unshare", "--mount", "--pid", "--fork", "--kill-child"],
    ...[`--root=${root}`, "--mount-proc", `--wd=${folder}`],
    // A disk that is soon full.
    ...["sh", "-c", 'mkdir -p /tiny; mount -t tmpfs -o size=16k tmpfs /tiny; exec "$@"', "sh"],
    ...["env", "-i", ...Object.entries(all).map((pair) => pair.join("="))],
    ...["wine", "/deno/deno.exe", ...args],
  ];
}
