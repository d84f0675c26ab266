import { assert, assertEquals, assertMatch } from "@std/assert";
import { basename } from "node:path";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { code, notebookOf } from "../notebooks/notebook_builders.ts";
import { listNotebooks } from "../notebooks/main.ts";
import {
  codeCells,
  hasTag,
  readNotebook,
  scanForSecrets,
  writeNotebook,
} from "../notebooks/notebook.ts";
import { repeatedPart } from "../support/canaries.ts";
import { testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";
import { launchBrowser, noChromium, openPage } from "./browser.ts";
import { jupyterHome } from "./jupyter.ts";
import { LabPage, noJupyterLab, startJupyterLab, type Theme } from "./jupyterlab.ts";

/** A folder for pictures, to look at them; unset: none are taken. */
const SCREENSHOTS = Deno.env.get("SCREENSHOTS");

const GREEN = "rgb(31, 157, 99)";
const AMBER = "rgb(201, 133, 0)";

const lack = noJupyterLab ?? noChromium;

/** How much lighter one of two colors is than the other: 4.5 is what small text needs. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [one, other].map(luminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((text) => {
    const part = Number(text) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

async function picture({ page }: LabPage, name: string): Promise<void> {
  if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/lab-${name}.png` });
}

const CELLS = [
  `${importing("authFetch, login, status")}\nstatus()`,
  "await login()",
  `await login({ strategy: "password" })`,
  `await authFetch("/v1/stations").catch((error) => error.code)`,
  "status()",
];

for (const theme of ["Light", "Dark"] as Theme[]) {
  testNeeding(
    lack,
    `in JupyterLab, ${theme}: login() asks, masked; Stop ends a call; a restart resumes`,
    async () => {
      // A token of the portal that is good for less than five minutes: its card is amber.
      await using sandbox = await startSandbox({
        accessTokenSeconds: 240,
        clientSecret: crypto.randomUUID(),
      });
      const user = { username: "ada", password: crypto.randomUUID() };
      sandbox.addUser(user);
      const portalString = await sandbox.portalToken();
      await using home = await jupyterHome();
      const path = `${home.folder}/session.ipynb`;
      await writeNotebook(path, notebookOf(...CELLS.map((cell) => code(cell))));
      const variables = settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD");
      await using server = await startJupyterLab(home, theme, variables);
      await using browser = await launchBrowser();
      const { page, problems } = await openPage(browser);
      const lab = await LabPage.open(page, `${server.url}lab/tree/session.ipynb`);

      await lab.run(0);
      assertMatch((await lab.card(0)).text, /Not signed in .*run login\(\)/);

      await lab.start(1);
      await lab.cell(1).locator("input.jp-Stdin-input[type=password]").waitFor();
      await picture(lab, `${theme}-prompt`);
      await lab.answer(1, "password", portalString);
      await lab.ended(1);
      const portal = await lab.card(1);
      assertEquals(portal.edge, AMBER);
      assertMatch(portal.text, /Signed in as student .*cannot be refreshed/);

      await lab.start(2);
      await lab.answer(2, "text", user.username);
      await lab.answer(2, "password", user.password);
      await lab.ended(2);
      const card = await lab.card(2);
      assertEquals(card.edge, GREEN);
      assertMatch(card.text, /Signed in as ada .*refreshed automatically/);
      assert(contrast(card.ink, card.ground) >= 4.5, `${card.ink} on ${card.ground}`);
      assertEquals(luminance(card.ground) < 0.2, theme === "Dark", card.ground);
      const { height } = await lab.cell(2).locator("[role=group] svg").boundingBox() ??
        { height: 0 };
      assertEquals(height, 6, "the bar has its style");
      await picture(lab, `${theme}-cards`);

      const hanging = { at: "api" as const, delayMs: 600_000, times: 1 };
      sandbox.failures.push(hanging);
      await lab.start(3);
      while (hanging.times > 0) await new Promise((resolve) => setTimeout(resolve, 10));
      sandbox.failures.length = 0;
      await lab.menu("notebook:interrupt-kernel");
      await lab.ended(3);
      assertMatch(await lab.shown(3), /INTERRUPTED/);

      await lab.restart();
      await lab.run(0);
      assertMatch((await lab.card(0)).text, /Signed in as ada/);
      await lab.run(3);
      assertMatch(await lab.shown(3), /200|Response/);
      assertEquals(sandbox.requests.length, 1, "the restart needed no login");

      await lab.save();
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
      const token = portalString.replace("bearer ", "");
      const secrets = [token, user.password, sandbox.settings.clientSecret];
      const file = await Deno.readTextFile(path);
      assertEquals(repeatedPart(file, [...secrets, ACCESS_TOKEN, REFRESH_TOKEN]), undefined);
      assertEquals(problems.filter((it) => it.startsWith("http")), [], "no host but loopback");
    },
  );
}

testNeeding(lack, "in JupyterLab all notebooks run from the first cell to the last", async () => {
  await using home = await jupyterHome();
  const root = new URL("../../", import.meta.url);
  for (const part of ["mod.ts", "src"]) {
    await Deno.symlink(new URL(part, root), `${home.folder}/../${part}`);
  }
  const paths = await listNotebooks();
  const helpers = ["show.ts", "plot.ts"].map((name) => new URL(`notebooks/${name}`, root).pathname);
  for (const path of [...paths, ...helpers]) {
    await Deno.copyFile(path, `${home.folder}/${basename(path)}`);
  }
  await using server = await startJupyterLab(home, "Light");
  await using browser = await launchBrowser();
  for (const name of paths.map((path) => basename(path))) {
    const { page } = await openPage(browser);
    await page.setViewportSize({ width: 1280, height: 2_400 });
    const lab = await LabPage.open(page, `${server.url}lab/tree/${name}`);
    await lab.menu("editmenu:clear-all");
    await lab.menu("notebook:run-all-cells");
    const last = codeCells(await readNotebook(`${home.folder}/${name}`)).length;
    await lab.ended(last - 1);
    if (name.startsWith("04")) {
      const bar = lab.page.locator("progress");
      assertEquals(await bar.getAttribute("value"), await bar.getAttribute("max"), "the downloads");
      for (const plot of [0, 1]) {
        await lab.page.locator("figure img").nth(plot).waitFor();
      }
    }
    if (SCREENSHOTS) {
      await lab.page.locator(".jp-OutputArea").last().scrollIntoViewIfNeeded();
      await picture(lab, name.slice(0, 2));
    }
    await lab.save();
    const executed = await readNotebook(`${home.folder}/${name}`);
    const cells = codeCells(executed).map(({ cell }) => cell);
    assertEquals(cells.map((cell) => cell.execution_count), cells.map((_, index) => index + 1));
    const failed = cells.filter((cell) => !hasTag(cell, "raises-exception"))
      .flatMap(({ outputs }) => outputs)
      .filter(({ output_type }) => output_type === "error");
    assertEquals(failed, [], name);
    assertEquals(scanForSecrets(executed), []);
    await page.context().close();
  }
});
