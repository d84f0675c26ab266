/** `PORTAL_URL`, which messages about a portal string contain. */
import { assertEquals } from "@std/assert";
import { portless, rejection } from "../support/portless.ts";

const PORTAL = "https://portal.example.com/tokens";

Deno.test("prompts, status and errors contain PORTAL_URL, and say that it is from the .env", async () => {
  await using world = portless({ file: true });
  const portalToken = await world.sandbox.portalToken();
  Deno.writeTextFileSync(world.envFile, `PORTAL_URL=${PORTAL}\n`);
  const texts: string[] = [];
  const prompt = (message: string) => {
    texts.push(message);
    return portalToken;
  };
  const session = world.another({ prompt });
  const status = await session.login({ strategy: "portal" });
  texts.push(Deno.inspect(status), status.warnings.join());
  texts.push((await rejection(session.login({ portalToken: "a b" }))).message);
  world.clock.advance(7_200);
  texts.push((await rejection(session.authFetch("/v1/whoami"))).message);
  for (const text of texts) {
    const [, ...after] = text.replace(/\s+/g, " ").split(PORTAL);
    const found = after.map((rest) => rest.startsWith(" (set in the .env)"));
    assertEquals([...new Set(found)], [true], text);
  }
});
