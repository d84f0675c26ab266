import { assertEquals, assertRejects } from "@std/assert";
import { renameOver } from "../../src/files/replace_file.ts";

const DENIED = new Deno.errors.PermissionDenied("Access denied. (os error 5): rename 'a' -> 'b'");
const SHARED = new Error("Sharing violation. (os error 32): rename 'a' -> 'b'");

/** Makes the first renames fail; counts the renames and the milliseconds of all pauses. */
function failing(times: number, error: Error) {
  const seen = { renames: 0, waited: 0 };
  const { renameSync } = Deno;
  const { setTimeout } = globalThis;
  Deno.renameSync = () => {
    if (++seen.renames <= times) throw error;
  };
  globalThis.setTimeout = ((end: () => void, ms: number) => {
    seen.waited += ms;
    end();
  }) as typeof setTimeout;
  const restore = () => {
    Deno.renameSync = renameSync;
    globalThis.setTimeout = setTimeout;
  };
  return { seen, [Symbol.dispose]: restore };
}

Deno.test("renameOver() waits for a program that has the file open on Windows", async () => {
  for (const error of [DENIED, SHARED]) {
    using system = failing(3, error);
    assertEquals(await renameOver("a", "b", () => true), true);
    assertEquals(system.seen.renames, 4);
  }
});

Deno.test("renameOver() gives up after a second", async () => {
  using system = failing(Infinity, SHARED);
  await assertRejects(() => renameOver("a", "b", () => true), Error, "os error 32");
  assertEquals(system.seen.waited, 1_000);
});

Deno.test("renameOver() does not overwrite what an editor saves during the wait", async () => {
  using system = failing(Infinity, DENIED);
  assertEquals(await renameOver("a", "b", () => system.seen.waited === 0), false);
  assertEquals(system.seen.renames, 1);
});

Deno.test("renameOver() throws other errors at once", async () => {
  const readOnly = new Deno.errors.PermissionDenied("Permission denied (os error 13)");
  for (
    const error of [readOnly, new Error("I/O error (os error 5)"), new Error("(os error 112)")]
  ) {
    using system = failing(1, error);
    await assertRejects(() => renameOver("a", "b", () => true), Error, error.message);
    assertEquals(system.seen, { renames: 1, waited: 0 });
  }
});
