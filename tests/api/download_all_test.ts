import { assert, assertEquals, assertMatch } from "@std/assert";
import type { DownloadAllOptions, DownloadItem, Downloads, DownloadsProgress } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { type Portless, rejection, signedIn } from "../support/portless.ts";
import { noTinyDisk, onTinyDisk } from "../support/disks.ts";
import { testNeeding } from "../support/needs.ts";

interface BatchWorld extends Portless {
  readonly folder: string;
  /** Paths that the API was asked for, in their order. */
  readonly asked: string[];
  /** How many requests were under way at once, at most. */
  most(): number;
  all(
    items: Iterable<DownloadItem> | AsyncIterable<DownloadItem>,
    options?: DownloadAllOptions,
  ): Promise<Downloads>;
  /** So many files, `/0` to `folder/0` and so on. */
  items(count: number): DownloadItem[];
}

type Api = (path: string, request: Request, count: number) => Response | Promise<Response>;

/** An API that returns a different text for each path, unless `api` says otherwise. */
function inBatchWorld(api: Api, use: (world: BatchWorld) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const asked: string[] = [];
    let running = 0;
    let most = 0;
    await using world = await signedIn({
      async api(request, count) {
        const path = new URL(request.url).pathname;
        asked.push(path);
        most = Math.max(most, ++running);
        try {
          return await api(path, request, count);
        } finally {
          running--;
        }
      },
    });
    await use({
      ...world,
      folder,
      asked,
      most: () => most,
      all: (items, options) => world.session.downloadAll(items, options),
      items: (count) =>
        Array.from({ length: count }, (_, at) => [`/${at}`, `${folder}/${at}`] as const),
    });
  });
}

function test(name: string, api: Api, use: (world: BatchWorld) => Promise<void>): void {
  Deno.test(name, () => inBatchWorld(api, use));
}

const text: Api = (path) => new Response(`text of ${path}`);
/** After all else that is due, so that requests overlap. */
const later = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

function wholeIn(folder: string): string[] {
  return filesIn(folder).filter((name) => !/\.(part|note)$/.test(name));
}

for (const at of [undefined, 9]) {
  const wanted = at ?? 4;
  Deno.test(`many files are saved, ${wanted} at once${at ? "" : " by default"}`, () => {
    const together = Promise.withResolvers<void>();
    const api: Api = async (path, _, count) => {
      if (count === wanted) together.resolve();
      await together.promise;
      // Time in which one too many would arrive.
      await later();
      return new Response(`text of ${path}`);
    };
    return inBatchWorld(api, async (world) => {
      const found = await world.all(world.items(20), { ...(at && { concurrency: at }) });
      const { saved, kept, failed, counts, bytes } = found;
      assertEquals([saved.length, kept, failed, world.most()], [20, [], [], wanted]);
      assertEquals(counts, { saved: 20, kept: 0, failed: 0 });
      assertEquals(bytes, 10 * "text of /0".length + 10 * "text of /10".length);
      assertEquals(Deno.readTextFileSync(`${world.folder}/17`), "text of /17");
    });
  });
}

