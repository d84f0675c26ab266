/** What a user does in the portal. */
import type { Page } from "playwright-core";

/** Fills in the login form, sends it and waits for the page that follows. */
export async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password", { exact: true }).fill(password);
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name: "Sign in" }).click();
  await loaded;
}

/** Allows the page's origin to use the clipboard, or forbids it. */
export async function setClipboard(page: Page, state: "granted" | "denied"): Promise<void> {
  // Chromium refuses every permission that is not in this list, even the usual one to write.
  const permissions = state === "granted" ? ["clipboard-read", "clipboard-write"] : [];
  await page.context().clearPermissions();
  await page.context().grantPermissions(permissions, { origin: new URL(page.url()).origin });
}

/** Chooses "Copy Token" in the user menu at the upper right. */
export async function copyToken(page: Page): Promise<void> {
  await page.getByRole("button", { name: "User menu" }).click();
  await page.getByRole("button", { name: "Copy Token" }).click();
}
