/** Saves of a `.env` through links, and to impossible paths. */
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

subject(NOT_ON_WINDOWS, "links", (test) => {
  const target = "shared/a b#1?%20.env";
  for (const text of ["A=1\n", undefined]) {
    test(`a save writes to ${text ? "an existing" : "a missing"} file through links`, () =>
      inFolder(async (folder) => {
        await Deno.mkdir(`${folder}/shared`);
        if (text) await Deno.writeTextFile(`${folder}/${target}`, text);
        await Deno.symlink(target, `${folder}/second`);
        await Deno.symlink("second", `${folder}/.env`);
        assertEquals(readEnvFile(`${folder}/.env`).exists, text !== undefined);
        await updateEnvFile({ path: `${folder}/.env` }, CHANGES, true);
        assertEquals(await Deno.readLink(`${folder}/.env`), "second");
        const saved = await Deno.readTextFile(`${folder}/${target}`);
        assertEquals(saved, `${text ?? ""}ACCESS_TOKEN=new-token\n`);
        assertEquals(namesIn(folder), [".env", "second", "shared"]);
        assertEquals(namesIn(`${folder}/shared`).length, 1);
      }));
  }

  test("a save does not follow a link at the name of its temporary file", async () => {
    await inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/victim`, "precious");
      await Deno.symlink("victim", `${folder}/.env.tmp`);
      await updateEnvFile({ path: `${folder}/.env` }, CHANGES, true);
      assertEquals(await Deno.readTextFile(`${folder}/victim`), "precious");
      assertEquals(namesIn(folder), [".env", "victim"]);
    });
  });
});

Deno.test("a save to an impossible path is refused with the reason", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await refusal(`${folder}/file/.env`);
    assertMatch(
      (await refusal(`${folder}/nowhere/.env`)).message,
      /\(os error \d+\); check the path/,
    );
    if (Deno.build.os !== "windows") {
      await Deno.symlink("loop", `${folder}/loop`);
      await refusal(`${folder}/loop`);
    }
  });
});
