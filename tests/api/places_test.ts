import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { ConfigError, type DownloadOptions, type Session } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { linkOf } from "../support/disks.ts";
import { NOT_ON_WINDOWS, ROOT_ONLY, subject, testNeeding } from "../support/needs.ts";
import { portless, rejection } from "../support/portless.ts";

const STRANGER = 12_345;
const DAY_MS = 24 * 60 * 60 * 1_000;

interface Place {
  readonly session: Session;
  readonly folder: string;
  readonly file: string;
  /** The requests of downloads. */
  readonly called: readonly unknown[];
  get(options?: DownloadOptions, path?: string): Promise<string>;
}

/** A folder to save files in that the API gives whole. */
async function inPlace(use: (place: Place) => Promise<void>): Promise<void> {
  const headers = { etag: `"1"` };
  await using world = portless({ api: () => new Response("fetched", { headers }) });
  const { session, called } = world;
  await session.login();
  await inFolder(async (folder) => {
    const file = `${folder}/data.csv`;
    await use({
      session,
      folder,
      file,
      called,
      async get(options, path = "/files/data") {
        await session.download(path, file, options);
        return await Deno.readTextFile(file);
      },
    });
  });
}

/** A file system without locks. */
function withoutLocks(): { tries(): number; end(): void } {
  const { tryLockSync } = Deno.FsFile.prototype;
  let tries = 0;
  Deno.FsFile.prototype.tryLockSync = () => {
    tries++;
    throw new Deno.errors.NotSupported("no locks");
  };
  return { tries: () => tries, end: () => Deno.FsFile.prototype.tryLockSync = tryLockSync };
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

subject(NOT_ON_WINDOWS, "links at the target of a download, and parts of others", (test) => {
  const links: [string, overwrite: boolean, chain: boolean, there: boolean][] = [
    ["leads to a file of the user, which may be replaced", true, false, true],
    ["leads nowhere, and a file may be replaced", true, false, false],
    ["leads nowhere", false, false, false],
    ["stands behind a link of the user", true, true, true],
  ];
  for (const [what, overwrite, chain, there] of links) {
    testNeeding(
      ROOT_ONLY,
      `another user's link is not followed where it ${what}`,
      () =>
        inPlace(async ({ folder, file, called, get }) => {
          const mine = `${folder}/.profile`;
          if (there) await Deno.writeTextFile(mine, "mine");
          await linkOf(STRANGER, mine, chain ? `${folder}/theirs` : file);
          if (chain) await Deno.symlink("theirs", file);
          const before = filesIn(folder);
          const error = await rejection(get({ ifExists: overwrite ? "replace" : "error" }));
          assertInstanceOf(error, ConfigError);
          assertEquals(error.code, "INVALID_SETTING");
          assertMatch(
            error.message,
            /data\.csv: it is a link that belongs to another user, who can make it lead anywhere; name another file/,
          );
          assertEquals([filesIn(folder), called.length], [before, 0]);
          if (there) assertEquals(await Deno.readTextFile(mine), "mine");
        }),
    );
  }

  testNeeding(
    ROOT_ONLY,
    "another user's link to a pipe or a device is not written through",
    () =>
      inPlace(async ({ file, get, called }) => {
        await linkOf(STRANGER, "/dev/null", file);
        // A device of root behind it: the link is the stranger's all the same.
        assertMatch(
          (await rejection(get({ ifExists: "replace" }))).message,
          /belongs to another user/,
        );
        assertEquals(called.length, 0);
      }),
  );

  for (const there of [true, false]) {
    test(`a user's own link is followed, ${there ? "to a file" : "to where none is yet"}`, () =>
      inPlace(async ({ folder, file, get }) => {
        if (there) await Deno.writeTextFile(`${folder}/real.csv`, "old");
        await Deno.symlink("real.csv", file);
        assertEquals(await get({ ifExists: there ? "replace" : "error" }), "fetched");
        assertEquals(filesIn(folder), ["data.csv", "real.csv"]);
        assertEquals(Deno.lstatSync(file).isSymlink, true);
      }));
  }

  test("a link that is put at the target meanwhile is replaced, and gives the file no mode", async () => {
    await inFolder(async (folder) => {
      const file = `${folder}/data.csv`;
      const other = `${folder}/open-to-all`;
      await Deno.writeTextFile(other, "theirs");
      await Deno.chmod(other, 0o666);
      await using world = portless({
        api: async () => {
          await Deno.symlink(other, file);
          return new Response("fetched");
        },
      });
      await world.session.login();
      await world.session.download("/files/data", file, { ifExists: "replace" });
      const { isFile, mode } = await Deno.lstat(file);
      assertEquals([isFile, (mode ?? 0) & 0o777], [true, 0o666 & ~Deno.umask()]);
      assertEquals(await Deno.readTextFile(other), "theirs");
    });
  });

  testNeeding(
    ROOT_ONLY,
    "parts of other users are left alone, however old",
    () =>
      inPlace(async ({ folder, get }) => {
        const name = "data.csv.00000001.part";
        await leave(folder, { name, daysAgo: 99, owner: STRANGER });
        await get();
        assertEquals(filesIn(folder), ["data.csv", name]);
      }),
  );
});

/** The name of the part that a download of an address writes to. */
async function partOf(file: string, address: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(address));
  return `${file}.${new Uint8Array(hash).toHex().slice(0, 8)}.part`;
}

