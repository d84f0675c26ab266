/** A `.env` is found, read and edited without harm, on bad disks and beside other processes. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ConfigError } from "../../mod.ts";
import { readEnvFile, updateEnvFile } from "../../src/settings/env_file.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { NOT_ON_WINDOWS, subject } from "../support/needs.ts";

const CHANGES = new Map([["ACCESS_TOKEN", "new-token"], ["REFRESH_TOKEN", undefined]]);

async function refusal(path: string): Promise<ConfigError> {
  const error = await assertRejects(() => updateEnvFile({ path }, CHANGES, true), ConfigError);
  assertEquals(error.code, "ENV_FILE");
  assert(error.message.includes(path));
  return error;
}

subject(NOT_ON_WINDOWS, "modes and links of a .env", (test) => {
  test(
    "a save keeps a symbolic link a link and changes what it leads to",
    async () => {
      await inFolder(async (folder) => {
        await Deno.mkdir(`${folder}/shared`);
        await Deno.mkdir(`${folder}/project`);
        const real = `${folder}/shared/real.env`;
        await Deno.writeTextFile(real, "A=1\n");
        await Deno.symlink("../shared/real.env", `${folder}/project/second`);
        await Deno.symlink("second", `${folder}/project/.env`);
        await updateEnvFile({ path: `${folder}/project/.env` }, CHANGES, true);
        assertEquals(await Deno.readLink(`${folder}/project/.env`), "second");
        assertEquals(await Deno.readTextFile(real), "A=1\nACCESS_TOKEN=new-token\n");
        assertEquals([namesIn(`${folder}/shared`), namesIn(`${folder}/project`)], [["real.env"], [
          ".env",
          "second",
        ]]);
      });
    },
  );

  const target = "shared/a b#1?%20.env";
  test("a save makes the file that a symbolic link promises", async () => {
    await inFolder(async (folder) => {
      await Deno.mkdir(`${folder}/shared`);
      await Deno.symlink(target, `${folder}/.env`);
      assertEquals(readEnvFile(`${folder}/.env`).exists, false);
      await updateEnvFile({ path: `${folder}/.env` }, CHANGES, true);
      assertEquals(await Deno.readLink(`${folder}/.env`), target);
      assertEquals(await Deno.readTextFile(`${folder}/${target}`), "ACCESS_TOKEN=new-token\n");
      assertEquals([namesIn(folder), namesIn(`${folder}/shared`).length], [
        [".env", "shared"],
        1,
      ]);
    });
  });

  test("a save removes a link where its temporary file goes", async () => {
    await inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/victim`, "precious");
      await Deno.symlink("victim", `${folder}/.env.tmp`);
      await updateEnvFile({ path: `${folder}/.env` }, CHANGES, true);
      assertEquals(await Deno.readTextFile(`${folder}/victim`), "precious");
      assertEquals(namesIn(folder), [".env", "victim"]);
    });
  });
});

Deno.test("an impossible path is refused with the reason", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await refusal(`${folder}/file/.env`);
    assertMatch((await refusal(`${folder}/nowhere/.env`)).message, /its folder does not exist/);
    if (Deno.build.os !== "windows") {
      await Deno.symlink("loop", `${folder}/loop`);
      await refusal(`${folder}/loop`);
    }
  });
});
