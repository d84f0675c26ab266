import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import {
  type ApiError,
  ConfigError,
  createSession,
  type Download,
  type DownloadOptions,
  type Session,
} from "../../mod.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { assertHides } from "../support/canaries.ts";
import { inFolder } from "../support/child_deno.ts";
import { rejection, signedIn } from "../support/portless.ts";
import {
  contentOf,
  type FileServer,
  type FileServerOptions,
  startFileServer,
} from "../support/file_server.ts";

const WINDOWS = Deno.build.os === "windows";

interface World {
  readonly server: FileServer;
  readonly sandbox: Sandbox;
  readonly session: Session;
  readonly folder: string;
  readonly file: string;
  /** The pauses between requests, in milliseconds. */
  readonly pauses: number[];
  get(options?: DownloadOptions): Promise<Download>;
}

async function inWorld(
  options: Partial<FileServerOptions>,
  use: (world: World) => Promise<void>,
): Promise<void> {
  await using sandbox = await startSandbox();
  await using server = startFileServer({ content: contentOf(300_000), ...options });
  await inFolder(async (folder) => {
    const pauses: number[] = [];
    const session = createSession({
      ...sandbox.settings,
      envFile: false,
      apiBaseUrl: server.origin,
      sleep: (ms) => {
        pauses.push(ms);
        return new Promise((resolve) => setTimeout(resolve, 0));
      },
    });
    await session.login();
    const file = `${folder}/data.bin`;
    const get = (more?: DownloadOptions) => session.download("/files/data?day=1", file, more);
    await use({ server, sandbox, session, folder, file, pauses, get });
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

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** Fails without printing megabytes. */
function assertWhole({ file, server }: World): void {
  assertEquals(sha256(Deno.readFileSync(file)), sha256(server.options.content));
}

const total = (server: FileServer) => server.asked.reduce((sum, { sent }) => sum + sent, 0);

Deno.test("a download of 60 MB survives dropped connections and expired tokens", () => {
  const spent = new Set<string>();
  let previous = "";
  const content = contentOf(60_000_000);
  return inWorld({
    content,
    dropAfter: 5_000_000,
    headers: { "repr-digest": `sha-256=:${sha256(content)}:` },
    // Each connection outlives its token.
    instead: ({ authorization = "" }) => {
      if (authorization !== previous) spent.add(previous);
      previous = authorization;
      if (spent.has(authorization)) return "401 Unauthorized";
      spent.add(authorization);
      return undefined;
    },
  }, async (world) => {
    const { server, sandbox, get, folder, pauses } = world;
    const seen: number[] = [];
    const saved = await get({ onProgress: ({ bytes, total }) => seen.push(bytes, total ?? 0) });
    assertWhole(world);
    assertEquals([saved.bytes, saved.resumedFrom], [60_000_000, 0]);
    assert(total(server) <= 1.02 * 60_000_000, `${total(server)} bytes were sent`);
    const refreshes = sandbox.requests.filter(({ authFlow }) => authFlow === "REFRESH_TOKEN_AUTH");
    assertEquals(refreshes.length, 11);
    assertEquals(pauses, []);
    assertEquals(seen.slice(-2), [60_000_000, 60_000_000]);
    assertEquals(filesIn(folder), ["data.bin"]);
  });
});

test(
  "a later call resumes after an interruption, and requests only the rest",
  {},
  async (world) => {
    const { server, get, folder, file } = world;
    await leavePart(world);
    const left = filesIn(folder);
    assertMatch(left.join(), /^data\.bin\.([0-9a-f]{8})\.note,data\.bin\.\1\.part$/);
    assertEquals(Deno.statSync(`${folder}/${left[1]}`).size, 100_000);
    const saved = await get();
    assertEquals([saved.bytes, saved.resumedFrom], [300_000, 100_000]);
    const { range, ifRange } = server.asked.at(-1) ?? {};
    assertEquals([range, ifRange], ["bytes=100000-", `"one"`]);
    assertWhole(world);
    assertEquals(filesIn(folder), ["data.bin"]);

    if (!WINDOWS) assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o666 & ~Deno.umask());
  },
);

test(
  "with resume: false, or a server that ignores ranges, a file is fetched from the first byte",
  {},
  async (world) => {
    for (const options of [{ resume: false }, {}]) {
      await leavePart(world);
      if (options.resume !== false) world.server.options.etag = "";
      assertEquals((await world.get({ ...options, ifExists: "replace" })).resumedFrom, 0);
      assertWhole(world);
      assertEquals(filesIn(world.folder), ["data.bin"]);
    }
  },
);

test(
  "a part with an invalid note is downloaded again",
  {},
  async (world) => {
    const { get, folder } = world;
    const [same, other] = [`"one"`, `"two"`].map((etag) => ({ validator: etag, etag }));
    for (const each of [null, other, { ...same, total: 9 }]) {
      await leavePart(world);
      const note = `${folder}/${filesIn(folder).find((name) => name.endsWith(".note"))}`;
      Deno.writeTextFileSync(note, JSON.stringify(each));
      assertEquals((await get({ ifExists: "replace" })).resumedFrom, 0, Deno.inspect(each));
      assertWhole(world);
    }
    assertEquals(filesIn(folder), ["data.bin"]);
  },
);

test(
  "download() keeps an existing file and sends nothing, so that a cell can be run again",
  {},
  async (world) => {
    const { server, get, file, folder } = world;
    await Deno.writeTextFile(file, "of yesterday");
    const error = await rejection(get({ ifExists: "error" }));
    assertInstanceOf(error, ConfigError);
    assertMatch(error.message, /data\.bin: it already exists; pass ifExists: "replace", or choose/);
    assertEquals([await Deno.readTextFile(file), server.asked.length], ["of yesterday", 0]);
    const kept = await get();
    assertEquals([kept.kept, kept.bytes, kept.resumedFrom, server.asked.length], [true, 12, 0, 0]);
    assertEquals((await get({ ifExists: "replace" })).kept, undefined);
    assertWhole(world);
    assertEquals(filesIn(folder), ["data.bin"]);
  },
);

test(
  "download() does not replace a file that appears while it runs",
  { dropAfter: 100_000 },
  async ({ server, get, file, folder }) => {
    server.options.beforeDrop = () => Deno.writeTextFile(file, "mine");
    assertEquals((await get()).kept, true);
    assertEquals(await Deno.readTextFile(file), "mine");
    assertEquals(filesIn(folder), ["data.bin"]);
  },
);

test(
  "simultaneous downloads of one file do not disturb each other",
  {},
  async (world) => {
    const { server, get, folder } = world;
    const error = { ifExists: "error" } as const;
    const refused = (await Promise.allSettled([get(error), get(error)]))
      .filter((each) => each.status === "rejected");
    assertEquals(refused.map(({ reason }) => reason.code), ["FILE_EXISTS"]);
    assertEquals([server.asked.length, world.pauses.length > 0], [1, true]);
    await Promise.all([1, 2, 3].map(() => get({ ifExists: "replace" })));
    assertWhole(world);
    assertEquals(filesIn(folder), ["data.bin"]);
  },
);

const SIGNATURE = "c2lnbmF0dXJlLW9mLXRoaXMtYWRkcmVzcw";

test(
  "an expired presigned address is replaced by a new one, and shown nowhere",
  { dropAfter: 100_000 },
  async (world) => {
    const { server, file } = world;
    await using api = startFileServer({ content: new Uint8Array() });
    let given = 0;
    api.options.instead = () =>
      `302 Found\r\nlocation: ${server.origin}/f?sig=${SIGNATURE}${++given}`;
    // Each address is good for one request, and the first one given for none.
    const used = new Set<string>(["1"]);
    server.options.instead = ({ query }) => {
      const name = query.slice(-1);
      return used.has(name) ? "403 Expired" : (used.add(name), undefined);
    };
    const address = `${api.origin}/files/data`;
    const other = createSession({
      ...world.sandbox.settings,
      envFile: false,
      apiBaseUrl: api.origin,
    });
    await other.login();
    await other.download(address, file);
    assertWhole(world);
    assertEquals(server.asked.map(({ authorization }) => authorization), Array(4).fill(undefined));
    server.options.instead = ({ query }) => `403 Never\r\nx-request-id: ${query}`;
    const error = await rejection(other.download(address, `${file}.2`)) as ApiError;
    assertEquals([error.name, error.status, error.url], ["ApiError", 403, address]);
    assertEquals(Deno.inspect(error).includes(SIGNATURE.slice(0, 8)), false, `${error}`);
    assertEquals(given, 6);
    await assertHides(error, "the error");
  },
);

const content = contentOf(300_000);
const right = `sha-256=:${sha256(content)}:`;

const digests: [headers: Record<string, string>, isRight: boolean][] = [
  [{ "repr-digest": `unixsum=:AA==:, ${right}`, "content-md5": "AAAA" }, true],
  [{ "repr-digest": `sha-256=:${sha256(contentOf(5))}:` }, false],
  [{ "content-md5": createHash("md5").update(content).digest("base64") }, true],
  [{ "content-md5": "AAAAAAAAAAAAAAAAAAAAAA==" }, false],
];
for (const [headers, isRight] of digests) {
  test(`a digest is checked, ${isRight ? "right" : "wrong"}: ${Object.keys(headers)}`, {
    headers,
    dropAfter: 200_000,
  }, async (world) => {
    if (isRight) {
      await world.get();
      return assertWhole(world);
    }
    const error = await rejection(world.get());
    assertEquals([error.code, filesIn(world.folder)], ["DOWNLOAD_BROKEN", []]);
  });
}

const FINAL: [string, string, RequestInit][] = [
  ["a file without an ETag", "", {}],
  ["the answer to a POST", `"one"`, { method: "POST" }],
];
for (const [what, etag, init] of FINAL) {
  test(
    `${what} is not begun again by itself, and leaves nothing`,
    { etag, dropAfter: 100_000 },
    async ({ server, get, folder }) => {
      const error = await rejection(get({ init }));
      assertEquals([error.name, error.code], ["ApiError", "DOWNLOAD_BROKEN"]);
      assertMatch(error.message, /after 100\.0 kB of 300\.0 kB\); run it again/);
      assertEquals([server.asked.length, filesIn(folder)], [1, []]);
    },
  );
}

test(
  "download() asks a server that sends nothing more six times, with pauses",
  { dropAfter: 100_000 },
  async ({ server, get, pauses, folder }) => {
    server.options.beforeDrop = () => Promise.resolve(void (server.options.dropAfter = 0));
    const error = await rejection(get());
    assertMatch(
      error.message,
      /broke off, 6 times in a row after 100\.0 kB of 300\.0 kB\); run it again to resume it/,
    );
    assertEquals(error.cause, { name: "TypeError" });
    assertEquals([server.asked.length, pauses.length], [7, 5]);

    assertEquals(filesIn(folder).length, 2);
    server.options.dropAfter = Infinity;
    assertEquals((await get()).resumedFrom, 100_000);
  },
);

