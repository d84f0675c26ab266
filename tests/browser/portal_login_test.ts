import { assertEquals } from "@std/assert";
import { createSession } from "../../mod.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { chromiumTest, copyPortalToken, openPage } from "./browser.ts";

chromiumTest("the string of the portal's Copy Token logs in and calls the API", async (browser) => {
  await using sandbox = await startSandbox();
  const { page, problems } = await openPage(browser);
  const portalToken = await copyPortalToken(page, sandbox);
  // Nothing but the address of the API is set: that is all the portal's way needs.
  const session = createSession({ envFile: false, apiBaseUrl: sandbox.apiUrl });
  const status = await session.login({ portalToken });
  assertEquals([status.state, status.source, status.canRefresh], ["valid", "portal", false]);
  const answer = await session.authFetch("/v1/whoami");
  assertEquals((await answer.json()).username, sandbox.settings.username);
  assertEquals(sandbox.requests, []);
  assertEquals(problems, []);
});
