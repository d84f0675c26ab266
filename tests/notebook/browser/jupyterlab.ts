import type { Locator, Page } from "playwright-core";
import { type JupyterHome, type JupyterServer, startServer } from "../../support/jupyter.ts";
import { commandPath, isFile, type Lack } from "../../support/needs.ts";
import { windowsRoot } from "../../support/windows_command.ts";
import { NotebookPage } from "./notebook_page.ts";

export type Theme = "Light" | "Dark";

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

/** The kernel of the open notebook, in the code of the page. */
const KERNEL = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel";

/** A notebook that is open in JupyterLab. */
export class LabPage extends NotebookPage {
  protected override readonly prompt = ".jp-InputPrompt";
  protected override readonly box = "input.jp-Stdin-input";

  /** Opens JupyterLab without a notebook. */
  static async open(page: Page, server: JupyterServer): Promise<LabPage> {
    await page.goto(`${server.url}lab?reset`);
    await page.waitForFunction(
      "globalThis.jupyterapp?.restored.then(() => true)",
      undefined,
      START,
    );
    return new LabPage(page);
  }

  /** Shows a notebook, closes the previous one and ends its kernel. */
  async show(name: string): Promise<void> {
    await this.page.evaluate(`(async ({ commands, shell }) => {
      // If they closed earlier, JupyterLab would open its start page over the notebook.
      const others = [...shell.widgets("main")];
      await commands.execute("docmanager:open", { path: ${JSON.stringify(name)} });
      for (const other of others) {
        await other.sessionContext?.shutdown();
        other.dispose();
      }
    })(jupyterapp)`);
  }

  /** Shows a notebook, and waits for its kernel. */
  async openNotebook(name: string): Promise<void> {
    await this.show(name);
    await this.page.waitForFunction(`!!(${KERNEL})`, undefined, START);
    // Waits for a reply of the kernel: a cell that runs before the kernel is ready would be lost.
    await this.page.evaluate(`(${KERNEL}).info.then(() => null)`);
  }

  override cell(index: number): Locator {
    return this.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(index);
  }

  /** Runs a menu command, and does not wait for its end. */
  async menu(id: string): Promise<void> {
    await this.page.evaluate(`void jupyterapp.commands.execute(${JSON.stringify(id)})`);
  }

  override async start(index: number): Promise<void> {
    await this.cell(index).locator(".jp-InputPrompt").click();
    await this.menu("notebook:run-cell");
  }

  /** The output of a cell, without its number. */
  output(index: number): Locator {
    return this.cell(index).locator(".jp-OutputArea-output");
  }

  /** The text of a cell's outputs. */
  async shown(index: number): Promise<string> {
    return (await this.output(index).allInnerTexts()).join(" ").replace(/\s+/g, " ");
  }

  /** Restarts the kernel without confirmation and waits until it is ready. */
  async restart(): Promise<void> {
    await this.page.evaluate(`(${KERNEL}).restart().then(() => null)`);
    await this.page.evaluate(`(${KERNEL}).info.then(() => null)`);
  }

  /** Changes the theme of the page and waits until it is applied. */
  async changeTheme(theme: Theme): Promise<void> {
    const name = JSON.stringify(`JupyterLab ${theme}`);
    await this.page.evaluate(
      `jupyterapp.commands.execute("apputils:change-theme", { theme: ${name} }).then(() => null)`,
    );
    await this.page.waitForFunction(`document.body.dataset.jpThemeName === ${name}`);
  }

  async save(): Promise<void> {
    await this.page.evaluate(`jupyterapp.shell.currentWidget.context.save().then(() => null)`);
  }
}