Deno.test("a part that is a second name of the file is not written to", () =>
  inPlace(async ({ session, folder, file, get, called }) => {
    await get();
    const address = (called[0] as { url: string }).url;
    // As a process leaves it that is killed after it gave the part its name.
    const part = await partOf(file, address);
    await Deno.writeTextFile(file, "old version");
    await Deno.link(file, part);
    const noted = { validator: `"1"`, tag: `"1"`, total: 11 };
    await Deno.writeTextFile(`${part}.json`, JSON.stringify(noted));
    const copy = `${folder}/second`;
    await Deno.link(file, copy);
    assertEquals(await get({ ifExists: "replace" }), "fetched");
    assertEquals(await Deno.readTextFile(copy), "old version");
    assertEquals(filesIn(folder), ["data.csv", "second"]);
    // Nor is any other file that has such a second name.
    await Deno.link(copy, part);
    assertEquals(await get({ ifExists: "replace" }), "fetched");
    assertEquals(await Deno.readTextFile(copy), "old version");
    await session.logout();
  }));

Deno.test("a file whose download was killed before its part went is kept, and the part goes", () =>
  inPlace(async ({ session, folder, file, get, called }) => {
    await get();
    const address = (called[0] as { url: string }).url;
    const part = await partOf(file, address);
    await Deno.link(file, part);
    await Deno.writeTextFile(`${part}.json`, "{}");
    // The second name that a user gave it, and the part of another version, stay.
    await Deno.link(file, `${folder}/second`);
    await Deno.writeTextFile(`${file}.00000001.part`, "other");
    const { kept } = await session.download("/files/data", file, { ifExists: "keep" });
    assertEquals(kept, true);
    assertEquals(filesIn(folder), ["data.csv", "data.csv.00000001.part", "second"]);
    await session.logout();
  }));

interface Left {
  readonly name: string;
  readonly daysAgo: number;
  readonly owner?: number;
}

async function leave(folder: string, { name, daysAgo, owner }: Left): Promise<void> {
  const path = `${folder}/${name}`;
  await Deno.writeTextFile(path, "{}");
  const at = new Date(Date.now() - daysAgo * DAY_MS);
  await Deno.utime(path, at, at);
  if (owner !== undefined) await Deno.chown(path, owner, owner);
}

const OLD: Left[] = [
  { name: "data.csv.00000001.part", daysAgo: 2 },
  { name: "data.csv.00000001.part.json", daysAgo: 2 },
  { name: "data.csv.00000002.part", daysAgo: 40 },
  { name: "data.csv.00000003.part.json", daysAgo: 2 },
];
const KEPT: Left[] = [
  { name: "data.csv.00000004.part", daysAgo: 0.5 },
  { name: "data.csv.00000004.part.json", daysAgo: 2 },
  { name: "data.csv.00000005.part.txt", daysAgo: 9 },
  { name: "data.csv.0005.part", daysAgo: 9 },
  { name: "my-data.csv.00000006.part", daysAgo: 9 },
  { name: "data2.csv.00000007.part", daysAgo: 9 },
];

