import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { createSession } from "../../../mod.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { copyToken, setClipboard, signIn } from "./portal_steps.ts";

const BEARER_JWT = /^bearer [\w-]+\.[\w-]+\.[\w-]+$/;

async function text(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).innerText()).replace(/\s+/g, " ").trim();
}

const COPIED = ["Copied to the clipboard", { exact: true }] as const;

/** Returns the content of the clipboard, which the page itself reads. */
async function readClipboard(page: Page): Promise<string> {
  return String(await page.evaluate("navigator.clipboard.readText()"));
}

chromiumTest(
  '"Copy Token" copies a portal string that login() accepts',
  async (browser) => {
    await using sandbox = await startSandbox();
    const { page, problems } = await openPage(browser);
    await page.goto(sandbox.portalUrl);
    await signIn(page, sandbox.settings.username, sandbox.settings.password);
    await setClipboard(page, "granted");
    await copyToken(page);
    await page.getByText(...COPIED).waitFor();
    const portalToken = await readClipboard(page);
    assertMatch(portalToken, BEARER_JWT);
    assertMatch(
      await text(page, '[role="status"]'),
      /^Copied to the clipboard Valid until .*\d:\d\d/,
    );
    assert(!(await page.content()).includes(portalToken.slice("bearer ".length)));
    // This login needs no setting but the address of the API.
    const session = createSession({ envFile: false, apiBaseUrl: sandbox.apiUrl });
    const status = await session.login({ portalToken });
    assertEquals([status.state, status.source, status.canRefresh], ["valid", "portal", false]);
    const { username } = await session.fetchJson("/v1/whoami");
    assertEquals([username, sandbox.requests], [sandbox.settings.username, []]);
    assertEquals(problems, []);
  },
);

chromiumTest(
  '"Copy Token" shows and selects the token if the browser denies access to the clipboard',
  async (browser) => {
    await using sandbox = await startSandbox();
    const { page, problems } = await openPage(browser);
    await page.goto(sandbox.portalUrl);
    await signIn(page, sandbox.settings.username, sandbox.settings.password);
    await setClipboard(page, "denied");
    await page.getByRole("button", { name: "User menu" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const field = page.getByLabel("Token string");
    await field.waitFor();
    assertMatch(
      await text(page, '[role="status"]'),
      /^Press (Ctrl|Cmd)\+C to copy the token .*Valid/,
    );
    assertEquals(await field.isEditable(), false);
    const selected = String(await page.evaluate("getSelection().toString()"));
    assertMatch(selected, BEARER_JWT);

    await page.keyboard.press("ControlOrMeta+c");
    await page.getByText(...COPIED).waitFor();
    assertEquals(await field.inputValue(), "");
    await setClipboard(page, "granted");
    assertEquals(await readClipboard(page), selected);
    assertEquals(problems, []);
  },
);
