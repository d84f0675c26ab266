import { assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import type { ApiError, Download, DownloadOptions } from "../../mod.ts";
import { assertHides } from "../support/canaries.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { readText, serveLocal, serveRaw } from "../support/local_server.ts";
import { type Portless, rejection, signedIn } from "../support/portless.ts";
import { signedInAt } from "./on_port.ts";

const WINDOWS = Deno.build.os === "windows";
/** 60 bytes, of which no two are the same. */
const CONTENT = Uint8Array.from({ length: 60 }, (_, at) => at);

/** How the API behaves. A test may change this at any time. */
interface Behavior {
  content: Uint8Array<ArrayBuffer>;
  /** The ETag; `""`: none. */
  etag: string;
  headers: Record<string, string>;
  /** Number of bytes after which a response breaks off. */
  dropAfter: number;
  /** Called before a response breaks off, and awaited. */
  beforeDrop?: () => unknown;
  /** A response instead of the file. */
  instead?: (request: Request, count: number) => Response | undefined;
}

/** A session whose API sends one file and supports ranges, and a folder for the file. */
interface World extends Portless {
  readonly api: Behavior;
  /** The requests to the API. */
  readonly asked: Request[];
  readonly folder: string;
  readonly file: string;
  get(options?: DownloadOptions): Promise<Download>;
}

async function inWorld(
  behavior: Partial<Behavior>,
  use: (world: World) => Promise<void>,
): Promise<void> {
  const api = { content: CONTENT, etag: '"one"', headers: {}, dropAfter: Infinity, ...behavior };
  const asked: Request[] = [];
  function respond(request: Request): Response {
    asked.push(request);
    const instead = api.instead?.(request, asked.length);
    if (instead) return instead;
    const { content, etag, headers } = api;
    const { length } = content;
    const isSame = (request.headers.get("if-range") ?? etag) === etag;
    const start = isSame ? firstOf(request) : 0;
    const piece = content.slice(start, start + api.dropAfter);
    const body = ReadableStream.from((async function* () {
      if (piece.length > 0) yield piece;
      if (start + piece.length === length) return;
      await api.beforeDrop?.();
      throw new TypeError("The connection was closed");
    })());
    const all = new Headers({ ...headers, etag, "content-length": `${length - start}` });
    if (start > 0) all.set("content-range", `bytes ${start}-${length - 1}/${length}`);
    return new Response(body, { status: start > 0 ? 206 : 200, headers: all });
  }
  const pauses: number[] = [];
  const sleep = (ms: number) => {
    pauses.push(ms);
    // Yields to the event loop, so that another download can continue.
    return new Promise<void>((resolve) => setTimeout(resolve, 0));
  };
  await using world = await signedIn({ session: { sleep }, api: respond });
  await inFolder(async (folder) => {
    const file = `${folder}/data.bin`;
    const get = (more?: DownloadOptions) => world.session.download("/files/data?day=1", file, more);
    await use({ ...world, api, asked, pauses, folder, file, get });
  });
}

/** The first byte that a request asks for. */
function firstOf({ headers }: Request): number {
  return Number(/^bytes=(\d+)-$/.exec(headers.get("range") ?? "")?.[1] ?? 0);
}

function test(
  name: string,
  behavior: Partial<Behavior>,
  use: (world: World) => Promise<void>,
): void {
  Deno.test({ name, timeout: 60_000, fn: () => inWorld(behavior, use) });
}

/** Downloads a file from a server on a port, and returns it as text. */
async function savedFrom(origin: string, init: RequestInit = {}): Promise<string> {
  await using world = await signedInAt(origin);
  return await inFolder(async (folder) => {
    await world.session.download("/x", `${folder}/x`, { init });
    return await Deno.readTextFile(`${folder}/x`);
  });
}

/** Leaves the first 20 bytes of the file, as an interrupted download does. */
async function leavePart({ api, asked, get }: World): Promise<void> {
  const before = asked.length;
  api.dropAfter = 20;
  api.instead = (_, count) => count > before + 1 ? answer(400) : undefined;
  assertEquals((await rejection(get({ ifExists: "replace" }))).code, "API_STATUS");
  api.dropAfter = Infinity;
  delete api.instead;
}

function answer(status: number, headers: Record<string, string> = {}): Response {
  return new Response(null, { status, headers });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** Asserts that the file is complete, and that nothing else is left. */
function assertWhole({ folder, file }: World): void {
  assertEquals(Deno.readFileSync(file), CONTENT);
  assertEquals(namesIn(folder), ["data.bin"]);
}

test("download() survives dropped connections and expired tokens", {
  dropAfter: 5,
  headers: { "repr-digest": `sha-256=:${sha256(CONTENT)}:` },
  // The API refuses every other request, as if the token had expired during the one before.
  instead: (_, count) => count % 2 === 0 ? answer(401) : undefined,
}, async (world) => {
  const { asked, get, pauses } = world;
  const seen: number[] = [];
  const saved = await get({ onProgress: ({ bytes, total }) => seen.push(bytes, total ?? 0) });
  assertWhole(world);
  assertEquals([saved.bytes, saved.resumedFrom], [60, 0]);
  const starts = Array.from({ length: 12 }, (_, at) => at * 5);
  assertEquals([...new Set(asked.map(firstOf))], starts, "no byte is sent twice");
  assertEquals([world.refreshes(), pauses], [11, []]);
  assertEquals(seen.slice(-2), [60, 60]);
});

Deno.test("download() survives a connection that is closed", async () => {
  let count = 0;
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: "1"\r\n\r\n';
  const rest = 'HTTP/1.1 206 Partial\r\netag: "1"\r\ncontent-range: bytes 5-9/10\r\n' +
    "content-length: 5\r\nconnection: close\r\n\r\n56789";
  await using server = serveRaw(async (connection) => {
    await readText(connection);
    const text = count++ === 0 ? `${head}01234` : rest;
    await connection.write(new TextEncoder().encode(text));
  });
  assertEquals([await savedFrom(server.origin), count], ["0123456789", 2]);
});

test("download() resumes an interrupted file and requests only the rest", {}, async (world) => {
  const { asked, get, folder } = world;
  await leavePart(world);
  const left = namesIn(folder);
  assertMatch(left.join(), /^data\.bin\.([0-9a-f]{8})\.note,data\.bin\.\1\.part$/);
  assertEquals(Deno.statSync(`${folder}/${left[1]}`).size, 20);
  const saved = await get();
  // The last byte is requested again: the .part file could already be complete.
  assertEquals([saved.bytes, saved.resumedFrom], [60, 19]);
  const headers = asked.at(-1)?.headers;
  assertEquals([headers?.get("range"), headers?.get("if-range")], ["bytes=19-", '"one"']);
  assertWhole(world);
});

test("download() starts over with resume: false", {}, async (world) => {
  await leavePart(world);
  assertEquals((await world.get({ resume: false })).resumedFrom, 0);
  assertWhole(world);
});

for (const note of ["", '"two"', '"on', '"one"\r\na: b', 'W/"one"']) {
  test(
    `download() starts over if its .note contains ${JSON.stringify(note)}`,
    {},
    async (world) => {
      const { get, folder } = world;
      await leavePart(world);
      const name = namesIn(folder).find((name) => name.endsWith(".note"));
      Deno.writeTextFileSync(`${folder}/${name}`, note);
      assertEquals((await get()).resumedFrom, 0);
      assertWhole(world);
    },
  );
}

const interruptions: [what: string, instead: () => Response][] = [
  ["is preparing the file", () => answer(202)],
  ["returns a login page instead of the rest", loginPage],
];
for (const [what, instead] of interruptions) {
  test(`download() keeps its .part file if the API ${what}`, {}, async (world) => {
    await leavePart(world);
    world.api.instead = instead;
    assertEquals((await rejection(world.get())).code, "API_BODY");
    delete world.api.instead;
    assertEquals((await world.get()).resumedFrom, 19);
    assertWhole(world);
  });
}

function loginPage(): Response {
  const page = '<!DOCTYPE html><title>Company</title><input type="password">';
  return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
}

test("download() keeps an existing file and sends nothing", {}, async (world) => {
  const { asked, get, file } = world;
  await Deno.writeTextFile(file, "of yesterday");
  assertEquals((await rejection(get({ ifExists: "error" }))).code, "FILE_EXISTS");
  assertEquals([await Deno.readTextFile(file), asked.length], ["of yesterday", 0]);
  const kept = await get();
  assertEquals([kept.kept, kept.bytes, kept.resumedFrom, asked.length], [true, 12, 0, 0]);
  assertEquals((await get({ ifExists: "replace" })).kept, undefined);
  assertWhole(world);
});

test("download() does not replace a file that appears while it runs", {
  dropAfter: 20,
}, async ({ api, get, file, folder }) => {
  api.beforeDrop = () => Deno.writeTextFile(file, "mine");
  assertEquals((await get()).kept, true);
  assertEquals(await Deno.readTextFile(file), "mine");
  assertEquals(namesIn(folder), ["data.bin"]);
});

test("simultaneous downloads to the same file save it intact", {}, async (world) => {
  const { asked, get } = world;
  const both = [1, 2].map(() => get({ ifExists: "error" }));
  assertEquals((await rejection(Promise.all(both))).code, "FILE_EXISTS");
  assertEquals(asked.length, 1);
  await Promise.all([1, 2, 3].map(() => get({ ifExists: "replace" })));
  assertWhole(world);
});

test("a download waits for another one of the same file, with growing pauses", {
  dropAfter: 20,
}, async (world) => {
  const { api, get, file } = world;
  const [free, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  api.beforeDrop = () => {
    begun.resolve();
    return free.promise;
  };
  const first = get();
  await begun.promise;
  const pauses: number[] = [];
  const other = world.another({
    sleep: (ms) => {
      if (pauses.push(ms) === 7) free.resolve();
      return new Promise((resolve) => setTimeout(resolve, 0));
    },
  });
  await other.login();
  assertEquals((await other.download("/files/data?day=1", file)).kept, true);
  assertEquals((await first).bytes, 60);
  assertEquals(pauses.slice(0, 7), [100, 200, 400, 800, 1_600, 2_000, 2_000]);
});

const SIGNATURE = "c2lnbmF0dXJlLW9mLXRoaXMtYWRkcmVzcw";

test("download() requests a new presigned URL for each request, and never shows it", {
  dropAfter: 20,
}, async (world) => {
  const { api, asked, session, file } = world;
  let given = 0;
  // Each address is valid for one request.
  const used = new Set<string>();
  api.instead = ({ url }) => {
    if (!url.startsWith("https://files.example/")) {
      return answer(302, { location: `https://files.example/f?sig=${SIGNATURE}${++given}` });
    }
    return given > 3 || used.has(url) ? answer(403) : void used.add(url);
  };
  await session.download("/files/data", file);
  assertWhole(world);
  const tokens = asked.filter(({ url }) => url.includes(SIGNATURE))
    .map(({ headers }) => headers.get("authorization"));
  assertEquals(tokens, [null, null, null]);
  const error = await rejection(session.download("/files/data", `${file}.2`)) as ApiError;
  assertEquals([error.name, error.status, given], ["ApiError", 403, 4]);
  assertEquals(Deno.inspect(error).includes(SIGNATURE.slice(0, 8)), false);
  await assertHides(error, "the error");
});

const right = `sha-256=:${sha256(CONTENT)}:`;
const digests: [digest: string, isRight: boolean][] = [
  [`unixsum=:AA==:, ${right}`, true],
  [`sha-256=:${sha256(CONTENT.subarray(1))}:`, false],
  // This is not the base64 of 32 bytes, so it says nothing about the file.
  ["sha-256=:AAAA:", true],
];
for (const [digest, isRight] of digests) {
  const what = isRight ? "saves a file with" : "rejects a file that does not match";
  test(`download() ${what} the header repr-digest: ${digest}`, {
    headers: { "repr-digest": digest },
    dropAfter: 40,
  }, async (world) => {
    const outcome = await world.get().then(() => "saved", ({ code }) => code);
    const saved = isRight ? ["saved", ["data.bin"]] : ["DOWNLOAD_BROKEN", []];
    assertEquals([outcome, namesIn(world.folder)], saved);
  });
}

const encoded = await gzipped(crypto.getRandomValues(new Uint8Array(60_000)));
const unrepeatable: [what: string, behavior: Partial<Behavior>, init?: RequestInit][] = [
  ["a file without an ETag", { etag: "" }],
  ["a file with a weak ETag", { etag: 'W/"one"' }],
  [
    "an encoded file",
    { headers: { "content-encoding": "gzip" }, content: encoded, dropAfter: 50_000 },
  ],
  ["the response to a POST", {}, { method: "POST" }],
];
for (const [what, behavior, init = {}] of unrepeatable) {
  test(`download() does not retry an interrupted download of ${what}`, {
    dropAfter: 20,
    ...behavior,
  }, async ({ asked, get, folder }) => {
    const { code, fix } = await rejection(get({ init })) as ApiError;
    assertEquals([code, asked.length, namesIn(folder)], ["DOWNLOAD_BROKEN", 1, []]);
    assertEquals(fix.includes("resume"), false, fix);
  });
}

async function gzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).bytes();
}

test("download() gives up after six requests in a row without new data", {
  dropAfter: 20,
}, async ({ api, asked, get, pauses }) => {
  api.beforeDrop = () => void (api.dropAfter = 0);
  const error = await rejection(get());
  assertMatch(
    error.message,
    /broke off, 6 times in a row after 20 bytes of 60 bytes\); run it again to resume it/,
  );
  assertEquals(error.cause, { name: "TypeError" });
  assertEquals([asked.length, pauses.length], [7, 5]);
});