for (const there of [false, true]) {
  Deno.test(`the next download to a target${there ? " that is there" : ""} removes old parts, and no others`, () =>
    inPlace(async ({ folder, file, get }) => {
      for (const each of [...OLD, ...KEPT]) await leave(folder, each);
      if (there) await Deno.writeTextFile(file, "there");
      if (there) await rejection(get());
      else await get();
      assertEquals(filesIn(folder), ["data.csv", ...KEPT.map(({ name }) => name)].sort());
    }));
}

Deno.test("an old part that another download uses, or that a download can resume, is no leftover", () =>
  inPlace(async ({ folder, file, get, called }) => {
    const name = "data.csv.00000001.part";
    await leave(folder, { name, daysAgo: 9 });
    {
      using used = Deno.openSync(`${folder}/${name}`, { read: true, write: true });
      used.lockSync(true);
      await get();
    }
    assertEquals(filesIn(folder), ["data.csv", name]);
    const { url } = called[0] as { url: string };
    const part = await partOf(file, url);
    await Deno.remove(file);
    await Deno.writeTextFile(part, "fet");
    const noted = { validator: `"1"`, tag: `"1"`, total: 7 };
    await Deno.writeTextFile(`${part}.json`, JSON.stringify(noted));
    for (const path of [part, `${part}.json`]) await Deno.utime(path, 1_700_000_000, 1_700_000_000);
    let first = -1;
    await get({ onProgress: ({ bytes }) => first = first < 0 ? bytes : first });
    assertEquals([first, filesIn(folder)], [3, ["data.csv"]]);
  }));

Deno.test("where files have no locks each download has a part of its own, and takes no other's", async () => {
  const lockless = withoutLocks();
  try {
    await inPlace(async ({ session, folder, file, get, called }) => {
      assertEquals(await get(), "fetched");
      assertEquals(filesIn(folder), ["data.csv"]);
      // A part that others may be writing, as nobody can tell there.
      const { url } = called[0] as { url: string };
      const part = await partOf(file, url);
      await Deno.writeTextFile(part, "fet");
      const noted = { validator: `"1"`, tag: `"1"`, total: 7 };
      await Deno.writeTextFile(`${part}.json`, JSON.stringify(noted));
      const firsts: number[] = [];
      const onProgress = ({ bytes }: { bytes: number }) => void firsts.push(bytes);
      const both = [1, 2].map(() =>
        session.download("/files/data", file, { ifExists: "replace", onProgress })
      );
      assertEquals((await Promise.all(both)).map(({ resumedFrom }) => resumedFrom), [0, 0]);
      assertEquals(firsts.slice(0, 1), [0]);
      assertEquals(await Deno.readTextFile(part), "fet");
      const left = filesIn(folder).map((name) => `${folder}/${name}`);
      assertEquals(left, [file, part, `${part}.json`].sort());
    });
    assert(lockless.tries() > 0);
  } finally {
    lockless.end();
  }
});

Deno.test("where files have no locks a download that breaks leaves nothing", async () => {
  const lockless = withoutLocks();
  try {
    const headers = { etag: `"1"`, "content-length": "7" };
    await using world = portless({ api: () => new Response("fet", { headers }) });
    await world.session.login();
    await inFolder(async (folder) => {
      const error = await rejection(world.session.download("/files/data", `${folder}/data.csv`));
      assertMatch(error.message, /6 times in a row after 3 bytes of 7 bytes\); try again/);
      assertEquals(filesIn(folder), []);
    });
  } finally {
    lockless.end();
  }
});

Deno.test("a file with the longest name that is allowed is saved", () =>
  inPlace(async ({ session, folder }) => {
    const file = `${folder}/${"a".repeat(232)}.csv`;
    await session.download("/files/data", file);
    assertEquals(await Deno.readTextFile(file), "fetched");
  }));

Deno.test("a connection that breaks before the first answer is tried again, twice", () =>
  inFolder(async (folder) => {
    for (const [broken, wanted] of [[2, 3], [3, 3]] as const) {
      let asked = 0;
      await using world = portless({
        api() {
          if (++asked <= broken) throw new TypeError("connection reset");
          return new Response("fetched");
        },
      });
      await world.session.login();
      const saving = world.session.download("/files/data", `${folder}/${broken}`);
      if (broken < wanted) assertEquals((await saving).bytes, 7);
      else assertMatch((await rejection(saving)).message, /^Cannot reach /);
      assertEquals(asked, wanted);
    }
  }));
