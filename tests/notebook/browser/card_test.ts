import { assertEquals } from "@std/assert";
import type { SessionStatus } from "../../../mod.ts";
import { cardHtml, keyCard } from "../../../src/show/card.ts";
import { diagnosisView } from "../../../src/show/diagnosis.ts";
import { statusView } from "../../../src/show/status_view.ts";
import { HiddenKey } from "../../../src/session/challenges/challenge.ts";
import { Secret } from "../../../src/platform/secret.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { assertReadable } from "../../support/contrast.ts";

const NOW = Date.UTC(2026, 0, 15, 9);

const STATUS: SessionStatus = {
  state: "valid",
  username: "ada",
  provider: "https://identity.example",
  clientId: "client-1",
  accessTokenExpiresAt: new Date(NOW + 1_800_000),
  accessTokenLifetimeSeconds: 1_800,
  canRefresh: false,
  source: "password",
  settings: {},
  envFile: "/data/.env",
  warnings: ["the clock is slow"],
  notices: [
    { code: "CLOCK", level: "warning", problem: "the clock is slow" },
    { code: "FILE_WAS_OPEN", level: "note", problem: "the file is private now" },
  ],
  asOf: new Date(NOW),
};

/** The same status, with names and a warning that do not fit on one line. */
const LONG: SessionStatus = {
  ...STATUS,
  clientId: "client".repeat(20),
  notices: [{ code: "CLOCK", level: "warning", problem: "a long one ".repeat(20) }],
};

/** The styles that JupyterLab removes from an untrusted notebook. */
const TAKEN_OUT =
  /(flex|gap|justify|align-items|opacity)[\w-]*:[^;"]*;?|[\w-]+:[^;"]*(calc|min|anywhere)\(?[^;"]*;?|[\w-]+:-[^;"]*;?/g;

/** Where the widest text ends. */
const WIDEST = `Math.max(...[...document.querySelectorAll("td")].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getBoundingClientRect().right;
}))`;

chromiumTest(
  "a card whose styles JupyterLab removes still separates names from values",
  async (browser) => {
    const card = cardHtml(statusView(LONG))
      .replace(/<svg.*?<\/svg>/g, "")
      .replace(/ style="[^"]*"/g, (style) => style.replace(TAKEN_OUT, ""));
    const { page } = await openPage(browser);
    for (const width of [150, 600]) {
      await page.setContent(
        `<body style="margin:0;font:14px sans-serif"><div style="width:${width}px">${card}`,
      );
      const rows = await page.locator("tr").all();
      assertEquals(rows.length, 5);
      for (const row of rows) {
        const name = await row.locator("span").first().boundingBox();
        const value = await row.locator("td").boundingBox();
        if (!name || !value) throw new Error("The row is not shown");
        const isBelow = value.y >= name.y + name.height;
        assertEquals(isBelow || value.x - name.x - name.width >= 4, true, `at ${width} pixels`);
        assertEquals(value.x + value.width <= width, true, `it fits ${width} pixels`);
      }
      assertEquals(await page.evaluate(WIDEST) as number <= width, true, "each word fits, too");
    }
  },
);

const CHECKS = (["ok", "warn", "fail", "skip"] as const)
  .map((level) => ({ name: level, level, message: "what was found", fix: "what to do" }));

chromiumTest("a card is readable on a light and on a dark page", async (browser) => {
  const key = new HiddenKey(new Secret("GEZDGNBVGY3TQOJQ"), "ada", "identity.example");
  const cards = [
    cardHtml(statusView(STATUS)),
    cardHtml(diagnosisView({ ok: false, checks: CHECKS })),
    keyCard(key, undefined),
  ];
  const { page } = await openPage(browser);
  for (const card of cards) {
    for (const [ground, colors] of [["light", "#fff;color:#1f1f1f"], ["dark", "#111;color:#eee"]]) {
      await page.setContent(`<body style="background:${colors}">${card}`);
      await assertReadable(page.locator("[role=group]"), ground as "light" | "dark");
    }
  }
});

chromiumTest("a card with long names fits a narrow page", async (browser) => {
  const username = "a".repeat(300);
  const card = cardHtml(statusView({
    ...LONG,
    username,
    clientId: username,
    provider: `https://${"a".repeat(60)}.example`,
    envFile: `/data/${username}/.env`,
    notices: [{ code: "CLOCK", level: "warning", problem: username }],
  }));
  const { page } = await openPage(browser);
  await page.setViewportSize({ width: 360, height: 640 });
  await page.setContent(`<body style="background:#111318;color:#e6e6e6">${card}`);
  assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 360);
});
