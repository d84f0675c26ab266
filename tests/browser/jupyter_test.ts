import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { statusCard } from "../../src/display/card.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { chromiumTest, launchBrowser, noChromium, openPage } from "./browser.ts";
import { repeatedPart } from "../support/canaries.ts";
import { jupyterHome, noJupyter, startJupyter } from "./jupyter.ts";
import { code, notebookOf } from "../notebooks/notebook_builders.ts";
import { readNotebook, scanForSecrets, writeNotebook } from "../notebooks/notebook.ts";
import { testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";

/** A folder for pictures of the cards, to look at them; unset: none are taken. */
const SCREENSHOTS = Deno.env.get("SCREENSHOTS");

const GREEN = "rgb(31, 157, 99)";
const AMBER = "rgb(201, 133, 0)";
const RED = "rgb(214, 69, 69)";
const GRAY = "rgb(125, 133, 144)";

/** An open notebook in the browser. Cells count from 0. */
class NotebookPage {
  constructor(readonly page: Page) {}

  static async open(page: Page, url: string): Promise<NotebookPage> {
    await page.goto(url);
    await page.locator("#kernel_indicator_icon.kernel_idle_icon").waitFor({ timeout: 120_000 });
    return new NotebookPage(page);
  }

  cell(index: number): Locator {
    return this.page.locator(".code_cell").nth(index);
  }

  /** Starts a cell and does not wait for its end. */
  async start(index: number): Promise<void> {
    await this.page.evaluate(`Jupyter.notebook.execute_cells([${index}])`);
  }

  /** Waits until the cell has its number. */
  async ended(index: number): Promise<void> {
    await this.cell(index).locator(".input_prompt", { hasText: /\[\d+\]/ }).waitFor();
  }

  async run(index: number): Promise<void> {
    await this.start(index);
    await this.ended(index);
  }

  /** Types into the box that the cell asks with, which has this type. */
  async answer(index: number, type: "text" | "password", value: string): Promise<void> {
    const box = this.cell(index).locator(`input.raw_input[type=${type}]`);
    await box.waitFor();
    // The next question may come with a box of the same type.
    const asked = await box.elementHandle();
    await box.fill(value);
    await box.press("Enter");
    await asked?.waitForElementState("hidden");
  }

  /** The card that a cell shows. */
  async card(index: number, name: string): Promise<{ color: string; text: string }> {
    const card = this.cell(index).locator(".output_html [role=group]");
    await card.waitFor();
    if (SCREENSHOTS) await card.screenshot({ path: `${SCREENSHOTS}/card-${name}.png` });
    const color = await this.page.evaluate(
      `getComputedStyle(document.querySelectorAll(".code_cell")[${index}]
         .querySelector("[role=group]")).borderLeftColor`,
    );
    return { color: String(color), text: (await card.innerText()).replace(/\s+/g, " ") };
  }

  async save(): Promise<void> {
    await this.page.evaluate("Jupyter.notebook.save_notebook().then(() => null)");
  }
}

const CELLS = [
  `${importing("configure, doctor, login, status")}
let ahead = 0;
configure({ now: () => Date.now() + ahead });
status()`,
  "await login()",
  "ahead = 600_000;\nstatus()",
  `ahead = 0;\nawait login({ strategy: "password" })`,
  "await doctor()",
];

testNeeding(
  noJupyter("jupyter-notebook") ?? noChromium,
  "in classic Jupyter login() asks, masked, cards show, and the saved file holds no secret",
  async () => {
    // A token of the portal that is good for less than five minutes.
    await using sandbox = await startSandbox({
      accessTokenSeconds: 240,
      clientSecret: crypto.randomUUID(),
    });
    const user = { username: "ada", password: crypto.randomUUID() };
    sandbox.addUser(user);
    const portalString = await sandbox.portalToken();
    await using home = await jupyterHome();
    const path = `${home.folder}/cards.ipynb`;
    await writeNotebook(path, notebookOf(...CELLS.map((cell) => code(cell))));
    const variables = settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD");
    await using server = await startJupyter(home, variables);
    await using browser = await launchBrowser();
    const { page } = await openPage(browser);
    const notebook = await NotebookPage.open(page, `${server.url}notebooks/cards.ipynb`);

    await notebook.run(0);
    const none = await notebook.card(0, "none");
    assertEquals(none.color, GRAY);
    assertMatch(none.text, /Not signed in .*run login\(\)/);

    await notebook.start(1);
    await notebook.answer(1, "password", portalString);
    await notebook.ended(1);
    const amber = await notebook.card(1, "amber");
    assertEquals(amber.color, AMBER);
    assertMatch(amber.text, /Signed in as student .*cannot be refreshed/);

    await notebook.run(2);
    const red = await notebook.card(2, "red");
    assertEquals(red.color, RED);
    assertMatch(red.text, /Session ended .*copy a new portal string/);

    await notebook.start(3);
    await notebook.answer(3, "text", user.username);
    await notebook.answer(3, "password", user.password);
    await notebook.ended(3);
    const good = await notebook.card(3, "good");
    assertEquals(good.color, GREEN);
    assertMatch(good.text, /Signed in as ada .*refreshed automatically/);
    const { height } = await notebook.cell(3).locator(".output_html svg").boundingBox() ??
      { height: 0 };
    assertEquals(height, 6);

    await notebook.run(4);
    assertMatch((await notebook.card(4, "doctor")).text, /settings/);
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/card-page.png` });

    await notebook.save();
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    const token = portalString.replace("bearer ", "");
    const secrets = [token, user.password, sandbox.settings.clientSecret];
    const file = await Deno.readTextFile(path);
    assertEquals(repeatedPart(file, [...secrets, ACCESS_TOKEN, REFRESH_TOKEN]), undefined);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "" && file.includes("ada"));
    const found = scanForSecrets(await readNotebook(path));
    assertEquals(found.filter((each) => /token|opaque/.test(each)), []);

    // Jupyter takes from a notebook that it does not trust what could do harm: the words stay.
    await NotebookPage.open(page, `${server.url}notebooks/cards.ipynb`);
    const reopened = notebook.cell(3).locator(".output_html");
    await reopened.waitFor();
    assertMatch(
      (await reopened.innerText()).replace(/\s+/g, " "),
      /Signed in as ada .*automatically/,
    );
    if (SCREENSHOTS) await reopened.screenshot({ path: `${SCREENSHOTS}/card-untrusted.png` });
  },
);

chromiumTest("a card stays within a narrow page, however long the names in it", async (browser) => {
  const username = "a".repeat(300);
  const card = statusCard({
    state: "valid",
    username,
    clientId: username,
    provider: `https://${"a".repeat(60)}.example`,
    accessTokenExpiresAt: new Date(Date.now() + 1_800_000),
    canRefresh: false,
    source: "portal",
    settings: {},
    envFile: `/data/${username}/.env`,
    warnings: [username],
    asOf: new Date(),
  });
  const { page } = await openPage(browser);
  await page.setViewportSize({ width: 360, height: 640 });
  await page.setContent(`<body style="background:#111318;color:#e6e6e6">${card}`);
  if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/card-narrow-dark.png` });
  assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 360);
});

chromiumTest("the bar of a card that is put into an open page runs down", async (browser) => {
  const asOf = new Date();
  const card = statusCard({
    state: "valid",
    accessTokenExpiresAt: new Date(asOf.getTime() + 1_800_000),
    accessTokenLifetimeSeconds: 3_600,
    canRefresh: true,
    source: "password",
    settings: {},
    warnings: [],
    asOf,
  });
  const { page } = await openPage(browser);
  for (const style of ["", "display:none"]) {
    await page.setContent(`<div style="${style}"></div>`);
    // As front ends do it, also in a tab that is not in view.
    await page.evaluate(`document.querySelector("div").innerHTML = ${JSON.stringify(card)}`);
    await page.evaluate(
      "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
    );
    await page.evaluate(`document.querySelector("div").style.display = "block"`);
    const whole = await page.locator("svg").boundingBox();
    const half = await pixelsOf(page, GREEN);
    const width = whole?.width ?? 0;
    assert(Math.abs(half - width / 2) < 5, `30 minutes are ${half} of ${width} pixels ${style}`);
    await page.evaluate(`document.querySelector("svg").setCurrentTime(900)`);
    const quarter = await pixelsOf(page, GREEN);
    assert(
      Math.abs(quarter - width / 4) < 5,
      `15 minutes are ${quarter} of ${width} pixels ${style}`,
    );
  }
});

/** How many pixels in the middle line of the bar have this color. */
async function pixelsOf(page: Page, color: string): Promise<number> {
  const picture = await page.locator("svg").screenshot();
  return Number(
    await page.evaluate(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${picture.toString("base64")}";
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, image.height / 2, image.width, 1);
    return Array.from({ length: image.width }, (_, at) => data.slice(at * 4, at * 4 + 3))
      .filter((pixel) => "rgb(" + [...pixel].join(", ") + ")" === "${color}").length;
  })()`),
  );
}
