import { assert, assertEquals, assertRejects } from "@std/assert";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { ChallengeError, createSession } from "../../../mod.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { copyToken, setClipboard, signIn } from "./portal_steps.ts";

/** Runs all rules of axe-core and returns the violations with their elements. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const [passes, ...found] = await page.evaluate<string[]>(
    `axe.run().then(({ violations, passes }) => [
      String(passes.length),
      ...violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ": " + node.html)),
    ])`,
  );
  assert(Number(passes) > 10, "axe-core did not run");
  return found;
}

const SCREENS = [["light", 1280], ["dark", 360]] as const;

chromiumTest(
  "every page of the portal passes axe-core in a wide light and in a narrow dark window",
  async (browser) => {
    // The clock stands still, so that no code changes during a check.
    const time = Date.now();
    const challenge = ["EMAIL_OTP", "SOFTWARE_TOKEN_MFA"];
    await using sandbox = await startSandbox({ challenge, now: () => time });
    const { username, password } = sandbox.settings;
    const { page, problems } = await openPage(browser);
    // Removes the header that reloads this page for the next code, possibly during a check.
    await page.route("**/authenticator", async (route) => {
      const response = await route.fetch();
      const { refresh: _, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });

    const check = async (state: string): Promise<void> => {
      for (const [colorScheme, width] of SCREENS) {
        // axe-core must see the final colors, not those of a transition.
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width, height: 800 });
        const what = `${state}, ${colorScheme}, ${width} px`;
        assertEquals(await violations(page), [], what);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assertEquals(overflow, 0, `${what} fits into the width`);
      }
    };

    await page.goto(sandbox.portalUrl);
    await signIn(page, username, "not this one");
    await check("wrong password");
    await signIn(page, username, password);
    await setClipboard(page, "denied");
    await copyToken(page);
    await page.getByLabel("Token string").waitFor();
    await page.getByRole("button", { name: "User menu" }).click();
    await page.getByRole("button", { name: "Copy Token" }).waitFor();
    await check("menu open, and the token to copy");
    await page.keyboard.press("Escape");
    await assertRejects(() => createSession(sandbox.settings).login(), ChallengeError);
    await page.getByRole("link", { name: "Messages" }).click();
    await page.getByText(sandbox.codes[0]?.code ?? "").waitFor();
    await check("a message");
    await page.getByRole("link", { name: "Authenticator" }).click();
    await page.getByLabel("Secret, or otpauth address").fill("not a secret");
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByText("This is not a secret of an authenticator").waitFor();
    await check("authenticator, not set up");
    await page.goto(`${sandbox.portalUrl}/nowhere`);
    await check("not found");
    // Chromium itself logs each status other than 2xx.
    const rest = problems.filter((problem) => !/status of (422|404)/.test(problem));
    assertEquals(rest, []);
  },
);
