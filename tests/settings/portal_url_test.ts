/** `PORTAL_URL`, which messages about a portal string contain. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { withEnvironment } from "../support/environment.ts";
import { portless, rejection } from "../support/portless.ts";

const PORTAL = "https://portal.example.com/tokens";

Deno.test("the status and errors of a portal session contain PORTAL_URL", async () => {
  await using world = portless();
  await withEnvironment({ PORTAL_URL: PORTAL }, async () => {
    const session = createSession(world.options);
    const status = await session.login({ portalToken: await world.sandbox.portalToken() });
    assertEquals(status.portalUrl, PORTAL);
    assertEquals(status.settings.PORTAL_URL, "environment");
    assertStringIncludes(status.warnings.join(), `copy a new one at ${PORTAL} or log in`);
    world.clock.advance(7_200);
    const { message } = await rejection(session.authFetch("/v1/whoami"));
    assertStringIncludes(message, `choose "Copy Token" in the portal ${PORTAL} and run`);
  });
});

Deno.test("every error about a portal string contains the address of the portal", async () => {
  await using world = portless();
  const portalToken = await world.sandbox.portalToken();
  const session = createSession({ ...world.options, portalUrl: new URL(PORTAL) });
  world.clock.advance(7_200);
  const texts = ["a b", portalToken.split(".").slice(0, 2).join("."), portalToken];
  for (const text of texts) {
    const error = await rejection(session.login({ portalToken: text }));
    assertEquals(error.code, "INVALID_PORTAL_TOKEN");
    assertStringIncludes(error.message, `the portal ${PORTAL} `);
  }
});

Deno.test("each text with the address of the portal says that the .env sets it", async () => {
  await using world = portless({ file: true });
  const portalToken = await world.sandbox.portalToken();
  Deno.writeTextFileSync(world.envFile, `PORTAL_URL=${PORTAL}\n`);
  const texts: string[] = [];
  const prompt = (message: string) => {
    texts.push(message);
    return portalToken;
  };
  const session = createSession({ ...world.options, prompt });
  const status = await session.login({ strategy: "portal" });
  texts.push(Deno.inspect(status), ...status.warnings);
  texts.push((await rejection(session.login({ portalToken: "a b" }))).message);
  world.clock.advance(7_200);
  texts.push((await rejection(session.authFetch("/v1/whoami"))).message);
  texts.push((await rejection(session.login({ portalToken }))).message);
  texts.push(Deno.inspect(session.status()));
  for (const text of texts) {
    const shown = text.replace(/\s+/g, " ");
    const found = shown.split(PORTAL).slice(1).map((rest) => rest.slice(0, 18));
    assertEquals([...new Set(found)], [" (set in the .env)"], shown);
  }
});

Deno.test("login() refuses a PORTAL_URL that is not a safe https address, and does not show it", async () => {
  await using world = portless();
  const wrong = ["javascript:alert(1)", "http://portal.example.com", "https://ada:pw@x.example"];
  for (const portalUrl of [...wrong, "portal.other.example"]) {
    const session = createSession({ ...world.options, portalUrl } as SessionOptions);
    assertEquals(session.status().portalUrl, undefined);
    const error = await rejection(session.login());
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, /PORTAL_URL .*must be an https: address/);
    assert(!error.message.includes(portalUrl), error.message);
    const settings = (await session.doctor()).checks.find(({ name }) => name === "settings");
    assertEquals(settings?.level, "fail");
  }
});
