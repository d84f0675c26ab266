import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import type { ApiError, Download, DownloadOptions, LogEvent } from "../../mod.ts";
import { assertHides } from "../support/canaries.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { type Portless, rejection, signedIn } from "../support/portless.ts";
import {
  contentOf,
  type FileServer,
  type FileServerOptions,
  startFileServer,
} from "../support/file_server.ts";

const WINDOWS = Deno.build.os === "windows";

/** A session whose API is a file server on a real port, and a folder for the file. */
interface World extends Portless {
  readonly server: FileServer;
  readonly folder: string;
  readonly file: string;
  get(options?: DownloadOptions): Promise<Download>;
}

async function inWorld(
  options: Partial<FileServerOptions>,
  use: (world: World) => Promise<void>,
): Promise<void> {
  await using server = startFileServer({ content: contentOf(300_000), ...options });
  const pauses: number[] = [];
  const sleep = (ms: number) => {
    pauses.push(ms);
    // Yields to the event loop, so that another download can continue.
    return new Promise<void>((resolve) => setTimeout(resolve, 0));
  };
  await using world = await signedIn({
    session: { apiBaseUrl: server.origin, sleep },
    api: (request) => fetch(request),
  });
  await inFolder(async (folder) => {
    const file = `${folder}/data.bin`;
    const get = (more?: DownloadOptions) => world.session.download("/files/data?day=1", file, more);
    await use({ ...world, pauses, server, folder, file, get });
  });
}

function test(
  name: string,
  options: Partial<FileServerOptions>,
  use: (world: World) => Promise<void>,
): void {
  Deno.test(name, () => inWorld(options, use));
}

