/** A `.env` that is not a regular file, or too large, is refused. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { lockEnvFile, readEnvFile, updateEnvFile } from "../../src/settings/env_file.ts";
import { ConfigError } from "../../mod.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { NO_SHELL, subject } from "../support/needs.ts";
import { makePipe } from "../support/disks.ts";

const CHANGES = new Map([["ACCESS_TOKEN", "new-token"]]);
const WORLD = { monotonic: () => 0, sleep: () => Promise.resolve() };

/** Asserts that this path is not read, written or locked, and that the error says why. */
async function assertRefused(path: string, why: RegExp): Promise<void> {
  const { exists, values, problem } = readEnvFile(path);
  assertEquals([exists, values.size, problem?.code], [true, 0, "ENV_FILE"]);
  const error = await assertRejects(() => updateEnvFile({ path }, CHANGES, false), ConfigError);
  for (const message of [problem?.message ?? "", error.message]) {
    assert(message.startsWith(`Cannot use ${path}: `), message);
    assertMatch(message, why);
    assertMatch(message, /set AUTH_ENV_FILE/);
  }
  const { lock } = await lockEnvFile(path, 0, WORLD);
  lock.release();
  assertEquals(lock.state, "none");
}

subject(NO_SHELL, "pipes", (test) => {
  test("a link to a pipe is refused as a .env", () =>
    inFolder(async (folder) => {
      const node = `${folder}/node`;
      const path = `${folder}/.env`;
      await makePipe(node);
      await Deno.symlink(node, path);
      const before = namesIn(folder);
      // Without a writer, a faulty read of the pipe would never end.
      await using writer = writerTo(node);
      await assertRefused(path, /it is not a regular file/);
      assertEquals(namesIn(folder), before);
      assertEquals([Deno.statSync(path).isFifo, writer.wasRead()], [true, false]);
    }));
});

function writerTo(pipe: string): { wasRead(): boolean } & AsyncDisposable {
  const args = ["-c", 'echo ACCESS_TOKEN=from-the-pipe >"$1"; echo >"$1.read"', "sh", pipe];
  const child = new Deno.Command("sh", { args, stdin: "null" }).spawn();
  child.unref();
  return {
    wasRead: () => namesIn(pipe.replace(/[^/]*$/, "")).some((name) => name.endsWith(".read")),
    async [Symbol.asyncDispose]() {
      child.ref();
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

Deno.test("the error for a .env that is too large contains its size", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/.env`;
    const limit = 1_048_576;
    await Deno.writeTextFile(path, "# 4567\n".repeat(limit / 7) + "A=1\n".slice(-limit % 7));
    const { size } = Deno.statSync(path);
    assert(size <= limit && size > limit - 7);
    assertEquals(readEnvFile(path).problem, undefined);
    await Deno.truncate(path, 100 * limit);
    await assertRefused(path, /too large: 104857600 bytes, with a limit of 1048576/);
    assertEquals(namesIn(folder), [".env"]);
  });
});
