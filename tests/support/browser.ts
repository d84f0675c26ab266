/**
 * A real Chromium, for tests of the portal, the cards and notebooks in Jupyter. Without Chromium or Jupyter, these tests are ignored, and their names say why.
 */
import { type Browser, chromium, type Page } from "playwright-core";
import { commandPath, isFile, type Lack, notInstalled, testNeeding } from "./needs.ts";
import "./quick_signatures.ts";

/** A page and what went wrong in it. */
export interface WatchedPage {
  page: Page;
  /** Errors, violations of the content security policy, and requests beyond loopback. */
  problems: string[];
}

/** Path of Chromium: `CHROMIUM_PATH`, or else the first of the usual names on `PATH`. */
function findChromium(): string | undefined {
  const given = Deno.env.get("CHROMIUM_PATH");
  if (given) return isFile(given) ? given : undefined;
  return commandPath("chromium", "chromium-browser", "google-chrome");
}

/** Why no browser can be started. */
const noChromium: Lack | undefined = findChromium()
  ? undefined
  : notInstalled("no Chromium found on PATH; install chromium or set CHROMIUM_PATH");

/** Starts Chromium with a temporary profile. It resolves only loopback. */
export async function launchBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: findChromium() ?? "",
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-breakpad",
      "--no-proxy-server",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}

let ofThisFile: Browser | undefined;

Deno.test.beforeAll(async () => {
  if (noChromium === undefined) ofThisFile = await launchBrowser();
});
Deno.test.afterAll(() => ofThisFile?.close());

/**
 * Registers a test with Chromium. Starting Chromium takes longer than most tests, so the tests of a
 * file share one browser. Each test has separate contexts, which are closed at its end.
 */
export function chromiumTest(
  name: string,
  fn: (browser: Browser, t: Deno.TestContext) => Promise<void>,
  lack: Lack | undefined = undefined,
): void {
  testNeeding(lack ?? noChromium, name, async (t) => {
    const browser = ofThisFile;
    if (!browser) throw new Error(`Cannot start the browser: ${noChromium?.reason}`);
    try {
      await fn(browser, t);
    } finally {
      for (const context of browser.contexts()) await context.close();
    }
  });
}

/** Opens a page with separate cookies and permissions. */
export async function openPage(
  browser: Browser,
  options: { javaScriptEnabled?: boolean; deviceScaleFactor?: number } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: "en-US", ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (!["127.0.0.1", "localhost"].includes(hostname)) problems.push(request.url());
  });
  return { page, problems };
}
