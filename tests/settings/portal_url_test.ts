/** `PORTAL_URL`, which messages about a portal string contain. */
import { assertEquals } from "@std/assert";
import { createSession } from "../../mod.ts";
import { withEnvironment } from "../support/environment.ts";
import { portless, rejection } from "../support/portless.ts";

const PORTAL = "https://portal.example.com/tokens";

for (const [place, note] of [["environment", ""], [".env", " (set in the .env)"]] as const) {
  Deno.test(`prompts, status and errors contain the PORTAL_URL of the ${place}`, async () => {
    await using world = portless({ file: true });
    const portalToken = await world.sandbox.portalToken();
    Deno.writeTextFileSync(world.envFile, note === "" ? "# mine\n" : `PORTAL_URL=${PORTAL}\n`);
    await withEnvironment({ PORTAL_URL: note === "" ? PORTAL : undefined }, async () => {
      const texts: string[] = [];
      const prompt = (message: string) => {
        texts.push(message);
        return portalToken;
      };
      const session = createSession({ ...world.options, prompt });
      const status = await session.login({ strategy: "portal" });
      assertEquals(status.portalUrl, PORTAL);
      texts.push(Deno.inspect(status), status.warnings.join());
      texts.push((await rejection(session.login({ portalToken: "a b" }))).message);
      world.clock.advance(7_200);
      texts.push((await rejection(session.authFetch("/v1/whoami"))).message);
      texts.push((await rejection(session.login({ portalToken }))).message);
      for (const text of texts) {
        const [, ...after] = text.replace(/\s+/g, " ").split(PORTAL);
        const found = after.map((rest) => rest.startsWith(" (set in the .env)"));
        assertEquals([...new Set(found)], [note !== ""], text);
      }
    });
  });
}
