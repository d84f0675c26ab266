import { assertEquals } from "@std/assert";
import type { DownloadOptions, Session } from "../../mod.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { makePipe } from "../support/disks.ts";
import { needing, NO_SHELL, NOT_ON_WINDOWS, ROOT_ONLY, subject } from "../support/needs.ts";
import { signedIn } from "../support/portless.ts";

interface Place {
  readonly session: Session;
  readonly folder: string;
  readonly file: string;
  /** The path of the .part file that the download writes to. */
  readonly part: string;
  /** The `Range` of each request. */
  readonly ranges: (string | null)[];
  get(options?: DownloadOptions): Promise<string>;
}

/**
 * Runs a test in a folder to which a download saves the text "fetched".
 *
 * @param meanwhile Called before the API responds.
 */
async function inPlace(
  use: (place: Place) => Promise<void>,
  meanwhile: (folder: string) => void = () => {},
): Promise<void> {
  await inFolder(async (folder) => {
    const file = `${folder}/data.csv`;
    let part = "";
    const ranges: (string | null)[] = [];
    await using world = await signedIn({
      api({ headers }, count) {
        part = partIn(folder) ?? part;
        ranges.push(headers.get("range"));
        if (count > 1) meanwhile(folder);
        const body = ReadableStream.from(["fet", "ched"]).pipeThrough(new TextEncoderStream());
        return new Response(body, { headers: { etag: `"1"`, "content-length": "7" } });
      },
    });
    const { session } = world;
    const get = async (options?: DownloadOptions) => {
      await session.download("/files/data", file, options);
      return await Deno.readTextFile(file);
    };
    await get();
    Deno.removeSync(file);
    await use({ session, folder, file, ranges, get, part: `${folder}/${part}` });
  });
}

function partIn(folder: string): string | undefined {
  return namesIn(folder).find((name) => name.endsWith(".part"));
}

/** Leaves the beginning of the file in its .part file, as if a process was killed. */
async function leavePart(part: string): Promise<void> {
  await Deno.writeTextFile(part, "fet");
  await Deno.writeTextFile(part.replace(/part$/, "note"), `"1"`);
}

/** Replaces `tryLockSync()` of all files until the result is disposed of. */
function withLocks(tryLock: (file: Deno.FsFile) => boolean): Disposable {
  const { tryLockSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.tryLockSync = function () {
    return tryLock(this);
  };
  return { [Symbol.dispose]: () => void (Deno.FsFile.prototype.tryLockSync = tryLockSync) };
}

/** Puts something in place of a file while a download uses it. */
type Plant = (path: string, use: () => Promise<void>) => Promise<void>;

/** Plants a link to a file of the user. */
function linked(link: typeof Deno.link): Plant {
  return async (path, use) => {
    await Deno.writeTextFile(`${path}.2`, "mine");
    await link(`${path}.2`, path);
    await use();
    assertEquals(await Deno.readTextFile(`${path}.2`), "mine");
  };
}

subject(NOT_ON_WINDOWS, "links and pipes at the target of a download", (test) => {
  test("download() follows a link to a file", () =>
    inPlace(async ({ folder, file, get }) => {
      await Deno.writeTextFile(`${folder}/real.csv`, "old");
      await Deno.symlink("real.csv", file);
      assertEquals(await get({ ifExists: "replace" }), "fetched");
      assertEquals(namesIn(folder), ["data.csv", "real.csv"]);
      assertEquals(Deno.lstatSync(file).isSymlink, true);
    }));

  const others: [what: string, lack: typeof ROOT_ONLY, Plant][] = [
    ["a file of another user", ROOT_ONLY, async (path, use) => {
      await Deno.writeTextFile(path, "mine");
      await Deno.chown(path, 1, 1);
      await use();
      if (path.endsWith("part")) assertEquals(await Deno.readTextFile(path), "mine");
    }],
    ["a named pipe", NO_SHELL, (path, use) => makePipe(path).then(use)],
    ["a link", undefined, linked(Deno.symlink)],
    ["a hard link", undefined, linked(Deno.link)],
  ];
  for (const [what, lack, plant] of others) {
    for (const place of ["part", "note"]) {
      test({
        ...needing(lack, `download() does not use ${what} in place of its .${place} file`),
        fn: () =>
          inPlace(async ({ part, ranges, get }) => {
            await leavePart(part);
            const path = part.replace(/part$/, place);
            await Deno.remove(path);
            await plant(path, async () => assertEquals(await get(), "fetched"));
            assertEquals(ranges, [null, null]);
          }),
      });
    }
  }

  test("the .part file that replaces a private file is private from the start", async () => {
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
      modes.push(Deno.statSync(`${folder}/${partIn(folder)}`).mode);
    });
    assertEquals(modes.map((mode) => (mode ?? 0) & 0o777), [0o600, 0o600]);
  });
});

Deno.test("a download that does not resume an earlier one removes its .note first", async () => {
  const names: string[][] = [];
  await inPlace(async ({ part, get }) => {
    await leavePart(part);
    await get({ resume: false });
  }, (folder) => void names.push(namesIn(folder)));
  assertEquals(names.flat().map((name) => name.replace(/^.*\./, "")), ["part"]);
});

Deno.test("download() does not write to a .part file that another process has just completed", () =>
  inPlace(async ({ folder, part, get }) => {
    const { tryLockSync } = Deno.FsFile.prototype;
    let tries = 0;
    using _ = withLocks((opened) => {
      // Now the process that holds the lock completes its download and renames the .part file.
      if (tries++ === 0) {
        Deno.renameSync(part, `${folder}/finished`);
        Deno.removeSync(part.replace(/part$/, "note"));
      }
      return tryLockSync.call(opened, true);
    });
    await leavePart(part);
    assertEquals(await get({ ifExists: "replace" }), "fetched");
    assertEquals(await Deno.readTextFile(`${folder}/finished`), "fet");
    assertEquals(namesIn(folder), ["data.csv", "finished"]);
  }));

Deno.test("download() uses a separate .part file on a file system without locks", () =>
  inPlace(async ({ session, folder, file, part }) => {
    using _ = withLocks(() => {
      throw new Deno.errors.NotSupported("no locks");
    });
    // Another process may be writing to this .part file.
    await leavePart(part);
    const both = [1, 2].map(() => session.download("/files/data", file, { ifExists: "replace" }));
    assertEquals((await Promise.all(both)).map(({ resumedFrom }) => resumedFrom), [0, 0]);
    assertEquals(await Deno.readTextFile(part), "fet");
    assertEquals(namesIn(folder).length, 3, "the file, the .part and its .note");
  }));
