/** Saves of a `.env` through links, and of paths that cannot be a `.env`. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConfigError } from "../../mod.ts";
import { lockEnvFile, readEnvFile, updateEnvFile } from "../../src/settings/env_file.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { makePipe } from "../support/disks.ts";
import { NO_SHELL, NOT_ON_WINDOWS, subject, testNeeding } from "../support/needs.ts";

const CHANGES = new Map([["ACCESS_TOKEN", "new-token"], ["REFRESH_TOKEN", undefined]]);
const WORLD = { monotonic: () => 0, sleep: () => Promise.resolve() };

subject(NOT_ON_WINDOWS, "links", (test) => {
  test("a save writes to a file through links", () =>
    inFolder(async (folder) => {
      const target = "shared/a b#1?%20.env";
      await Deno.mkdir(`${folder}/shared`);
      await Deno.writeTextFile(`${folder}/${target}`, "A=1\n");
      await Deno.symlink(target, `${folder}/second`);
      await Deno.symlink("second", `${folder}/.env`);
      await updateEnvFile({ path: `${folder}/.env` }, CHANGES, true);
      assertEquals(await Deno.readLink(`${folder}/.env`), "second");
      const saved = await Deno.readTextFile(`${folder}/${target}`);
      assertEquals(saved, "A=1\nACCESS_TOKEN=new-token\n");
      assertEquals(namesIn(folder), [".env", "second", "shared"]);
      assertEquals(namesIn(`${folder}/shared`).length, 1);
    }));

  test("a save does not follow a link at the name of its temporary file", () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/victim`, "precious");
      await Deno.symlink("victim", `${folder}/.env.tmp`);
      await updateEnvFile({ path: `${folder}/.env` }, CHANGES, true);
      assertEquals(await Deno.readTextFile(`${folder}/victim`), "precious");
      assertEquals(namesIn(folder), [".env", "victim"]);
    }));
});

testNeeding(
  NO_SHELL,
  "a link to a pipe is not used as a .env, because a read might never end",
  () =>
    inFolder(async (folder) => {
      await makePipe(`${folder}/pipe`);
      await Deno.symlink("pipe", `${folder}/.env`);
      // A faulty read ends, because there is a writer. Without a read, the writer waits.
      const args = ["-c", 'echo ACCESS_TOKEN=from-the-pipe >"$1"', "sh", `${folder}/pipe`];
      const writer = new Deno.Command("sh", { args, stdin: "null" }).spawn();
      try {
        const path = `${folder}/.env`;
        const { values, problem } = readEnvFile(path);
        assertEquals([values.size, problem?.code], [0, "ENV_FILE"]);
        const save = () => updateEnvFile({ path }, CHANGES, true);
        const why = `${path}: it is not a regular file; set AUTH_ENV_FILE`;
        await assertRejects(save, ConfigError, why);
        const { lock } = await lockEnvFile(path, 0, WORLD);
        assertEquals(lock.state, "none");
      } finally {
        writer.kill("SIGKILL");
      }
      assertEquals((await writer.status).signal, "SIGKILL");
      assertEquals(namesIn(folder), [".env", "pipe"]);
      assert(Deno.statSync(`${folder}/.env`).isFifo);
    }),
);
