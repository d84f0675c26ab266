/** A store that answers and refuses: what is said then, of a save, a logout and a look. */
import { assertEquals, assertMatch } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { portless, rejection } from "../support/portless.ts";
import { NO_REDIS, startRedis } from "../support/redis_server.ts";

testNeeding(
  NO_REDIS,
  "a wrong password of the store is told at once, and asked about once",
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder, true, ["--requirepass", "Right-Word-1"]);
      await using world = portless();
      const store = server.url.replace("//", "//:Wrong-Word-1@");
      const session = world.another({ store });
      for (const use of [() => session.accessToken(), () => session.login()]) {
        const error = await rejection(use());
        assertEquals(error.code, "STORE_UNREACHABLE");
        assertMatch(error.message, /; correct the user and the password in AUTH_STORE/);
      }
      assertEquals(world.pauses, []);
    }),
);
