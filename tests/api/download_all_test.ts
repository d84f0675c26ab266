import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ApiError, DownloadItem, DownloadsProgress, Session } from "../../mod.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { type Portless, rejection, signedIn } from "../support/portless.ts";
import { noTinyDisk, onTinyDisk } from "../support/disks.ts";
import { testNeeding } from "../support/needs.ts";

interface BatchWorld extends Portless {
  readonly folder: string;
  /** The paths that were requested, in order. */
  readonly asked: string[];
  readonly all: Session["downloadAll"];
  /** Items that save `/0` as `folder/0` and so on. */
  items(count: number): DownloadItem[];
}

type Api = (path: string, count: number) => Response | Promise<Response>;

/** Runs a test with a folder and a session on this API. */
function inBatchWorld(api: Api, use: (world: BatchWorld) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const asked: string[] = [];
    await using world = await signedIn({
      api({ url }, count) {
        const { pathname } = new URL(url);
        asked.push(pathname);
        return api(pathname, count);
      },
    });
    await use({
      ...world,
      folder,
      asked,
      all: world.session.downloadAll,
      items: (count) => Array.from({ length: count }, (_, at) => [`/${at}`, `${folder}/${at}`]),
    });
  });
}

function test(name: string, api: Api, use: (world: BatchWorld) => Promise<void>): void {
  Deno.test({ name, timeout: 60_000, fn: () => inBatchWorld(api, use) });
}

const text = (path: string) => new Response(`text of ${path}`);
/** Lets other work run first, so that requests overlap. */
const later = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

for (const [options, wanted] of [[{}, 4], [{ concurrency: 9 }, 9]] as const) {
  let running = 0;
  let most = 0;
  const together = Promise.withResolvers<void>();
  const api: Api = async (path) => {
    most = Math.max(most, ++running);
    if (running === wanted) together.resolve();
    await together.promise;
    // If too many requests were sent, the next one would arrive in this time.
    await later();
    running--;
    return text(path);
  };
  test(
    `downloadAll() downloads ${wanted} files at once with ${JSON.stringify(options)}`,
    api,
    async (world) => {
      const { counts } = await world.all(world.items(20), options);
      assertEquals([counts, most], [{ saved: 20, kept: 0, failed: 0 }, wanted]);
    },
  );
}

test(
  "downloadAll() keeps existing files and requests only the missing ones",
  text,
  async (world) => {
    await world.all(world.items(5));
    Deno.removeSync(`${world.folder}/3`);
    Deno.writeTextFileSync(`${world.folder}/2`, "mine");
    const { saved, kept } = await world.all(world.items(5));
    assertEquals([saved.map(({ file }) => file), kept.length], [[`${world.folder}/3`], 4]);
    assertEquals(world.asked.slice(5), ["/3"]);
    assertEquals(Deno.readTextFileSync(`${world.folder}/2`), "mine");
    await world.all(world.items(5), { ifExists: "replace" });
    assertEquals(Deno.readTextFileSync(`${world.folder}/2`), "text of /2");
  },
);

const failing: Api = (path) => {
  if (path === "/1") return new Response("no such file", { status: 404 });
  if (path === "/2") return new Response("queued", { status: 202 });
  return text(path);
};
test(
  "downloadAll() lists each failed file without its query, and saves the others",
  failing,
  async (world) => {
    const { folder } = world;
    const { saved, failed, counts } = await world.all([
      ["/0", `${folder}/0`],
      ["/1?key=hidden-in-the-query", `${folder}/1`],
      ["/2", `${folder}/2`],
      ["https://ada:hidden@elsewhere.example/3?key=hidden", `${folder}/3`],
      ["/4", folder],
      ["/5", `${folder}/5`],
    ], { concurrency: 1 });
    assertEquals(counts, { saved: 2, kept: 0, failed: 4 });
    // `failed` lists the downloads in the order in which they ended.
    const told = failed.map(({ input, file, error }) => [input, file, (error as ApiError).code]);
    assertEquals(told.sort(), [
      ["/1", `${folder}/1`, "API_STATUS"],
      ["/2", `${folder}/2`, "API_BODY"],
      ["/4", folder, "FILE"],
      ["https://elsewhere.example/3", `${folder}/3`, "UNTRUSTED_ORIGIN"],
    ]);
    assertEquals(Deno.inspect({ saved, failed }, { depth: 9 }).includes("hidden"), false);
    assertEquals(namesIn(folder), ["0", "5"]);
  },
);

const unreachable = (): never => {
  throw new TypeError("connection refused");
};
const busy = (status: number) => new Response("", { status, headers: { "retry-after": "301" } });

/** An API that sends six files, and then this response. */
const sixFiles = (then: () => Response): Api => (path, count) => count > 6 ? then() : text(path);
const rejected = sixFiles(() => new Response("", { status: 401 }));
async function usePortal({ session, sandbox }: Portless): Promise<void> {
  await session.login({ portalToken: await sandbox.portalToken() });
}

const ends: [what: string, api: Api, error: RegExp, before?: (world: Portless) => unknown][] = [
  ["the API cannot be reached from the start", unreachable, /Cannot reach .* was refused/],
  ["the session has ended", rejected, /REFRESH_REJECTED/, (it) => it.sandbox.revokeRefreshTokens()],
  ["the API rejects a token that cannot be refreshed", rejected, /responded with 401/, usePortal],
  ["a 429 asks to wait more than five minutes", sixFiles(() => busy(429)), /wait 301 seconds/],
];
for (const [what, api, error, before] of ends) {
  test(`downloadAll() stops if ${what}`, api, async (world) => {
    await before?.(world);
    assertMatch((await rejection(world.all(world.items(100)))).message, error);
    // At most 12 requests, and those of the four files that are on their way.
    assert(world.asked.length <= 16, `${world.asked.length}`);
    assertEquals(namesIn(world.folder).some((name) => name.endsWith(".part")), false);
  });
}

