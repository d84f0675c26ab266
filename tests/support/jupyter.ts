/** Debian's classic Jupyter and JupyterLab with a Deno kernel, in a temporary home folder. */

import { mustRun } from "./child_deno.ts";
import { commandPath, type Lack, notInstalled } from "./needs.ts";
import { until } from "./until.ts";

const START_ATTEMPTS = 3;
const END_TIMEOUT_MS = 10_000;

/** A folder for notebooks, and the environment in which Jupyter finds only a Deno kernel. */
export interface JupyterHome extends AsyncDisposable {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A running classic Jupyter without a token, on loopback. */
export interface JupyterServer extends AsyncDisposable {
  readonly url: string;
}

/** Why this Jupyter command cannot be run; `undefined`: it can. */
export function noJupyter(command: "jupyter-notebook" | "jupyter-nbconvert"): Lack | undefined {
  return commandPath(command) ? undefined : notInstalled(`no ${command} found on PATH`);
}

/** Makes the home folder and installs the kernel of the running Deno into it. */
export async function jupyterHome(): Promise<JupyterHome> {
  const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "jupyter-home-" }));
  const dispose = () => Deno.remove(home, { recursive: true });
  try {
    const folder = `${home}/notebooks`;
    await Deno.mkdir(folder);
    const env = { HOME: home, DENO_DIR: await denoFolder(), NO_COLOR: "1" };
    // `deno jupyter --install` uses the home folder and ignores Jupyter's variables.
    await mustRun(Deno.execPath(), { args: ["jupyter", "--install"], env });
    return { folder, env, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Starts the notebook server and waits until it responds. */
export function startJupyter(
  home: JupyterHome,
  variables: Record<string, string> = {},
): Promise<JupyterServer> {
  const settings = ["--NotebookApp.token=", "--NotebookApp.password="];
  const args = [...settings, `--notebook-dir=${home.folder}`];
  return startServer(home, ["jupyter-notebook", ...args], variables);
}

/** Starts a Jupyter server by its command, which finds a free port, and waits until it responds. */
export async function startServer(
  home: JupyterHome,
  [command = "", ...args]: readonly string[],
  variables: Record<string, string>,
): Promise<JupyterServer> {
  const child = new Deno.Command(command, {
    args: [...args, "--no-browser", "--allow-root", "--ip=127.0.0.1"],
    env: { ...home.env, ...variables },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const end = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), END_TIMEOUT_MS);
    await child.status;
    clearTimeout(timer);
  };
  try {
    return { url: await serverUrl(home, child.pid), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Executes a notebook of the home folder in place with nbconvert. */
export async function nbconvert(
  home: JupyterHome,
  name: string,
  variables: Record<string, string> = {},
): Promise<void> {
  const options = ["--to", "notebook", "--execute", "--inplace", "--log-level=ERROR"];
  const env = { ...home.env, ...variables };
  for (let attempt = 1;; attempt++) {
    try {
      await mustRun("jupyter-nbconvert", { args: [...options, name], env, cwd: home.folder });
      return;
    } catch (error) {
      // Another program may take a port between Jupyter's choice and the kernel's start.
      if (attempt === START_ATTEMPTS || !String(error).includes("AddrInUse")) throw error;
    }
  }
}

async function denoFolder(): Promise<string> {
  const { denoDir } = JSON.parse(await mustRun(Deno.execPath(), { args: ["info", "--json"] }));
  return String(denoDir);
}

/** Reads the address from the file that the server writes, and waits until it responds. */
async function serverUrl(home: JupyterHome, pid: number): Promise<string> {
  const paths = [".local/share/jupyter/runtime", "Library/Jupyter/runtime"].flatMap((folder) =>
    ["nbserver", "jpserver"].map((kind) => `${home.env.HOME}/${folder}/${kind}-${pid}.json`)
  );
  let url: string | undefined;
  await until(async () => {
    url = paths.map(urlIn).find((found) => found !== undefined);
    if (url === undefined) return false;
    const response = await fetch(`${url}api`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok ?? false;
  });
  return url ?? "";
}

function urlIn(path: string): string | undefined {
  try {
    return String(JSON.parse(Deno.readTextFileSync(path)).url);
  } catch {
    return undefined; // absent or half written
  }
}