test(
  "existing files are kept, and a second run requests only the missing ones",
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

test(
  "one file that fails does not stop the others, and its query is not shown",
  (path) => path === "/1" ? new Response("no such file", { status: 404 }) : new Response("x"),
  async (world) => {
    const { folder } = world;
    const { saved, failed, counts } = await world.all([
      ["/0", `${folder}/0`],
      ["/1?key=hidden-in-the-query", `${folder}/1`],
      ["https://ada:hidden@elsewhere.example/2?key=hidden", `${folder}/2`],
      ["/3", folder],
      ["/4", `${folder}/4`],
    ], { concurrency: 1 });
    assertEquals([saved.length, counts.failed], [2, 3]);
    // In the order in which they ended, and two are open for each place.
    const told = Object.fromEntries(failed.map(({ input, file, error }) => {
      return [input, [file, (error as Error & { code?: string }).code]];
    }));
    assertEquals(told, {
      "/1": [`${folder}/1`, "API_STATUS"],
      "https://elsewhere.example/2": [`${folder}/2`, "UNTRUSTED_ORIGIN"],
      "/3": [folder, "FILE"],
    });
    assertEquals(Deno.inspect({ saved, failed }, { depth: 9 }).includes("hidden"), false);
    assertEquals(filesIn(folder), ["0", "4"]);
  },
);

Deno.test("an error that would fail every file stops downloadAll()", async (test) => {
  const unauthorized: Api = (_, __, count) =>
    count > 6 ? new Response("", { status: 401 }) : new Response("x");
  await test.step("no session", () =>
    inBatchWorld(unauthorized, async (world) => {
      world.sandbox.revokeRefreshTokens();
      const error = await rejection(world.all(world.items(100)));
      assertEquals([error.name, error.code], ["SessionExpiredError", "REFRESH_REJECTED"]);
      // Six that were answered, and the eight files that may be open.
      assert(world.asked.length <= 14, `${world.asked.length}`);
      assertEquals(filesIn(world.folder).filter((name) => name.includes(".part")), []);
    }));
  await test.step("an API that never answered", () =>
    inBatchWorld(
      () => {
        throw new TypeError("connection refused");
      },
      async (world) => {
        const error = await rejection(world.all(world.items(100)));
        assertMatch(error.message, /Cannot reach .*the connection was refused/);
        // Three tries of four files, and what was on its way by then.
        assert(world.asked.length <= 16, `${world.asked.length}`);
      },
    ));
});

testNeeding(
  noTinyDisk,
  "a full disk stops downloadAll(), and complete files stay",
  () =>
    onTinyDisk((folder) =>
      inBatchWorld(() => new Response("x".repeat(1_000)), async (world) => {
        const items = world.items(500).map(([input], at) => [input, `${folder}/${at}`] as const);
        const error = await rejection(world.all(items, { concurrency: 1 }));
        assertEquals(error.code, "FILE");
        assertMatch(error.message, /the disk is full/);
        assert(world.asked.length < 100, `${world.asked.length}`);
        assert(filesIn(folder).length > 0);
      })
    ),
);

const STORE = "https://store.example/f?sig=1";
const DOWN = 10;

/** An API that redirects to a storage host all files but two. */
const redirecting = (store: () => Response): Api => (path, request, count) => {
  if (request.url === STORE) return store();
  if (Number(path.slice(1)) >= DOWN) return text(path, request, count);
  return new Response(null, { status: 302, headers: { location: STORE } });
};

const storeFailures: [string, () => Response, number, RegExp][] = [
  [
    "that refuses a request without the token",
    () => new Response("", { status: 401 }),
    2 * DOWN,
    /responded with 401.*support channel/,
  ],
  [
    "that is down",
    () => {
      throw new TypeError("connection refused");
    },
    // Three tries of the first four files, and one of each other.
    4 * 3 + DOWN - 4,
    /^Cannot reach https:\/\/store\.example, to which \S+ redirected \(/,
  ],
];
for (const [what, fail, most, message] of storeFailures) {
  Deno.test(`a storage host ${what} fails its files, and not the others`, () =>
    inBatchWorld(redirecting(fail), async (world) => {
      const { counts, failed } = await world.all(world.items(DOWN + 2));
      assertEquals(counts, { saved: 2, kept: 0, failed: DOWN });
      for (const { error } of failed) {
        assertMatch(error.message, message);
        assertEquals(/login\(|sig=/.test(error.message), false, error.message);
      }
      const asked = world.called.filter(({ url }) => url === STORE);
      assert(asked.length <= most, `${asked.length} requests`);
      assertEquals(asked.filter(({ authorization }) => authorization !== ""), []);
    }));
}

Deno.test("downloadAll() keeps a file that another process is saving", () => {
  const isHeld = Promise.withResolvers<void>();
  return inBatchWorld(
    async (path, _, count) => {
      if (count === 1) await isHeld.promise;
      return new Response(path);
    },
    async (world) => {
      const items = world.items(5);
      const other = world.session.download("/0", `${world.folder}/0`);
      while (world.asked.length === 0) await later();
      const pausing = world.another({ sleep: later });
      await pausing.login();
      const running = pausing.downloadAll(items);
      while (wholeIn(world.folder).length < 4) await later();
      isHeld.resolve();
      await other;
      const { saved, kept } = await running;
      assertEquals([saved.length, kept.length, world.asked.length], [4, 1, 5]);
    },
  );
});

test(
  "a request that fails without a response is repeated, and the batch continues",
  async (path, _, count) => {
    if (count <= 2) throw new TypeError("connection reset");
    return await text(path, _, count);
  },
  async (world) => {
    const { saved, failed } = await world.all(world.items(9));
    assertEquals([saved.length, failed.length], [9, 0]);
  },
);

test("a 429 or a Retry-After pauses all downloads", async (path, _, count) => {
  await later();
  if (count === 5) return new Response("", { status: 429, headers: { "retry-after": "30" } });
  return new Response(`text of ${path}`);
}, async (world) => {
  const held: number[] = [];
  const door = Promise.withResolvers<void>();
  // The pause is let through when nothing else happens any more.
  const session = world.another({
    sleep: (ms) => {
      held.push(ms);
      return door.promise;
    },
  });
  await session.login();
  const running = session.downloadAll(world.items(40));
  while (held.length === 0) await later();
  for (let turns = 0; turns < 20; turns++) await later();
  const before = world.asked.length;
  for (let turns = 0; turns < 20; turns++) await later();
  assertEquals([world.asked.length, held], [before, [30_000]]);
  assert(before < 12, `${before}`);
  door.resolve();
  assertEquals((await running).saved.length, 40);
});

test("the signal of one item ends that item only, whatever its reason", text, async (world) => {
  const request = new Request("https://api.sandbox.example/x", {
    signal: AbortSignal.abort("enough"),
  });
  const { saved, failed } = await world.all([[request, `${world.folder}/x`], ...world.items(2)]);
  assertEquals([saved.length, failed.length], [2, 1]);
  assertMatch(`${failed[0]?.error}`, /enough/);
});

for (const [status, requests] of [[429, 8], [503, 200]] as const) {
  Deno.test(`a ${status} that lasts more than five minutes ends ${status === 429 ? "all" : "one file"}`, () =>
    inBatchWorld(
      (path, request, count) => {
        if (count !== 6 && (status === 503 || count < 6)) return text(path, request, count);
        return new Response("", { status, headers: { "retry-after": "301" } });
      },
      async (world) => {
        const running = world.all(world.items(100), { concurrency: 1 });
        const message = /responded with \d+; wait 301 seconds, as the API asks, then try again/;
        if (status === 429) assertMatch((await rejection(running)).message, message);
        else assertEquals((await running).counts, { saved: 99, kept: 0, failed: 1 });
        assert(world.asked.length < requests, `${world.asked.length} requests`);
      },
    ));
}

test("two items with the same file are an error before anything is sent", text, async (world) => {
  const { folder, asked } = world;
  const twice: DownloadItem[] = [
    ...world.items(3),
    ["/again", new URL(`file://${folder}/x/../1`)],
  ];
  const error = await rejection(world.all(twice));
  assertEquals([error.name, error.code, asked], ["ConfigError", "INVALID_SETTING", []]);
  assertMatch(error.message, /1: item 4 and an earlier item have the same file/);
});

test(
  "an async iterable is asked for an item only when a download can start",
  async (path) => (await later(), new Response(path)),
  async (world) => {
    let given = 0;
    let ahead = 0;
    let isClosed = false;
    const source = async function* (): AsyncGenerator<DownloadItem> {
      try {
        for (const item of world.items(50)) {
          ahead = Math.max(ahead, given++ - world.asked.length);
          await later();
          yield item;
        }
      } finally {
        isClosed = true;
      }
    };
    const { saved } = await world.all(source(), { concurrency: 3 });
    assertEquals([saved.length, isClosed], [50, true]);
    assert(ahead <= 6, `${ahead}`);
  },
);

test(
  "a signal ends all downloads, and the same call resumes them",
  (path, _, count) => path === "/5" && count <= 6 ? new Promise(() => {}) : new Response(path),
  async (world) => {
    const own = new AbortController();
    const running = world.all(world.items(6), { signal: own.signal });
    while (wholeIn(world.folder).length < 5) await later();
    own.abort(new Error("enough"));
    assertEquals((await rejection(running)).message, "enough");
    const { counts } = await world.all(world.items(6));
    assertEquals(counts, { saved: 1, kept: 5, failed: 0 });
    assertEquals(world.asked.slice(6), ["/5"]);
  },
);

test(
  "the progress shows files, failures and bytes, and ends with the totals",
  (path) => path === "/3" ? new Response("", { status: 404 }) : new Response("ten bytes."),
  async (world) => {
    Deno.writeTextFileSync(`${world.folder}/1`, "there");
    const seen: DownloadsProgress[] = [];
    await world.all(world.items(6), { onProgress: (each) => void seen.push(each) });
    assertEquals(seen[0], { files: 0, total: 6, kept: 0, failed: 0, bytes: 0 });
    assertEquals(seen.at(-1), { files: 6, total: 6, kept: 1, failed: 1, bytes: 40 });
  },
);

test("wrong arguments are an error before anything is sent", text, async (world) => {
  const loose = world.session.downloadAll as (...values: unknown[]) => Promise<unknown>;
  const [item] = world.items(1);
  const wrong: [unknown[], RegExp][] = [
    [[], /takes an array or another iterable of pairs/],
    [[[item, ["/x"]]], /takes pairs \[input, file\]; item 2 is not a pair/],
    [[[item, [5, "x"]]], /The input of item 2 must be a string, a URL or a Request/],
    [[[item, ["/x", "~/x.csv"]]], /The file of item 2 must be .*cannot begin with ~/],
    [[[item], { concurrency: 1.5 }], /concurrency must be a whole number from 1/],
    [
      [[item], { init: { method: "POST", body: new Response("rows").body } }],
      /The body is sent with each item; pass text or bytes, not a stream/,
    ],
  ];
  for (const [values, message] of wrong) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, "TypeError", `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals(world.asked, []);
  assertEquals((await world.all([])).counts, { saved: 0, kept: 0, failed: 0 });
});