/** Leaves the first 100 kB of the file, as an interrupted download does. */
async function leavePart({ server: { options, asked }, get }: World): Promise<void> {
  const before = asked.length;
  options.dropAfter = 100_000;
  options.instead = (_, count) => count > before + 1 ? "400 No" : undefined;
  assertEquals((await rejection(get({ ifExists: "replace" }))).code, "API_STATUS");
  options.dropAfter = Infinity;
  delete options.instead;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** Compares hashes, because a failed comparison of the contents would print megabytes. */
function assertWhole({ file, server }: World): void {
  assertEquals(sha256(Deno.readFileSync(file)), sha256(server.options.content));
}

Deno.test("download() survives dropped connections and expired tokens", () => {
  const content = contentOf(12_000_000);
  return inWorld({
    content,
    dropAfter: 1_000_000,
    headers: { "repr-digest": `sha-256=:${sha256(content)}:` },
    // The API refuses every other request, as if the token had expired during the one before.
    instead: (_, count) => count % 2 === 0 ? "401 Unauthorized" : undefined,
  }, async (world) => {
    const { server, get, folder, pauses } = world;
    const seen: number[] = [];
    const saved = await get({ onProgress: ({ bytes, total }) => seen.push(bytes, total ?? 0) });
    assertWhole(world);
    assertEquals([saved.bytes, saved.resumedFrom], [12_000_000, 0]);
    const sent = server.asked.reduce((sum, { sent }) => sum + sent, 0);
    assert(sent <= 1.02 * 12_000_000, `${sent} bytes were sent`);
    assertEquals([world.refreshes(), pauses], [11, []]);
    assertEquals(seen.slice(-2), [12_000_000, 12_000_000]);
    assertEquals(namesIn(folder), ["data.bin"]);
  });
});

test(
  "download() resumes an interrupted file and requests only the rest",
  {},
  async (world) => {
    const { server, get, folder } = world;
    await leavePart(world);
    const left = namesIn(folder);
    assertMatch(left.join(), /^data\.bin\.([0-9a-f]{8})\.note,data\.bin\.\1\.part$/);
    assertEquals(Deno.statSync(`${folder}/${left[1]}`).size, 100_000);
    const saved = await get();
    // The last byte is requested again: the .part file could already be complete.
    assertEquals([saved.bytes, saved.resumedFrom], [300_000, 99_999]);
    const { range, ifRange } = server.asked.at(-1) ?? {};
    assertEquals([range, ifRange], ["bytes=99999-", `"one"`]);
    assertWhole(world);
    assertEquals(namesIn(folder), ["data.bin"]);
  },
);

test(
  "download() starts over with resume: false, or if the server ignores ranges",
  {},
  async (world) => {
    for (const options of [{ resume: false }, {}]) {
      await leavePart(world);
      if (options.resume !== false) world.server.options.etag = "";
      assertEquals((await world.get({ ...options, ifExists: "replace" })).resumedFrom, 0);
      assertWhole(world);
    }
    assertEquals(namesIn(world.folder), ["data.bin"]);
  },
);

test(
  "download() starts over if the .note of an interrupted download is damaged",
  {},
  async (world) => {
    const { get, folder } = world;
    for (const note of ["", `"two"`, `"on`, `"one"\r\na: b`, `W/"one"`]) {
      await leavePart(world);
      const name = namesIn(folder).find((name) => name.endsWith(".note"));
      Deno.writeTextFileSync(`${folder}/${name}`, note);
      assertEquals((await get({ ifExists: "replace" })).resumedFrom, 0, note);
      assertWhole(world);
    }
    assertEquals(namesIn(folder), ["data.bin"]);
  },
);

test(
  "download() keeps an existing file and sends nothing",
  {},
  async (world) => {
    const { server, get, file, folder } = world;
    await Deno.writeTextFile(file, "of yesterday");
    const error = await rejection(get({ ifExists: "error" }));
    assertEquals(error.name, "ConfigError");
    assertMatch(error.message, /data\.bin: it already exists; pass ifExists: "replace", or choose/);
    assertEquals([await Deno.readTextFile(file), server.asked.length], ["of yesterday", 0]);
    const kept = await get();
    assertEquals([kept.kept, kept.bytes, kept.resumedFrom, server.asked.length], [true, 12, 0, 0]);
    assertEquals((await get({ ifExists: "replace" })).kept, undefined);
    assertWhole(world);
    assertEquals(namesIn(folder), ["data.bin"]);
  },
);

test(
  "download() does not replace a file that appears while it runs",
  { dropAfter: 100_000 },
  async ({ server, get, file, folder }) => {
    server.options.beforeDrop = () => Deno.writeTextFile(file, "mine");
    assertEquals((await get()).kept, true);
    assertEquals(await Deno.readTextFile(file), "mine");
    assertEquals(namesIn(folder), ["data.bin"]);
  },
);

test(
  "simultaneous downloads to the same file save it intact",
  {},
  async (world) => {
    const { server, get, folder } = world;
    const both = [1, 2].map(() => get({ ifExists: "error" }));
    assertEquals((await rejection(Promise.all(both))).code, "FILE_EXISTS");
    assertEquals(server.asked.length, 1);
    await Promise.all([1, 2, 3].map(() => get({ ifExists: "replace" })));
    assertWhole(world);
    assertEquals(namesIn(folder), ["data.bin"]);
  },
);

test(
  "a download waits for another one of the same file, with growing pauses",
  {},
  async (world) => {
    const { server, get, file, folder } = world;
    const free = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    Object.assign(server.options, { dropAfter: 100_000, beforeDrop: () => free.promise });
    const first = get({ onProgress: ({ bytes }) => bytes > 0 && begun.resolve() });
    await begun.promise;
    const events: LogEvent[] = [];
    const pauses: number[] = [];
    const other = world.another({
      log: (event) => void events.push(event),
      sleep: (ms) => {
        if (pauses.push(ms) === 7) {
          server.options.dropAfter = Infinity;
          free.resolve();
        }
        return new Promise((resolve) => setTimeout(resolve, 0));
      },
    });
    await other.login();
    assertEquals((await other.download("/files/data?day=1", file)).kept, true);
    assertEquals((await first).bytes, 300_000);
    assertEquals(pauses.slice(0, 7), [100, 200, 400, 800, 1_600, 2_000, 2_000]);
    assertEquals(events.filter(({ event }) => event === "pause").length, pauses.length);
    assertEquals(namesIn(folder), ["data.bin"]);
  },
);

const SIGNATURE = "c2lnbmF0dXJlLW9mLXRoaXMtYWRkcmVzcw";

test(
  "download() requests a new presigned URL for each request, and never shows it",
  { dropAfter: 100_000 },
  async (world) => {
    const { server, file } = world;
    await using api = startFileServer({ content: new Uint8Array() });
    let given = 0;
    api.options.instead = () =>
      `302 Found\r\nlocation: ${server.origin}/f?sig=${SIGNATURE}${++given}`;
    // Each address is valid for one request.
    const used = new Set<string>();
    server.options.instead = ({ query }) => {
      const name = query.slice(-1);
      return used.has(name) ? "403 Expired" : (used.add(name), undefined);
    };
    const address = `${api.origin}/files/data`;
    const other = world.another({ apiBaseUrl: api.origin });
    await other.login();
    await other.download(address, file);
    assertWhole(world);
    assertEquals(server.asked.map(({ authorization }) => authorization), Array(3).fill(undefined));
    server.options.instead = ({ query }) => `403 Never\r\nx-request-id: ${query}`;
    const error = await rejection(other.download(address, `${file}.2`)) as ApiError;
    assertEquals([error.name, error.status, error.url, given], ["ApiError", 403, address, 4]);
    assertEquals(Deno.inspect(error).includes(SIGNATURE.slice(0, 8)), false, `${error}`);
    await assertHides(error, "the error");
  },
);

const content = contentOf(300_000);
const right = `sha-256=:${sha256(content)}:`;

const digests: [headers: Record<string, string>, isRight: boolean][] = [
  [{ "repr-digest": `unixsum=:AA==:, ${right}` }, true],
  [{ "repr-digest": `sha-256=:${sha256(contentOf(5))}:` }, false],
  // This is not the base64 of 32 bytes, so it says nothing about the file.
  [{ "repr-digest": "sha-256=:AAAA:" }, true],
];
for (const [headers, isRight] of digests) {
  const [header] = Object.entries(headers).map((each) => each.join(": "));
  const what = isRight ? "saves a file with" : "rejects a file that does not match";
  test(`download() ${what} the header ${header}`, {
    headers,
    dropAfter: 200_000,
  }, async (world) => {
    const outcome = await world.get().then(() => "saved", ({ code }) => code);
    const saved = isRight ? ["saved", ["data.bin"]] : ["DOWNLOAD_BROKEN", []];
    assertEquals([outcome, namesIn(world.folder)], saved);
  });
}

const unrepeatable: [string, string, RequestInit][] = [
  ["a file without an ETag", "", {}],
  ["the response to a POST", `"one"`, { method: "POST" }],
];
for (const [what, etag, init] of unrepeatable) {
  test(
    `download() does not retry an interrupted download of ${what}`,
    { etag, dropAfter: 100_000 },
    async ({ server, get, folder }) => {
      const error = await rejection(get({ init })) as ApiError;
      assertEquals([error.name, error.code], ["ApiError", "DOWNLOAD_BROKEN"]);
      assertMatch(error.problem, /after 100\.0 kB of 300\.0 kB\)$/);
      assertEquals(error.fix.includes("resume"), false, error.fix);
      assertEquals([server.asked.length, namesIn(folder)], [1, []]);
    },
  );
}

