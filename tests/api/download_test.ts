import { assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import type { ApiError, Download, DownloadOptions } from "../../mod.ts";
import { shownBy } from "../support/canaries.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { readText, serveLocal, serveRaw } from "../support/local_server.ts";
import { type Portless, rejection, signedIn } from "../support/portless.ts";
import { signedInAt } from "./on_port.ts";

/** 60 bytes, of which no two are the same. */
const CONTENT = Uint8Array.from({ length: 60 }, (_, at) => at);

/** How the API behaves. A test may change this at any time. */
interface Behavior {
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
  const api = { etag: '"one"', headers: {}, dropAfter: Infinity, ...behavior };
  const asked: Request[] = [];
  function respond(request: Request): Response {
    asked.push(request);
    const instead = api.instead?.(request, asked.length);
    if (instead) return instead;
    const { etag, headers } = api;
    const isSame = (request.headers.get("if-range") ?? etag) === etag;
    const start = isSame ? firstOf(request) : 0;
    const piece = CONTENT.slice(start, start + api.dropAfter);
    const body = ReadableStream.from((async function* () {
      if (piece.length > 0) yield piece;
      if (start + piece.length === 60) return;
      await api.beforeDrop?.();
      throw new TypeError("The connection was closed");
    })());
    const all = new Headers({ ...headers, etag, "content-length": `${60 - start}` });
    if (start > 0) all.set("content-range", `bytes ${start}-59/60`);
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
async function savedFrom(origin: string): Promise<string> {
  await using world = await signedInAt(origin);
  return await inFolder(async (folder) => {
    await world.session.download("/x", `${folder}/x`);
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
  const headers = ["range", "if-range", "accept-encoding"]
    .map((name) => asked.at(-1)?.headers.get(name));
  assertEquals(headers, ["bytes=19-", '"one"', "identity"]);
  assertWhole(world);
});

test("download() starts over with resume: false", {}, async (world) => {
  await leavePart(world);
  assertEquals((await world.get({ resume: false })).resumedFrom, 0);
  assertWhole(world);
});

for (const note of ["", '"two"', '"one"\r\na: b']) {
  const name = `download() starts over if its .note contains ${JSON.stringify(note)}`;
  test(name, {}, async (world) => {
    await leavePart(world);
    const left = namesIn(world.folder).find((name) => name.endsWith(".note"));
    Deno.writeTextFileSync(`${world.folder}/${left}`, note);
    assertEquals((await world.get()).resumedFrom, 0);
    assertWhole(world);
  });
}

test(
  "download() keeps its .part file if the API returns a login page instead of the rest",
  {},
  async (world) => {
    await leavePart(world);
    const headers = { "content-type": "text/html" };
    world.api.instead = () => new Response("<!DOCTYPE html><title>Company</title>", { headers });
    assertEquals((await rejection(world.get())).code, "API_BODY");
    delete world.api.instead;
    assertEquals((await world.get()).resumedFrom, 19);
    assertWhole(world);
  },
);

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

const SIGNATURE = "c2lnbmF0dXJlLW9mLXRoaXMtYWRkcmVzcw";

test("download() requests a new presigned URL for each request, and never shows it", {
  dropAfter: 20,
}, async (world) => {
  const { api, asked, get, folder } = world;
  let given = 0;
  // Each address is valid for one request.
  const used = new Set<string>();
  api.instead = ({ url }) => {
    if (!url.startsWith("https://files.example/")) {
      return answer(302, { location: `https://files.example/f?sig=${SIGNATURE}${++given}` });
    }
    return given > 2 || used.has(url) ? answer(403) : void used.add(url);
  };
  const error = await rejection(get()) as ApiError;
  assertEquals([error.name, error.status, given], ["ApiError", 403, 3]);
  assertEquals((await shownBy(error)).includes(SIGNATURE), false);
  assertEquals(namesIn(folder).length, 2);
  const tokens = asked.filter(({ url }) => url.includes(SIGNATURE))
    .map(({ headers }) => headers.get("authorization"));
  assertEquals(tokens, [null, null, null]);
});

for (const isRight of [true, false]) {
  const what = isRight ? "saves a file that matches" : "rejects a file that does not match";
  test(`download() ${what} the header repr-digest`, {
    headers: {
      "repr-digest": `unixsum=:AA==:, sha-256=:${sha256(CONTENT.slice(isRight ? 0 : 1))}:`,
    },
    dropAfter: 40,
  }, async ({ get, folder }) => {
    const outcome = await get().then(() => "saved", ({ code }) => code);
    const wanted = isRight ? ["saved", ["data.bin"]] : ["DOWNLOAD_BROKEN", []];
    assertEquals([outcome, namesIn(folder)], wanted);
  });
}

const unrepeatable: [what: string, etag: string, init: RequestInit][] = [
  ["a file without an ETag", "", {}],
  ["a file with a weak ETag", 'W/"one"', {}],
  ["the response to a POST", '"one"', { method: "POST" }],
];
for (const [what, etag, init] of unrepeatable) {
  test(`download() does not retry an interrupted download of ${what}`, {
    dropAfter: 20,
    etag,
  }, async ({ asked, get, folder }) => {
    const { code, fix } = await rejection(get({ init })) as ApiError;
    assertEquals([code, asked.length, namesIn(folder)], ["DOWNLOAD_BROKEN", 1, []]);
    assertEquals(fix.includes("resume"), false, fix);
  });
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
  assertEquals([asked.length, pauses.length], [7, 5]);
});

const refusals: [status: number, method: string, times: number, code: string][] = [
  [503, "GET", 6, "API_STATUS"],
  [503, "POST", 1, "API_STATUS"],
  [202, "GET", 6, "API_BODY"],
  [202, "POST", 1, "API_BODY"],
];
for (const [status, method, times, code] of refusals) {
  test(`download() sends ${times} × ${method} if the API only responds with ${status}`, {
    instead: () => answer(status),
  }, async ({ asked, get, folder }) => {
    assertEquals((await rejection(get({ init: { method } }))).code, code);
    assertEquals([asked.length, namesIn(folder)], [times, []]);
  });
}

test("download() waits while the API is preparing the file", {
  instead: (_, count) => [answer(202, { "retry-after": "7" }), answer(202)][count - 1],
}, async (world) => {
  await world.get();
  assertWhole(world);
  const [asked, own = 0] = world.pauses;
  assertEquals([asked, own >= 500], [7_000, true]);
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

for (const [encoding, format] of [["GZIP", "gzip"], ["br", "brotli"]] as const) {
  Deno.test(`download() decodes a response with content-encoding ${encoding}, although it asked for none`, async () => {
    const body = new Blob(["rows"]).stream().pipeThrough(new CompressionStream(format));
    const rows = await new Response(body).bytes();
    await using server = serveLocal(() =>
      new Response(rows, { headers: { "content-encoding": encoding } })
    );
    assertEquals(await savedFrom(server.origin), "rows");
  });
}

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

test("download() rejects an unusable path or a wrong option", {}, async (world) => {
  const { asked, session, folder, file } = world;
  const loose = session.download as (...values: unknown[]) => Promise<Download>;
  const failures: [unknown[], string, RegExp][] = [
    [["/x", `${folder}/new/`], "ConfigError", /new\/: it is a folder; choose a file/],
    [["/x", file, { ifExists: "no" }], "TypeError", /must be "keep", "error" or "replace"/],
    [["/x", file, { overwrite: true }], "TypeError", /no option "overwrite"/],
  ];
  for (const [values, name, message] of failures) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, name, `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals([asked.length, namesIn(folder)], [0, []]);
});

/** Makes a function of the runtime fail until the result is disposed of. */
function failing<T extends object>(target: T, name: keyof T & string, error: Error): Disposable {
  const real = target[name];
  const fail = () => {
    throw error;
  };
  Object.assign(target, { [name]: fail });
  return { [Symbol.dispose]: () => void Object.assign(target, { [name]: real }) };
}

test(
  "download() says that the disk is full, whatever the language of the system is",
  {},
  async ({ get }) => {
    const error = Object.assign(new Error("Zu wenig Platz. (os error 112)"), { code: "ENOSPC" });
    using _ = failing(Deno.FsFile.prototype, "syncData", error);
    const { code, message } = await rejection(get());
    assertEquals(code, "FILE");
    assertMatch(message, /the disk is full/);
  },
);

test("the error of download() without a permission names the flag", {}, async ({ get }) => {
  using _ = failing(Deno.FsFile.prototype, "syncData", new Deno.errors.NotCapable());
  const { code, message } = await rejection(get());
  assertEquals(code, "PERMISSION");
  assertMatch(message, /--allow-\S+ is missing/);
});

test("download() replaces a file on a disk that refuses chmod", {}, async (world) => {
  Deno.writeTextFileSync(world.file, "old");
  const refusal = new Deno.errors.PermissionDenied("Operation not permitted (os error 1)");
  using _ = failing(Deno, "chmodSync", refusal);
  await world.get({ ifExists: "replace" });
  assertWhole(world);
});