test(
  "downloadAll() continues if the API drops the requests for one file",
  (path) => path === "/1" ? unreachable() : text(path),
  async (world) => {
    const { counts } = await world.all(world.items(4), { concurrency: 1 });
    assertEquals([counts, world.asked.length], [{ saved: 3, kept: 0, failed: 1 }, 9]);
  },
);

testNeeding(
  noTinyDisk,
  "downloadAll() stops when the disk is full, and keeps the complete files",
  () =>
    onTinyDisk((folder) =>
      inBatchWorld(() => new Response("x".repeat(1_000)), async (world) => {
        const items = world.items(500).map(([input], at) => [input, `${folder}/${at}`] as const);
        const error = await rejection(world.all(items, { concurrency: 1 }));
        assertEquals(error.code, "FILE");
        assertMatch(error.message, /the disk is full/);
        assert(world.asked.length < 100, `${world.asked.length}`);
        assert(namesIn(folder).length > 0);
      })
    ),
);

const STORE = "https://store.example/store?sig=1";

const redirecting: Api = (path) => {
  if (path === "/store") return new Response("", { status: 401 });
  if (path === "/1") return text(path);
  return new Response(null, { status: 302, headers: { location: STORE } });
};
test(
  "downloadAll() saves the API's own files even if a storage host responds with 401",
  redirecting,
  async (world) => {
    const { counts, failed } = await world.all(world.items(2), { concurrency: 1 });
    assertEquals(counts, { saved: 1, kept: 0, failed: 1 });
    const { message } = failed[0]?.error ?? {};
    assertMatch(message ?? "", /^(?!.*(login\(|sig=)).*responded with 401.*support channel/);
    assertEquals(world.called.find(({ url }) => url === STORE)?.authorization, "");
  },
);

const busyOnce: Api = (path, count) =>
  count === 5 ? new Response("", { status: 429, headers: { "retry-after": "30" } }) : text(path);
test("downloadAll() pauses all downloads after a 429 with Retry-After", busyOnce, async (world) => {
  const pauses: number[] = [];
  let sentMeanwhile = 99;
  const session = world.another({
    async sleep(ms) {
      pauses.push(ms);
      const before = world.asked.length;
      for (let turns = 0; turns < 20; turns++) await later();
      sentMeanwhile = world.asked.length - before;
    },
  });
  await session.login();
  assertEquals((await session.downloadAll(world.items(40))).counts.saved, 40);
  assertEquals(pauses, [30_000]);
  // The requests of the three other files may already be on their way.
  assert(sentMeanwhile <= 3, `${sentMeanwhile}`);
});

test(
  "downloadAll() rejects two items with the same file before it sends anything",
  text,
  async (world) => {
    const twice = [...world.items(3), ["/again", `${world.folder}/x/../1`]];
    const error = await rejection(world.all(twice));
    assertEquals([error.name, error.code, world.asked], ["ConfigError", "INVALID_SETTING", []]);
    assertMatch(error.message, /1: item 4 and an earlier item have the same file/);
  },
);

test("downloadAll() follows the system in whether a and A are one file", text, async (world) => {
  const both: DownloadItem[] = [["/a", `${world.folder}/a`], ["/A", `${world.folder}/A`]];
  if (["windows", "darwin"].includes(Deno.build.os)) {
    assertEquals((await rejection(world.all(both))).code, "INVALID_SETTING");
  } else assertEquals((await world.all(both)).counts.saved, 2);
});

const silentOnce: Api = (path, count) =>
  path === "/5" && count <= 6 ? new Promise(() => {}) : text(path);
test(
  "downloadAll() ends when its signal aborts, and the next call downloads the rest",
  silentOnce,
  async (world) => {
    const own = new AbortController();
    const running = world.all(world.items(6), {
      signal: own.signal,
      onProgress: ({ files }) => files === 5 && own.abort(new Error("enough")),
    });
    assertEquals((await rejection(running)).message, "enough");
    const { counts } = await world.all(world.items(6));
    assertEquals(counts, { saved: 1, kept: 5, failed: 0 });
    assertEquals(world.asked.slice(6), ["/5"]);
  },
);

test(
  "downloadAll() reports its progress in files, failures and bytes",
  (path) => path === "/3" ? new Response("", { status: 404 }) : new Response("ten bytes."),
  async (world) => {
    Deno.writeTextFileSync(`${world.folder}/1`, "there");
    const seen: DownloadsProgress[] = [];
    await world.all(world.items(6), { onProgress: (each) => void seen.push(each) });
    assertEquals(seen[0], { files: 0, total: 6, kept: 0, failed: 0, bytes: 0 });
    assertEquals(seen.at(-1), { files: 6, total: 6, kept: 1, failed: 1, bytes: 40 });
  },
);

test("downloadAll() rejects a wrong argument before it sends anything", text, async (world) => {
  const loose = world.session.downloadAll as (...values: unknown[]) => Promise<unknown>;
  const [item] = world.items(1);
  const wrong: [unknown[], RegExp][] = [
    [[ReadableStream.from([item])], /collect an async iterable with Array.fromAsync/],
    [[[item, ["/x"]]], /takes pairs \[input, file\]; item 2 is not a pair/],
    [[[item], { concurrency: 1.5 }], /concurrency must be a whole number from 1/],
  ];
  for (const [values, message] of wrong) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, "TypeError", `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals(world.asked, []);
  assertEquals((await world.all([])).counts, { saved: 0, kept: 0, failed: 0 });
});