test(
  "download() gives up after six requests in a row without new data",
  { dropAfter: 100_000 },
  async ({ server, get, pauses }) => {
    server.options.beforeDrop = () => Promise.resolve(void (server.options.dropAfter = 0));
    const error = await rejection(get());
    assertMatch(
      error.message,
      /broke off, 6 times in a row after 100\.0 kB of 300\.0 kB\); run it again to resume it/,
    );
    assertEquals(error.cause, { name: "TypeError" });
    assertEquals([server.asked.length, pauses.length], [7, 5]);
  },
);

for (const [method, times, often] of [["GET", 6, "six times"], ["POST", 1, "once"]] as const) {
  test(
    `download() sends a ${method} at most ${often} if the API only responds with 503`,
    { instead: (_, count) => count < 20 ? "503 Busy" : undefined },
    async ({ server, get, folder }) => {
      const error = await rejection(get({ init: { method } })) as ApiError;
      assertEquals([error.code, error.status, server.asked.length], ["API_STATUS", 503, times]);
      assertEquals(namesIn(folder), []);
    },
  );
}

const ACCEPTED = "202 Accepted\r\nretry-after: 7";

test(
  "download() waits while the API is preparing the file",
  {
    instead: (_, count) => [ACCEPTED, "202 Accepted", "202 Accepted\r\nretry-after: 0"][count - 1],
  },
  async (world) => {
    assertEquals((await world.get()).bytes, 300_000);
    assertWhole(world);
    const [asked, ...own] = world.pauses;
    assertEquals([asked, own.map((ms) => ms >= 500)], [7_000, [true, true]]);
  },
);