test("a login page instead of the file is not saved, and the part is kept for resuming", {
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
  assertEquals((await get()).resumedFrom, 100_000);
  assertWhole(world);
});

test("a response without a body leaves no file", {}, async ({ server, get, folder }) => {
  server.options.instead = () => "204 No Content";
  assertMatch((await rejection(get())).message, /204\): it has no body, so nothing was saved/);
  assertEquals(filesIn(folder), []);
});

test(
  "a signal ends a download at once, and the next call resumes it",
  { dropAfter: 100_000 },
  async (world) => {
    const { server, get } = world;
    const reached = Promise.withResolvers<void>();
    const stalled = Promise.withResolvers<void>();
    server.options.beforeDrop = () => stalled.promise;
    const own = new AbortController();
    const running = get({
      signal: own.signal,
      // The session's clock makes each piece a separate report.
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

function part(text: string, range: string, headers: Record<string, string> = {}): Response {
  const all = { etag: `"one"`, "content-range": `bytes ${range}`, ...headers };
  return new Response(text, { status: 206, headers: all });
}

Deno.test("a response that ends early, or contains another part, never saves half a file", async () => {
  const half = () => new Response("half", { headers: { etag: `"one"`, "content-length": "8" } });
  const packed = part("????", "4-7/8", { "content-encoding": "gzip" });
  const answers = [half(), packed, half(), part("gain", "3-7/8"), half(), part("gain", "4-7/8")];
  await using world = await signedIn({ api: (_, count) => answers[count - 1] ?? new Response() });
  await inFolder(async (folder) => {
    const { file } = await world.session.download("/files/data", `${folder}/data`);
    assertEquals(Deno.readTextFileSync(file), "halfgain");
    assertEquals(filesIn(folder), ["data"]);
  });
});

const encodings: [string, isDecoded: boolean][] = [
  ["GZIP", true],
  ["deflate", false],
  ["gzip, gzip", false],
];
for (const [encoding, isDecoded] of encodings) {
  test(
    `content-encoding ${encoding} is ${isDecoded ? "decoded" : "never saved as the file"}`,
    {},
    async ({ server, get, file, folder }) => {
      const stream = new Blob(["rows"]).stream().pipeThrough(new CompressionStream("gzip"));
      server.options.content = await new Response(stream).bytes();
      server.options.headers = { "content-encoding": encoding };
      // The download sets this header itself.
      const getting = get({ init: { headers: { "accept-encoding": "br" } } });
      if (isDecoded) {
        assertEquals((await getting).bytes, 4);
        assertEquals(await Deno.readTextFile(file), "rows");
      } else {
        const error = await rejection(getting);
        assertEquals([error.code, filesIn(folder)], ["API_BODY", []]);
      }
      assertEquals(server.asked[0]?.acceptEncoding, "identity");
    },
  );
}

Deno.test("a content type that repeats the token is withheld", async () => {
  await using world = await signedIn({
    api: ({ headers }) =>
      new Response("rows", { headers: { "content-type": headers.get("authorization") ?? "" } }),
  });
  await inFolder(async (folder) => {
    const { contentType } = await world.session.download("/files/data", `${folder}/data`);
    assertMatch(contentType ?? "", /^\[withheld/);
  });
});

test(
  "a file that cannot be saved, or a wrong request, is an error before anything is sent",
  {},
  async ({ server, session, folder, file }) => {
    const before = server.asked.length;
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
      [["/x", file, { init: { headers: { range: "bytes=1-" } } }], "TypeError", /whole files/],
    ];
    // On Windows the length of the whole path is limited, not that of a name in bytes.
    if (!WINDOWS) {
      failures.push([["/x", `${folder}/${"語".repeat(81)}`], "ConfigError", /name is too long/]);
    }
    for (const [values, name, message] of failures) {
      const error = await rejection(loose(...values));
      assertEquals(error.name, name, `${error}`);
      assertMatch(error.message, message);
    }
    assertEquals([server.asked.length - before, filesIn(folder)], [0, ["file"]]);
  },
);

test("a folder that is missing is made", {}, async ({ session, folder }) => {
  const file = `${folder}/data/2025/a b.csv`;
  const { bytes } = await session.download("/files/data", file);
  assertEquals(Deno.statSync(file).size, bytes);
  assertEquals(filesIn(`${folder}/data/2025`), ["a b.csv"]);
});

const diskErrors: [code: string, error: Error, why: RegExp][] = [
  [
    "EACCES",
    new Deno.errors.PermissionDenied("Verweigert (os error 5)"),
    /permission to write there/,
  ],
  ["ENOSPC", new Error("Nicht genug Speicherplatz. (os error 112)"), /the disk is full/],
  [
    "ENOENT",
    new Error("Die Syntax ist falsch. (os error 123)"),
    /Windows does not allow this name/,
  ],
];
for (const [code, error, why] of diskErrors) {
  test(
    `the reason why a file cannot be saved is recognized in every language: ${why.source}`,
    {},
    async ({ get }) => {
      const { syncData } = Deno.FsFile.prototype;
      Deno.FsFile.prototype.syncData = () => Promise.reject(Object.assign(error, { code }));
      try {
        assertMatch(`${await rejection(get())}`, why);
      } finally {
        Deno.FsFile.prototype.syncData = syncData;
      }
    },
  );
}
