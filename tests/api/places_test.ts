import { assertEquals } from "@std/assert";
import type { DownloadOptions, Session } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { NOT_ON_WINDOWS, subject } from "../support/needs.ts";
import { portless } from "../support/portless.ts";

interface Place {
  readonly session: Session;
  readonly folder: string;
  readonly file: string;
  /** The name of the part that the download writes to. */
  readonly part: string;
  get(options?: DownloadOptions): Promise<string>;
}

/**
 * A folder in which a download saves the text "fetched".
 *
 * @param meanwhile What happens while the response is on its way.
 */
async function inPlace(
  use: (place: Place) => Promise<void>,
  meanwhile: (folder: string) => void = () => {},
): Promise<void> {
  await inFolder(async (folder) => {
    const file = `${folder}/data.csv`;
    let part = "";
    await using world = portless({
      api(_, count) {
        part = filesIn(folder).find((name) => name.endsWith(".part")) ?? part;
        if (count > 1) meanwhile(folder);
        return new Response("fetched", { headers: { etag: `"1"`, "content-length": "7" } });
      },
    });
    const { session } = world;
    await session.login();
    const get = async (options?: DownloadOptions) => {
      await session.download("/files/data", file, options);
      return await Deno.readTextFile(file);
    };
    await get();
    Deno.removeSync(file);
    await use({ session, folder, file, get, part: `${folder}/${part}` });
  });
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

/** Leaves the beginning of the file, as a process does that is killed. */
async function leavePart(part: string): Promise<void> {
  await Deno.writeTextFile(part, "fet");
  const note = JSON.stringify({ validator: `"1"`, etag: `"1"`, total: 7 });
  await Deno.writeTextFile(part.replace(/part$/, "note"), note);
}

/** Replaces the locks of files, until it is disposed of. */
function withLocks(tryLock: (file: Deno.FsFile) => boolean): Disposable {
  const { tryLockSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.tryLockSync = function () {
    return tryLock(this);
  };
  return { [Symbol.dispose]: () => void (Deno.FsFile.prototype.tryLockSync = tryLockSync) };
}

subject(NOT_ON_WINDOWS, "links and long names at the target of a download", (test) => {
  for (const there of [true, false]) {
    test(`a link is followed, ${there ? "to a file" : "to a file that does not exist yet"}`, () =>
      inPlace(async ({ folder, file, get }) => {
        if (there) await Deno.writeTextFile(`${folder}/real.csv`, "old");
        await Deno.symlink("real.csv", file);
        assertEquals(await get({ ifExists: there ? "replace" : "error" }), "fetched");
        assertEquals(filesIn(folder), ["data.csv", "real.csv"]);
        assertEquals(Deno.lstatSync(file).isSymlink, true);
      }));
  }

  test("a link that appears at the target in the meantime is replaced, and does not affect the file's mode", () =>
    inPlace(async ({ folder, file, get }) => {
      assertEquals(await get({ ifExists: "replace" }), "fetched");
      const { isFile, mode } = await Deno.lstat(file);
      assertEquals([isFile, (mode ?? 0) & 0o777], [true, 0o666 & ~Deno.umask()]);
      assertEquals(await Deno.readTextFile(`${folder}/other`), "mine");
    }, (folder) => {
      Deno.writeTextFileSync(`${folder}/other`, "mine", { mode: 0o600 });
      Deno.symlinkSync(`${folder}/other`, `${folder}/data.csv`);
    }));

  for (const what of ["part", "note"]) {
    test(`a link that was planted at the name of the ${what} is not followed`, () =>
      inPlace(async ({ folder, part, get }) => {
        const mine = `${folder}/mine`;
        await Deno.writeTextFile(mine, "of the user");
        await Deno.symlink(mine, part.replace(/part$/, what));
        if (what === "note") await Deno.writeTextFile(part, "fet");
        assertEquals(await get(), "fetched");
        assertEquals(await Deno.readTextFile(mine), "of the user");
      }));
  }

  test("a part that replaces a private file is private from the start", async () => {
    const modes: (number | null)[] = [];
    await inPlace(async ({ file, part, get }) => {
      for (const isLeft of [false, true]) {
        await Deno.writeTextFile(file, "old");
        await Deno.chmod(file, 0o640);
        if (isLeft) await leavePart(part);
        await get({ ifExists: "replace" });
        assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o640);
      }
    }, (folder) => {
      const part = filesIn(folder).find((name) => name.endsWith(".part"));
      modes.push(Deno.statSync(`${folder}/${part}`).mode);
    });
    assertEquals(modes.map((mode) => (mode ?? 0) & 0o777), [0o600, 0o600]);
  });
});

Deno.test("download() never writes to a part that another process has just completed", () =>
  inPlace(async ({ folder, part, get }) => {
    const { tryLockSync } = Deno.FsFile.prototype;
    let tries = 0;
    using _ = withLocks((opened) => {
      // At this moment, the holder renames the part.
      if (tries++ === 0) {
        Deno.renameSync(part, `${folder}/finished`);
        Deno.removeSync(part.replace(/part$/, "note"));
      }
      return tryLockSync.call(opened, true);
    });
    await leavePart(part);
    assertEquals(await get({ ifExists: "replace" }), "fetched");
    assertEquals(await Deno.readTextFile(`${folder}/finished`), "fet");
    assertEquals(filesIn(folder), ["data.csv", "finished"]);
  }));

Deno.test("without locks, each download has a separate part, and uses no other", () =>
  inPlace(async ({ session, folder, file, part, get }) => {
    using _ = withLocks(() => {
      throw new Deno.errors.NotSupported("no locks");
    });
    assertEquals(await get(), "fetched");
    assertEquals(filesIn(folder), ["data.csv"]);
    // Nothing tells whether another process writes this one.
    await leavePart(part);
    const both = [1, 2].map(() => session.download("/files/data", file, { ifExists: "replace" }));
    assertEquals((await Promise.all(both)).map(({ resumedFrom }) => resumedFrom), [0, 0]);
    assertEquals(await Deno.readTextFile(part), "fet");
    assertEquals(filesIn(folder).length, 3);
  }));
