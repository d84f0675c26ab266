import { assertEquals } from "@std/assert";
import type { SessionStatus } from "../../../mod.ts";
import { cardHtml, keyCard } from "../../../src/show/card.ts";
import { diagnosisView } from "../../../src/show/diagnosis.ts";
import { statusView } from "../../../src/show/status_view.ts";
import { HiddenKey } from "../../../src/session/challenges/challenge.ts";
import { Secret } from "../../../src/platform/secret.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { assertReadable } from "./contrast.ts";

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
    ...STATUS,
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
