import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { renameOver } from "../../../src/files/replace_file.ts";
import { inFolder } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { linesOf, portless } from "../../support/portless.ts";

const elsewhere = Deno.build.os === "windows" ? undefined : {
  reason: "only on Windows: deno task windows",
  installable: false,
};

/** Opens a file like an editor that lets other programs only read it. */
function openElsewhere(path: string): Disposable {
  const kernel = Deno.dlopen("kernel32.dll", {
    CreateFileW: {
      parameters: ["buffer", "u32", "u32", "pointer", "u32", "u32", "pointer"],
      result: "pointer",
    },
    CloseHandle: { parameters: ["pointer"], result: "i32" },
  });
  const name = new Uint16Array([...`${path}\0`].map((unit) => unit.charCodeAt(0)));
  const [genericRead, shareRead, openExisting] = [0x8000_0000, 1, 3];
  const handle = kernel.symbols.CreateFileW(
    ...[new Uint8Array(name.buffer), genericRead, shareRead, null] as const,
    ...[openExisting, 0, null] as const,
  );
  return {
    [Symbol.dispose]() {
      kernel.symbols.CloseHandle(handle);
      kernel.close();
    },
  };
}

testNeeding(
  elsewhere,
  "renameOver() replaces a .env as soon as the editor that has it open closes it",
  () =>
    inFolder(async (folder) => {
      const [from, to] = [join(folder, "new"), join(folder, ".env")];
      await Deno.writeTextFile(from, "A=new\n");
      await Deno.writeTextFile(to, "A=old\n");
      const open = openElsewhere(to);
      let asked = 0;
      const isWanted = () => {
        if (++asked === 3) open[Symbol.dispose]();
        return true;
      };
      await renameOver(from, to, isWanted);
      assertEquals([asked, await Deno.readTextFile(to)], [3, "A=new\n"]);
    }),
);

testNeeding(
  elsewhere,
  "login() warns if another program has the .env open, and a later save succeeds",
  async () => {
    await using world = portless({ file: true });
    await Deno.writeTextFile(world.envFile, "MINE=1\r\n");
    {
      using _ = openElsewhere(world.envFile);
      const { warnings, state } = await world.session.login();
      assertEquals(state, "valid");
      assertMatch(
        warnings.join(),
        /another program has the file open.*close the file in that program/,
      );
      assertEquals(await Deno.readTextFile(world.envFile), "MINE=1\r\n");
    }
    assertEquals((await world.session.refresh()).warnings, []);
    assertEquals(linesOf(world.envFile).ACCESS_TOKEN, await world.session.accessToken());
    assertMatch(await Deno.readTextFile(world.envFile), /^MINE=1\r\n/);
  },
);

testNeeding(
  elsewhere,
  "sessions share a .env even if they spell its path differently",
  () =>
    inFolder(async (top) => {
      const folder = join(top, "Jürgens Übung #1 100%");
      await Deno.mkdir(folder);
      const whole = join(folder, ".env");
      const [drive = "", rest = ""] = [whole[0], whole.slice(2)];
      await using world = portless();
      await world.another({ envFile: whole }).login();
      const share = `//127.0.0.1/${drive}$${rest.replaceAll("\\", "/")}`;
      for (
        const envFile of [
          `${drive.toLowerCase()}:${rest}`,
          pathToFileURL(whole),
          share,
          share.replaceAll("/", "\\"),
        ]
      ) {
        const session = world.another({ envFile });
        assertEquals((await session.refresh()).warnings, [], String(envFile));
        const token = await session.accessToken();
        assertEquals(await world.another({ envFile: whole }).accessToken(), token, String(envFile));
      }
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
      assertEquals(names.sort(), [".env", ".env.lock"]);
    }),
);
