import { assert, assertEquals } from "@std/assert";
import { Connection } from "../../src/session/redis/connection.ts";
import { exchange, type Request } from "../../src/session/redis/store_script.ts";
import { inFolder } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { NO_REDIS, startRedis } from "../support/redis_server.ts";
import { randomFrom } from "../support/random.ts";
import { RedisScript, type Words } from "./redis_script.ts";

testNeeding(
  NO_REDIS,
  "the explorer's script answers as the client's does in a Redis server",
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder, false);
      const real = await Connection.to(new URL(server.url));
      const script = new RedisScript();
      const stand = {
        run: (_: string, __: string[], words: string[]) =>
          Promise.resolve(script.run(words as unknown as Words, Date.now()).answer),
      } as unknown as Connection;
      const random = randomFrom(1);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
      let last = 0;
      for (let k = 0; k < 150; k++) {
        const number = pick([0, last, last + 1, Math.max(0, last - 1)]);
        const replacesUpTo = pick([number, last, Math.max(0, last - 1)]);
        const known = { number, id: `id-${k}`, data: pick(["", "some", "other"]), replacesUpTo };
        const lock = pick([{}, { owner: pick(["a", "b"]), lockMs: pick([0, 60_000]) }]);
        const request: Request = { known, keepMs: 60_000, ...lock };
        const ours = await exchange(stand, "name", request, 5_000);
        const theirs = await exchange(real, "name", request, 5_000);
        assertEquals(ours.kept, theirs.kept, `${k}: ${JSON.stringify(request)}`);
        assertEquals(ours.isHolder, theirs.isHolder, `${k}: ${JSON.stringify(request)}`);
        // Two clocks.
        assert(Math.abs(ours.number - theirs.number) < 10e6);
        last = ours.kept.number;
      }
    }),
);
