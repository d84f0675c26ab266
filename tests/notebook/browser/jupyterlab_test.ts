import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { cardHtml } from "../../../src/show/card.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { assertReadable } from "./contrast.ts";
import { jupyterHome } from "../../support/jupyter.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { code, notebookOf, value } from "../kernel/notebook_builders.ts";
import { readNotebook, writeNotebook } from "../kernel/notebook.ts";
import { listNotebooks } from "../kernel/run_notebooks.ts";
import { LabPage, noJupyterLab, startJupyterLab } from "./jupyterlab.ts";

/** The outputs that are wider than their cell, and the pictures that are not displayed. */
const MISFITS = `[...document.querySelectorAll(".jp-NotebookPanel .jp-OutputArea-output")]
  .filter((place) => place.scrollWidth > place.clientWidth ||
    [...place.querySelectorAll("img")].some(({ complete, naturalWidth }) => !complete || !naturalWidth))
  .map((place) => place.innerText)`;

/** A card as a saved notebook contains it. JupyterLab removes some of its styles. */
const CARD = cardHtml({
  tone: "good",
  title: "Ready",
  rows: [{ name: "app client", value: "client-1" }],
});

/** The rows of cards whose name touches the value. */
const TOUCHING =
  `[...document.querySelectorAll(".jp-NotebookPanel [role=group] tr")].filter((row) => {
  const [name, value] = ["span", "td"].map((part) => row.querySelector(part).getBoundingClientRect());
  return value.top < name.bottom && value.left < name.right + 4;
}).map((row) => row.innerText)`;

chromiumTest(
  "JupyterLab masks the prompts of login(), and every output of the notebooks fits and is readable",
  async (browser) => {
    const clientSecret = crypto.randomUUID();
    await using sandbox = await startSandbox({ clientSecret });
    const user = { username: "ada", password: crypto.randomUUID() };
    sandbox.addUser(user);
    await using home = await jupyterHome();
    const path = `${home.folder}/all.ipynb`;
    const saved = await Promise.all((await listNotebooks()).map(readNotebook));
    const cells = saved.flatMap(({ cells }) => cells);
    const card = code("status()", [value({ "text/plain": "", "text/html": CARD })]);
    const session = [code(importing("login")), code("await login()")];
    await writeNotebook(path, notebookOf(...session, card, ...cells));
    const variables = settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD");
    await using server = await startJupyterLab(home, variables);
    const { page, problems } = await openPage(browser);
    await page.setViewportSize({ width: 1200, height: 900 });
    const lab = await LabPage.open(page, server, "all.ipynb");

    await lab.run(0);
    await lab.start(1);
    await lab.answer(1, "password", "");
    await lab.answer(1, "text", user.username);
    await lab.answer(1, "password", user.password);
    await lab.ended(1);
    assertMatch(await (await lab.card(1)).innerText(), /Signed in as ada/);

    await page.waitForFunction("[...document.images].every(({ complete }) => complete)");
    const outputs = page.locator(".jp-NotebookPanel .jp-OutputArea-output");
    const rich = outputs.filter({ has: page.locator("[role=group], figure, table, progress") });
    assert(await rich.count() > 20, "the saved outputs are in the page");
    for (const theme of ["Light", "Dark"] as const) {
      await lab.changeTheme(theme);
      for (const place of await rich.all()) {
        await assertReadable(place, theme === "Light" ? "light" : "dark");
      }
      assertEquals(await page.evaluate(MISFITS), [], theme);
    }
    assertEquals(await page.evaluate(TOUCHING), []);

    await lab.save();
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const file = await Deno.readTextFile(path);
    assertMatch(file, /Signed in as ada/);
    const secrets = [user.password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
    assertEquals(repeatedPart(file, secrets), undefined);
    assertEquals(problems.filter((it) => it.startsWith("http")), [], "no host but loopback");
  },
  noJupyterLab,
);