for (
  const [what, init, answer, times] of [
    ["six requests", {}, ACCEPTED, 6],
    ["a single POST", { method: "POST" }, ACCEPTED, 1],
    ["a Retry-After of more than five minutes", {}, "202 Accepted\r\nretry-after: 301", 1],
  ] as const
) {
  test(
    `after ${what}, download() says that the API is still preparing the file`,
    { instead: () => answer },
    async ({ server, get, folder }) => {
      const error = await rejection(get({ init })) as ApiError;
      assertEquals([error.code, error.status], ["API_BODY", 202]);
      assertMatch(error.message, /the API is still preparing the file/);
      assertEquals([server.asked.length, namesIn(folder)], [times, []]);
    },
  );
}

test("download() keeps its .part file while the API is preparing the file", {}, async (world) => {
  await leavePart(world);
  world.server.options.instead = () => ACCEPTED;
  assertEquals((await rejection(world.get())).code, "API_BODY");
  delete world.server.options.instead;
  assertEquals((await world.get()).resumedFrom, 99_999);
  assertWhole(world);
});

test("download() keeps its .part file if the API returns a login page instead of the rest", {
  dropAfter: 100_000,
}, async (world) => {
  const { server, get } = world;
  const { content } = server.options;
  const page = '\n<!DOCTYPE html><title>Company</title><input type="password">';
  const captive = {
    content: new TextEncoder().encode(page),
    etag: "",
    dropAfter: Infinity,
    headers: { "content-type": "text/html; charset=utf-8" },
  };
  server.options.beforeDrop = () => Promise.resolve(void Object.assign(server.options, captive));
  const error = await rejection(get());
  assertEquals([error.name, error.code], ["ApiError", "API_BODY"]);
  Object.assign(server.options, { content, etag: '"one"', headers: {} });
  assertEquals((await get()).resumedFrom, 99_999);
  assertWhole(world);
});

test(
  "download() saves no file for a response without a body",
  {},
  async ({ server, get, folder }) => {
    server.options.instead = () => "204 No Content";
    assertMatch(
      (await rejection(get())).message,
      /204\): a response with this status is not the file/,
    );
    assertEquals(namesIn(folder), []);
  },
);

test(
  "download() ends at once when its signal aborts, and the next call resumes the file",
  { dropAfter: 100_000 },
  async (world) => {
    const { server, get } = world;
    const reached = Promise.withResolvers<void>();
    const stalled = Promise.withResolvers<void>();
    server.options.beforeDrop = () => stalled.promise;
    const own = new AbortController();
    const running = get({
      signal: own.signal,
      onProgress: ({ bytes }) => bytes > 0 && reached.resolve(),
    });
    await reached.promise;
    own.abort(new Error("enough"));
    assertEquals((await rejection(running)).message, "enough");
    server.options.dropAfter = Infinity;
    const saved = await get();
    assert(saved.resumedFrom > 0);
    assertWhole(world);
    stalled.resolve();
  },
);

const encodings: [string, CompressionFormat | undefined][] = [
  ["GZIP", "gzip"],
  ["br", "brotli"],
  ["zstd", undefined],
];
for (const [encoding, format] of encodings) {
  test(
    `download() ${format ? "decodes" : "refuses"} a response with content-encoding ${encoding}`,
    {},
    async ({ server, get, file, folder }) => {
      const stream = new Blob(["rows"]).stream();
      const encoded = format ? stream.pipeThrough(new CompressionStream(format)) : stream;
      server.options.content = await new Response(encoded).bytes();
      server.options.headers = { "content-encoding": encoding };
      // download() replaces this header.
      const getting = get({ init: { headers: { "accept-encoding": "br" } } });
      if (format) {
        assertEquals((await getting).bytes, 4);
        assertEquals(await Deno.readTextFile(file), "rows");
      } else {
        const error = await rejection(getting);
        assertEquals([error.code, namesIn(folder)], ["API_BODY", []]);
      }
      assertEquals(server.asked.map(({ acceptEncoding }) => acceptEncoding), ["identity"]);
    },
  );
}

test("download() keeps no part of an encoded response that breaks off", {}, async (world) => {
  const { server, get, folder } = world;
  const stream = new Blob([contentOf(300_000)]).stream().pipeThrough(new CompressionStream("gzip"));
  server.options.content = await new Response(stream).bytes();
  Object.assign(server.options, { headers: { "content-encoding": "gzip" }, dropAfter: 100_000 });
  assertEquals((await rejection(get())).code, "DOWNLOAD_BROKEN");
  assertEquals([server.asked.length, namesIn(folder)], [1, []]);
});

