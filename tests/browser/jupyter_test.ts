import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { cardHtml } from "../../src/show/card.ts";
import { statusView } from "../../src/show/status_view.ts";
import { chromiumTest, openPage } from "./browser.ts";
import { assertReadable } from "./contrast.ts";
import {
  AMBER,
  GRAY,
  GREEN,
  NotebookPage,
  RED,
  SCREENSHOTS,
  signInWorld,
} from "./notebook_page.ts";
import { readNotebook, scanForSecrets } from "../notebooks/notebook.ts";
import { noJupyter, startJupyter } from "../support/jupyter.ts";
import { importing } from "../support/sandbox_env.ts";

/** A notebook that is open in classic Jupyter. */
class ClassicPage extends NotebookPage {
  protected override readonly prompt = ".input_prompt";
  protected override readonly box = "input.raw_input";

  static async open(page: Page, url: string): Promise<ClassicPage> {
    await page.goto(url);
    await page.locator("#kernel_indicator_icon.kernel_idle_icon").waitFor({ timeout: 120_000 });
    return new ClassicPage(page);
  }

  override cell(index: number): Locator {
    return this.page.locator(".code_cell").nth(index);
  }

  override async start(index: number): Promise<void> {
    await this.page.evaluate(`Jupyter.notebook.execute_cells([${index}])`);
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

chromiumTest(
  "in classic Jupyter login() asks, masked, cards show, and the saved file holds no secret",
  async (browser) => {
    await using world = await signInWorld("cards.ipynb", CELLS);
    const { home, path, portalString, user } = world;
    await using server = await startJupyter(home, world.variables);
    const { page } = await openPage(browser);
    const notebook = await ClassicPage.open(page, `${server.url}notebooks/cards.ipynb`);
    const cardOf = async (index: number, name: string) => {
      const card = await notebook.card(index);
      await assertReadable(card.place, "light");
      if (SCREENSHOTS) await card.place.screenshot({ path: `${SCREENSHOTS}/card-${name}.png` });
      return card;
    };

    await notebook.run(0);
    const none = await cardOf(0, "none");
    assertEquals(none.color, GRAY);
    assertMatch(none.text, /Not signed in .*run login\(\)/);

    await notebook.start(1);
    await notebook.answer(1, "password", portalString);
    await notebook.ended(1);
    const leftover = notebook.cell(1).getByText("A prompt is open");
    assertEquals(await leftover.count(), 0, "the line about the question is gone");
    const place = await notebook.cell(1).locator(".output_area").first().boundingBox();
    assert((place?.height ?? 99) < 12, "and leaves no empty line");
    const amber = await cardOf(1, "amber");
    assertEquals(amber.color, AMBER);
    assertMatch(amber.text, /Signed in as student .*cannot be refreshed/);

    await notebook.run(2);
    const red = await cardOf(2, "red");
    assertEquals(red.color, RED);
    assertMatch(red.text, /Session ended .*copy a new portal string/);

    await notebook.start(3);
    await notebook.answer(3, "text", user.username);
    await notebook.answer(3, "password", user.password);
    await notebook.ended(3);
    const good = await cardOf(3, "good");
    assertEquals(good.color, GREEN);
    assertMatch(good.text, /Signed in as ada .*refreshed automatically/);
    const { height } = await notebook.cell(3).locator(".output_html svg").boundingBox() ??
      { height: 0 };
    assertEquals(height, 6);

    await notebook.run(4);
    assertMatch((await cardOf(4, "doctor")).text, /settings/);
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/card-page.png` });

    await notebook.save();
    await world.assertNoSecret();
    const found = scanForSecrets(await readNotebook(path));
    assertEquals(found.filter((each) => /token|opaque/.test(each)), []);

    // Jupyter takes from a notebook that it does not trust what could do harm: the words stay.
    await ClassicPage.open(page, `${server.url}notebooks/cards.ipynb`);
    const reopened = notebook.cell(3).locator(".output_html.output_result");
    await reopened.waitFor();
    assertMatch(
      (await reopened.innerText()).replace(/\s+/g, " "),
      /Signed in as ada .*automatically/,
    );
    if (SCREENSHOTS) await reopened.screenshot({ path: `${SCREENSHOTS}/card-untrusted.png` });
  },
  noJupyter("jupyter-notebook"),
);

chromiumTest("a card stays within a narrow page, however long the names in it", async (browser) => {
  const username = "a".repeat(300);
  const card = cardHtml(statusView({
    state: "valid",
    username,
    clientId: username,
    provider: `https://${"a".repeat(60)}.example`,
    accessTokenExpiresAt: new Date(Date.now() + 1_800_000),
    canRefresh: false,
    source: "portal",
    settings: {},
    envFile: `/data/${username}/.env`,
    warnings: [],
    notices: [{ code: "CLOCK", level: "warning", problem: username }],
    asOf: new Date(),
  }));
  const { page } = await openPage(browser);
  await page.setViewportSize({ width: 360, height: 640 });
  await page.setContent(`<body style="background:#111318;color:#e6e6e6">${card}`);
  if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/card-narrow-dark.png` });
  assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 360);
});

chromiumTest("beside an open side bar a card has its values below their names", async (browser) => {
  const card = cardHtml(statusView({
    state: "valid",
    username: "ada",
    clientId: "client-1",
    accessTokenExpiresAt: new Date(Date.now() + 1_800_000),
    accessTokenLifetimeSeconds: 3_600,
    canRefresh: true,
    source: "password",
    settings: {},
    warnings: [],
    notices: [],
    asOf: new Date(),
  }));
  const { page } = await openPage(browser);
  const places = async (width: number) => {
    await page.setContent(`<body style="margin:0"><div style="width:${width}px">${card}`);
    const name = await page.locator("th", { hasText: "next" }).boundingBox();
    const value = await page.locator("td", { hasText: "refreshed" }).boundingBox();
    const bar = await page.locator("svg").boundingBox();
    if (!name || !value || !bar) throw new Error("it is not shown");
    return { isBelow: value.y >= name.y + name.height, value: value.width, bar: bar.width };
  };
  const wide = await places(600);
  assertEquals(wide.isBelow, false);
  assert(wide.bar > 400, `the bar is ${wide.bar} pixels wide`);
  // What JupyterLab leaves of 520 pixels.
  const narrow = await places(150);
  assertEquals(narrow.isBelow, true);
  assert(narrow.value > 100, `the words have ${narrow.value} pixels`);
});