const POST = { method: "POST" };
const refusals: [
  what: string,
  response: () => Response,
  RequestInit,
  times: number,
  fix: RegExp,
][] = [
  ["six times if the API only responds with 503", () => answer(503), {}, 6, /try again/],
  ["once, as a POST, if the API responds with 503", () => answer(503), POST, 1, /try again/],
  ["six times while the API is preparing the file", () => answer(202), {}, 6, /try again/],
  ["once, as a POST, while the API is preparing the file", () => answer(202), POST, 1, /read it/],
  ["once if it is to wait long", () => answer(202, wait(301)), {}, 1, /wait 301 seconds/],
];
for (const [what, instead, init, times, fix] of refusals) {
  test(`download() sends its request ${what}`, { instead }, async ({ asked, get, folder }) => {
    const error = await rejection(get({ init })) as ApiError;
    assertEquals(error.code, error.status === 202 ? "API_BODY" : "API_STATUS");
    assertMatch(error.fix, fix);
    assertEquals([asked.length, namesIn(folder)], [times, []]);
  });
}

function wait(seconds: number): Record<string, string> {
  return { "retry-after": `${seconds}` };
}

test("download() waits while the API is preparing the file", {
  instead: (_, count) => [answer(202, wait(7)), answer(202), answer(202, wait(0))][count - 1],
}, async (world) => {
  await world.get();
  assertWhole(world);
  const [asked, ...own] = world.pauses;
  assertEquals([asked, own.map((ms) => ms >= 500)], [7_000, [true, true]]);
});

