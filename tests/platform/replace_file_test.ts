import { assertEquals, assertRejects } from "@std/assert";
import { renameOver, type RenameSystem } from "../../src/platform/replace_file.ts";

const DENIED = "Access denied. (os error 5): rename 'a' -> 'b'";
const SHARED = "Sharing violation. (os error 32): rename 'a' -> 'b'";

/** A system whose renames fail so often; tells how often it was asked, and how long it waited. */
function failing(times: number, message: string, windows = true) {
  const seen = { renames: 0, waited: 0 };
  const system: RenameSystem = {
    windows,
    rename() {
      if (++seen.renames <= times) throw new Error(message);
    },
    sleep(ms) {
      seen.waited += ms;
      return Promise.resolve();
    },
  };
  return { seen, system };
}

Deno.test("on Windows a file that another program has open for a moment is replaced after it", async () => {
  for (const message of [DENIED, SHARED]) {
    const { seen, system } = failing(3, message);
    assertEquals(await renameOver("a", "b", () => true, system), true);
    assertEquals(seen.renames, 4);
  }
});

Deno.test("one that stays open is given up after a second", async () => {
  const { seen, system } = failing(Infinity, SHARED);
  await assertRejects(() => renameOver("a", "b", () => true, system), Error, "os error 32");
  assertEquals(seen.waited, 1_000);
});

Deno.test("what an editor saves while it is waited for is not overwritten", async () => {
  const { seen, system } = failing(Infinity, DENIED);
  const isWanted = () => seen.waited === 0;
  assertEquals(await renameOver("a", "b", isWanted, system), false);
  assertEquals(seen.renames, 1);
});

Deno.test("other failures, and those of other systems, are said at once", async () => {
  for (const [message, windows] of [[DENIED, false], ["Disk full (os error 112)", true]] as const) {
    const { seen, system } = failing(1, message, windows);
    await assertRejects(() => renameOver("a", "b", () => true, system), Error, message);
    assertEquals(seen, { renames: 1, waited: 0 });
  }
});