Deno.test("the contentType that download() returns hides a token that the API repeats there", async () => {
  await using world = await signedIn({
    api: ({ headers }) =>
      new Response("rows", { headers: { "content-type": headers.get("authorization") ?? "" } }),
  });
  await inFolder(async (folder) => {
    const { contentType } = await world.session.download("/files/data", `${folder}/data`);
    assertEquals(contentType, "bearer [secret]");
  });
});

test(
  "download() rejects an unusable path or a wrong option before it sends anything",
  {},
  async ({ server, session, folder, file }) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const loose = session.download as (...values: unknown[]) => Promise<Download>;
    const failures: [unknown[], string, RegExp][] = [
      [
        ["/x", `${folder}/file/x`],
        "ConfigError",
        /its folder does not exist; choose another folder/,
      ],
      [["/x", file, { ifExists: "no" }], "TypeError", /must be "keep", "error" or "replace"/],
      [["/x", `${folder}/new/`], "ConfigError", /new\/: it is a folder; choose a file/],
      [["/x", new URL("https://a.example/")], "TypeError", /path or file: URL/],
      [["/x", file, { overwrite: true }], "TypeError", /no option "overwrite"/],
      [["/x", file, { init: { method: "HEAD" } }], "TypeError", /no body to save/],
    ];
    // Windows limits the length of a whole path, not the number of bytes in a name.
    if (!WINDOWS) {
      failures.push([["/x", `${folder}/${"語".repeat(81)}`], "ConfigError", /too long/]);
    }
    for (const [values, name, message] of failures) {
      const error = await rejection(loose(...values));
      assertEquals(error.name, name, `${error}`);
      assertMatch(error.message, message);
    }
    assertEquals([server.asked.length, namesIn(folder)], [0, ["file"]]);
  },
);

test("download() creates a missing folder", {}, async ({ session, folder }) => {
  const file = `${folder}/data/2025/a b.csv`;
  const { bytes } = await session.download("/files/data", file);
  assertEquals(Deno.statSync(file).size, bytes);
  assertEquals(namesIn(`${folder}/data/2025`), ["a b.csv"]);
});

const coded = (code: string, message: string) => Object.assign(new Error(message), { code });
/** The texts are in German, because Windows localizes the texts of errors. */
const diskErrors: [what: string, error: Error, shown: RegExp][] = [
  [
    "no permission",
    coded("EACCES", "Verweigert (os error 5)"),
    /^ConfigError: .*Verweigert \(os error 5\); choose another file/,
  ],
  ["a full disk", coded("ENOSPC", "Zu wenig Platz. (os error 112)"), /the disk is full/],
  [
    "a file that is mounted",
    coded("EBUSY", "Belegt (os error 16)"),
    /mounted as a single file, which cannot be replaced; mount its folder instead/,
  ],
  // The runtime throws a TypeError if some system calls fail.
  [
    "a system call that fails",
    Object.assign(new TypeError("Invalid argument (os error 22)"), { code: "EINVAL" }),
    /^ConfigError: .*Invalid argument \(os error 22\)/,
  ],
  [
    "a bug in this module",
    new TypeError("x is not a function"),
    /^TypeError: x is not a function$/,
  ],
];
for (const [what, error, shown] of diskErrors) {
  test(`download() shows why a file cannot be saved (cause: ${what})`, {}, async ({ get }) => {
    using _ = failing("syncData", error);
    assertMatch(`${await rejection(get())}`, shown);
  });
}

/** Makes a method of all files fail until the result is disposed of. */
function failing(method: "syncData" | "writeSync", error: Error): Disposable {
  const files = Deno.FsFile.prototype;
  const real = files[method];
  const fail = () => {
    throw error;
  };
  Object.assign(files, { [method]: fail });
  return { [Symbol.dispose]: () => void Object.assign(files, { [method]: real }) };
}

test("download() replaces a file on a disk that refuses chmod", {}, async (world) => {
  const { chmodSync } = Deno;
  Deno.writeTextFileSync(world.file, "old");
  Deno.chmodSync = () => {
    throw new Deno.errors.PermissionDenied("Operation not permitted (os error 1)");
  };
  try {
    await world.get({ ifExists: "replace" });
  } finally {
    Deno.chmodSync = chmodSync;
  }
  assertWhole(world);
});

test("download() closes the connection if the disk is full", {}, async ({ get }) => {
  using _ = failing("writeSync", coded("ENOSPC", "No space left (os error 28)"));
  // If the response were still open, the test runner would report a leak.
  assertEquals((await rejection(get())).code, "FILE");
});