test("download() ends at once when its signal aborts, and the next call resumes the file", {
  dropAfter: 20,
}, async (world) => {
  const { api, get } = world;
  const reached = Promise.withResolvers<void>();
  api.beforeDrop = () => {
    reached.resolve();
    return new Promise(() => {});
  };
  const own = new AbortController();
  const running = get({ signal: own.signal });
  await reached.promise;
  own.abort(new Error("enough"));
  assertEquals((await rejection(running)).message, "enough");
  api.dropAfter = Infinity;
  assertEquals((await get()).resumedFrom, 19);
  assertWhole(world);
});

Deno.test("download() decodes a response with content-encoding GZIP", async () => {
  const asked: (string | null)[] = [];
  const rows = await gzipped(new TextEncoder().encode("rows"));
  await using server = serveLocal(({ headers }) => {
    asked.push(headers.get("accept-encoding"));
    return new Response(rows, { headers: { "content-encoding": "GZIP" } });
  });
  // download() replaces this header.
  const init = { headers: { "accept-encoding": "br" } };
  assertEquals([await savedFrom(server.origin, init), asked], ["rows", ["identity"]]);
});

test("download() refuses a response with an unknown content-encoding", {
  headers: { "content-encoding": "zstd" },
}, async ({ get, folder }) => {
  assertEquals([(await rejection(get())).code, namesIn(folder)], ["API_BODY", []]);
});

