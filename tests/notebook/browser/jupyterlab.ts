import type { Locator, Page } from "playwright-core";
import { type JupyterHome, type JupyterServer, startServer } from "../../support/jupyter.ts";
import { commandPath, isFile, type Lack } from "../../support/needs.ts";
import { windowsRoot } from "../../support/windows_command.ts";
import { NotebookPage } from "./notebook_page.ts";

/** The folder of Wine also contains the JupyterLab of Debian 13. */
const { root } = windowsRoot();
const LIBRARIES = `${root}/usr/lib/x86_64-linux-gnu`;
const PYTHON = `${root}/usr/bin/python3`;
const INSTALLED = commandPath("jupyter-lab");
const IN_ROOT = isFile(PYTHON) && isFile(`${root}/usr/share/jupyter/lab/static/index.html`);

/** Why JupyterLab cannot be run. Debian 12 has no package of it. */
export const noJupyterLab: Lack | undefined = INSTALLED || IN_ROOT ? undefined : {
  reason: `no jupyter-lab found on PATH; tests/project/windows/make_root.sh "${root}" makes one`,
  installable: false,
};

/** The command that starts JupyterLab. In Wine's folder, it uses that folder's libraries and packages. */
function command(): { line: string[]; variables: Record<string, string> } {
  if (INSTALLED) return { line: [INSTALLED], variables: {} };
  const loader = `${LIBRARIES}/ld-linux-x86-64.so.2`;
  return {
    line: [loader, "--library-path", LIBRARIES, PYTHON, "-m", "jupyterlab"],
    variables: { PYTHONHOME: `${root}/usr`, PYTHONPATH: `${root}/usr/lib/python3/dist-packages` },
  };
}

/** Turns off messages above the notebook, requests to the internet, and lazy rendering. */
async function writeSettings(home: JupyterHome): Promise<void> {
  const settings = {
    "apputils-extension/themes": { theme: "JupyterLab Light" },
    "apputils-extension/notification": { fetchNews: "false", checkForUpdates: false },
    // Otherwise a cell out of view is not in the page.
    "notebook-extension/tracker": { windowingMode: "none" },
  };
  for (const [name, value] of Object.entries(settings)) {
    const path = `${home.env.HOME}/.jupyter/lab/user-settings/@jupyterlab/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(`${path}.jupyterlab-settings`, JSON.stringify(value));
  }
}

/** Starts JupyterLab, in its light theme, and waits until it responds. */
export async function startJupyterLab(
  home: JupyterHome,
  variables: Record<string, string> = {},
): Promise<JupyterServer> {
  await writeSettings(home);
  const { line, variables: own } = command();
  const args = [
    ...[
      "--IdentityProvider.token=",
      "--ServerApp.password=",
      `--ServerApp.root_dir=${home.folder}`,
    ],
    ...["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"],
    ...(INSTALLED ? [] : [`--LabApp.app_dir=${root}/usr/share/jupyter/lab`]),
  ];
  return await startServer(home, [...line, ...args], { ...variables, ...own });
}

const START = { timeout: 120_000 };

/** A notebook that is open in JupyterLab. */
export class LabPage extends NotebookPage {
  protected override readonly prompt = ".jp-InputPrompt";
  protected override readonly box = "input.jp-Stdin-input";

  /** Opens a notebook and waits for a reply of its kernel: a cell that runs before it would be lost. */
  static async open(page: Page, { url }: JupyterServer, name: string): Promise<LabPage> {
    await page.goto(`${url}lab/tree/${name}?reset`);
    const kernel = "jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel";
    await page.waitForFunction(`globalThis.${kernel}?.info.then(() => true)`, undefined, START);
    return new LabPage(page);
  }

  override cell(index: number): Locator {
    return this.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(index);
  }

  override async start(index: number): Promise<void> {
    await this.cell(index).locator(".jp-InputPrompt").click();
    await this.page.evaluate(`void jupyterapp.commands.execute("notebook:run-cell")`);
  }

  /** Changes the theme of the page and waits until it is applied. */
  async changeTheme(theme: "Light" | "Dark"): Promise<void> {
    const name = JSON.stringify(`JupyterLab ${theme}`);
    await this.page.evaluate(
      `void jupyterapp.commands.execute("apputils:change-theme", { theme: ${name} })`,
    );
    await this.page.waitForFunction(`document.body.dataset.jpThemeName === ${name}`);
  }

  async save(): Promise<void> {
    await this.page.waitForFunction(
      `jupyterapp.shell.currentWidget.context.save().then(() => true)`,
    );
  }
}
