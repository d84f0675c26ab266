import { assertEquals, assertMatch } from "@std/assert";
import { sealed, type SessionRecord } from "../../../src/redis/mod.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { portless, rejection } from "../../support/portless.ts";
import { Table } from "../../support/table.ts";
import { call } from "./in_cluster.ts";

Deno.test("a session ignores a record with another key or of another program, until the next login", async () => {
  const table = new Table();
  const key = newStoreKey();
  await using world = portless({ session: { store: sealed(table, key) } });
  const assertIgnored = async (record: SessionRecord | undefined, store = sealed(table, key)) => {
    table.record = record;
    const session = world.another({ store });
    const error = await rejection(call(session));
    assertEquals(error.code, "NO_SESSION");
    assertMatch(error.message, /does not fit this AUTH_STORE_KEY or this version/);
    assertEquals((await session.login()).warnings, []);
    assertEquals(await call(world.another({ store })), 200);
  };
  await world.session.login();
  const { record } = table;
  await assertIgnored(record, sealed(table, newStoreKey()));
  await assertIgnored(record, table);
  await assertIgnored({ TEXT: "of another program" });
  await assertIgnored({ ACCESS_TOKEN: "a-token" });
});
