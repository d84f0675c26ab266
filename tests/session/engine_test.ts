/** How a session uses its store. */
import { assertEquals } from "@std/assert";
import { makeSession } from "../../src/session.ts";
import { linesOf, portless, signedIn } from "../support/portless.ts";

Deno.test("status() shows the settings that the next call uses, as the .env has them now", async () => {
  await using world = await signedIn({ file: true });
  assertEquals(world.session.status().portalUrl, undefined);
  await Deno.writeTextFile(world.envFile, "PORTAL_URL=https://portal.example\n", { append: true });
  const { portalUrl, state } = world.session.status();
  assertEquals([portalUrl, state], ["https://portal.example/", "valid"]);
  await Deno.writeTextFile(world.envFile, "APP_CLIENT_ID=another-client\n", { append: true });
  assertEquals(world.session.status().clientId, world.options.clientId);
});

Deno.test("a logout takes effect even if another account is set during it", async () => {
  await using world = portless({ file: true });
  const session = makeSession({ ...world.options, envFile: world.envFile }, false);
  await session.login();
  const out = session.logout();
  session.configure({ ...world.options, clientId: "another-client" });
  await out;
  assertEquals(linesOf(world.envFile), {});
});

Deno.test({
  name: "logout() leaves a file without tokens unchanged, even if it is read-only",
  permissions: { read: true, write: false, env: true, net: false },
  fn: async () => {
    const envFile = new URL("../../LICENSE", import.meta.url);
    const before = await Deno.stat(envFile);
    const session = makeSession({ envFile, exportEnv: "none" }, false);
    assertEquals((await session.logout()).state, "none");
    assertEquals((await Deno.stat(envFile)).mode, before.mode);
  },
});
