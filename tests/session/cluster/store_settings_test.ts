import { assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { inFolder, neededVariables, outputOf } from "../../support/child_deno.ts";
import { CLI_PATH } from "../../support/cli_world.ts";
import { testNeeding } from "../../support/needs.ts";
import { portless, rejection } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";

Deno.test("with a store that cannot be used, nothing is sent", async () => {
  await using world = portless();
  const refused: [store: string, code: string, message: RegExp][] = [
    ["127.0.0.1:6379", "INVALID_SETTING", /it is not an address such as/],
    ["rediss://store.example", "PERMISSION", /--allow-net=store.example:6379 is missing/],
  ];
  for (const [store, code, message] of refused) {
    const session = world.another({ store });
    for (const method of ["login", "accessToken", "logout"] as const) {
      const error = await rejection(session[method]());
      assertEquals(error.code, code);
      assertMatch(error.message, message);
    }
  }
  assertEquals(world.sent, []);
});

Deno.test("a session warns that a store over TLS without a key contains unencrypted tokens", async () => {
  for (const storeKey of ["", newStoreKey()]) {
    const session = createSession({ store: "rediss://store.example", storeKey });
    await rejection(session.accessToken());
    const isWarned = session.status().warnings
      .some((text) => text.includes("not encrypted in the store at store.example:6379"));
    assertEquals(isWarned, storeKey === "");
  }
});

Deno.test("a store in a .env is not used, and status() warns about it", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await Deno.writeTextFile(envFile, "AUTH_STORE=redis://127.0.0.1:1\n");
    const session = createSession({ envFile });
    assertEquals((await rejection(session.accessToken())).code, "NO_SESSION");
    assertMatch(session.status().warnings.join(), /AUTH_STORE in the .env is not used/);
  }));

testNeeding(
  NO_REDIS,
  "platform-auth status shows the session in AUTH_STORE",
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder);
      const store = { store: server.url, storeKey: newStoreKey() };
      await createSession(store).login({ portalToken: `bearer ${jwt({ sub: "ada", exp: 4e9 })}` });
      const { code, stdout } = await outputOf(Deno.execPath(), {
        args: ["run", "--quiet", "--no-prompt", "--no-lock", "-A", CLI_PATH, "status"],
        cwd: folder,
        clearEnv: true,
        env: {
          ...neededVariables(),
          AUTH_STORE: store.store,
          AUTH_STORE_KEY: store.storeKey,
          AUTH_ENV_FILE: "false",
        },
      });
      assertEquals(code, 0);
      assertMatch(stdout, /^● Signed in as ada/);
    }),
);