test("the contentType that download() returns hides a token that the API repeats there", {
  instead: ({ headers }) =>
    new Response("rows", { headers: { "content-type": headers.get("authorization") ?? "" } }),
}, async ({ get }) => {
  assertEquals((await get()).contentType, "bearer [secret]");
});

test(
  "download() rejects an unusable path or a wrong option before it sends anything",
  {},
  async (world) => {
    const { asked, session, folder, file } = world;
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
      failures.push([
        ["/x", `${folder}/${"語".repeat(81)}`],
        "ConfigError",
        /too long/,
      ]);
    }
    for (const [values, name, message] of failures) {
      const error = await rejection(loose(...values));
      assertEquals(error.name, name, `${error}`);
      assertMatch(error.message, message);
    }
    assertEquals([asked.length, namesIn(folder)], [0, ["file"]]);
  },
);

/** Makes a function of the runtime fail until the result is disposed of. */
function failing<T extends object>(target: T, name: keyof T & string, error: Error): Disposable {
  const real = target[name];
  const fail = () => {
    throw error;
  };
  Object.assign(target, { [name]: fail });
  return { [Symbol.dispose]: () => void Object.assign(target, { [name]: real }) };
}

const coded = (code: string, message: string) => Object.assign(new Error(message), { code });
/** The texts are in German, because Windows localizes the texts of errors. */
const diskErrors: [what: string, error: Error, shown: RegExp][] = [
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
    /^ConfigError: .*Invalid argument \(os error 22\); choose another file/,
  ],
  [
    "a bug in this module",
    new TypeError("x is not a function"),
    /^TypeError: x is not a function$/,
  ],
];
for (const [what, error, shown] of diskErrors) {
  test(`download() shows why a file cannot be saved (cause: ${what})`, {}, async ({ get }) => {
    using _ = failing(Deno.FsFile.prototype, "syncData", error);
    assertMatch(`${await rejection(get())}`, shown);
  });
}

test("download() closes the connection if the disk is full", {}, async ({ api, get }) => {
  let isClosed = false;
  api.instead = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(CONTENT),
        cancel: () => void (isClosed = true),
      }),
    );
  const full = coded("ENOSPC", "No space left (os error 28)");
  using _ = failing(Deno.FsFile.prototype, "writeSync", full);
  assertEquals([(await rejection(get())).code, isClosed], ["FILE", true]);
});

test("download() replaces a file on a disk that refuses chmod", {}, async (world) => {
  Deno.writeTextFileSync(world.file, "old");
  const refusal = new Deno.errors.PermissionDenied("Operation not permitted (os error 1)");
  using _ = failing(Deno, "chmodSync", refusal);
  await world.get({ ifExists: "replace" });
  assertWhole(world);
});
