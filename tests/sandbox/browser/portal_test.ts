import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { createSession } from "../../../mod.ts";
import { createSandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import {
  chooseFromMenu,
  chromiumTest,
  copyPortalToken,
  openPage,
  type PortalAccess,
  readClipboard,
  setClipboard,
  signIn,
} from "../../support/browser.ts";

const BEARER_JWT = /^bearer [\w-]+\.[\w-]+\.[\w-]+$/;

async function enter(page: Page, sandbox: PortalAccess): Promise<void> {
  await page.goto(sandbox.portalUrl);
  await signIn(page, sandbox.settings.username, sandbox.settings.password);
}

async function text(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).innerText()).replace(/\s+/g, " ").trim();
}

chromiumTest(
  '"Copy Token" copies a portal string that login() accepts',
  async (browser) => {
    await using sandbox = await startSandbox();
    const { page, problems } = await openPage(browser);
    const portalToken = await copyPortalToken(page, sandbox);
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

chromiumTest("the user menu opens on a click and closes on a click or Escape", async (browser) => {
  await using sandbox = await startSandbox();
  const { page, problems } = await openPage(browser);
  await enter(page, sandbox);
  const button = page.getByRole("button", { name: "User menu" });
  const copy = page.getByRole("button", { name: "Copy Token" });
  const closings = [
    () => button.click(),
    () => page.getByRole("heading", { level: 1 }).click(),
    () => page.keyboard.press("Escape"),
  ];
  for (const close of closings) {
    await button.click();
    assert(await copy.isVisible());
    await close();
    assert(!await copy.isVisible());
  }
  assertEquals(await page.locator(":focus").getAttribute("id"), "menu-button");
  assertEquals(problems, []);
});

chromiumTest(
  '"Copy Token" shows and selects the token if the browser denies access to the clipboard',
  async (browser) => {
    await using sandbox = await startSandbox();
    const { page, problems } = await openPage(browser);
    await enter(page, sandbox);
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
    await page.getByText("Copied to the clipboard", { exact: true }).waitFor();
    assertEquals(await field.inputValue(), "");
    await setClipboard(page, "granted");
    assertEquals(await readClipboard(page), selected);
    assertEquals(problems, []);
  },
);

chromiumTest(
  '"Copy Token" shows and selects the token if the page is not a secure context',
  async (browser) => {
    let handle = (_request: Request): Promise<Response> => Promise.reject(new Error("not ready"));
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      ({ url, method, headers, body }) => handle(new Request(url, { method, headers, body })),
    );
    const portalUrl = `http://portal.test:${server.addr.port}`;
    const elsewhere = "http://127.0.0.1:9";
    await using sandbox = createSandbox({}, { portalUrl, authUrl: elsewhere, apiUrl: elsewhere });
    handle = sandbox.handle;
    const { page, problems } = await openPage(browser);
    await enter(page, sandbox);
    assertEquals(await page.evaluate("isSecureContext"), false);
    await chooseFromMenu(page, "Copy Token");
    await page.getByLabel("Token string").waitFor();
    assertMatch(String(await page.evaluate("getSelection().toString()")), BEARER_JWT);
    assertEquals(problems, []);
    await page.close();
  },
);
