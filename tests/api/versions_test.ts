import { assertEquals, assertMatch } from "@std/assert";
import type { DownloadOptions } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { type Portless, portless, rejection } from "../support/portless.ts";

const OLD = "0123456789";
const NEW = "abcdefghij";
const HALF = 5;
const DAY = "Sun, 01 Nov 2026 10:00:00 GMT";
const NEXT_DAY = "Mon, 02 Nov 2026 10:00:00 GMT";
const TODAY = "Sat, 21 Nov 2026 10:00:00 GMT";

/** The first half of the old version, and then the connection breaks. */
function firstHalf(validators: Record<string, string>): Response {
  const pieces = [new TextEncoder().encode(OLD.slice(0, HALF))];
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.pop();
      if (piece) controller.enqueue(piece);
      else controller.error(new TypeError("closed"));
    },
  }, { highWaterMark: 0 });
  const headers = { ...validators, date: TODAY, "content-length": `${OLD.length}` };
  return new Response(body, { headers });
}

/** The rest of a version, whatever `If-Range` asked for. */
function rest(text: string, start: number, validators: Record<string, string>): Response {
  const range = `bytes ${start}-${text.length - 1}/${text.length}`;
  const headers = { ...validators, date: TODAY, "content-range": range };
  return new Response(text.slice(start), { status: 206, headers });
}

function whole(text: string, validators: Record<string, string>): Response {
  const headers = { ...validators, date: TODAY, "content-length": `${text.length}` };
  return new Response(text, { headers });
}

function unsatisfiable(range: string, validators: Record<string, string> = {}): Response {
  const headers = { ...validators, "content-range": range };
  return new Response(null, { status: 416, headers });
}

const startOf = (request: Request) =>
  Number(/^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);

interface Saving {
  /** What was asked for: the first byte of each request. */
  readonly starts: number[];
  readonly world: Portless;
  readonly folder: string;
  get(options?: DownloadOptions): Promise<string>;
}

/** Downloads from an API that answers in this way. */
async function saving(
  api: (start: number, count: number, request: Request) => Response,
  use: (saving: Saving) => Promise<void>,
): Promise<void> {
  const starts: number[] = [];
  await using world = portless({
    api: (request, count) => {
      starts.push(startOf(request));
      return api(startOf(request), count, request);
    },
  });
  await world.session.login();
  await inFolder(async (folder) => {
    const file = `${folder}/data.csv`;
    await use({
      starts,
      world,
      folder,
      async get(options) {
        await world.session.download("/files/data", file, options);
        return await Deno.readTextFile(file);
      },
    });
  });
}

type Validators = Record<string, string>;

const otherVersions: [string, before: Validators, after: Validators][] = [
  ["another ETag", { etag: `"1"` }, { etag: `"2"` }],
  ["another date", { "last-modified": DAY }, { "last-modified": NEXT_DAY }],
  ["no ETag where there was one", { etag: `"1"` }, {}],
  ["no date where there was one", { "last-modified": DAY }, {}],
  [
    "another weak ETag beside the same date",
    { etag: `W/"1"`, "last-modified": DAY },
    { etag: `W/"2"`, "last-modified": DAY },
  ],
  [
    "no ETag beside the same date",
    { etag: `W/"1"`, "last-modified": DAY },
    { "last-modified": DAY },
  ],
  [
    "an ETag where there was none beside the same date",
    { "last-modified": DAY },
    { etag: `"1"`, "last-modified": DAY },
  ],
];
for (const [what, before, after] of otherVersions) {
  Deno.test(`a rest with ${what} is not appended: the file is fetched from its first byte`, () =>
    saving((start, count) => {
      if (count === 1) return firstHalf(before);
      return start > 0 ? rest(NEW, start, after) : whole(NEW, after);
    }, async ({ get, starts }) => {
      assertEquals(await get(), NEW);
      assertEquals(starts, [0, HALF, 0]);
    }));
}

const sameVersions: [string, before: Validators, after: Validators][] = [
  ["the same date", { "last-modified": DAY }, { "last-modified": DAY }],
  ["a weak ETag and a date", ...twice({ etag: `W/"1"`, "last-modified": DAY })],
  // RFC 9110, 15.3.7: after If-Range an answer need not repeat the date.
  ["the strong ETag alone", { etag: `"1"`, "last-modified": DAY }, { etag: `"1"` }],
  ["the strong ETag and a date", { etag: `"1"` }, { etag: `"1"`, "last-modified": NEXT_DAY }],
];
for (const [what, before, after] of sameVersions) {
  Deno.test(`a rest with ${what} is appended`, () =>
    saving((start, count) => {
      return count === 1 ? firstHalf(before) : rest(OLD, start, after);
    }, async ({ get, starts }) => {
      assertEquals(await get(), OLD);
      assertEquals(starts, [0, HALF]);
    }));
}

const seconds: [number, string][] = [
  [0, "the second in which it was sent, and so may stand for two versions: it is not appended to"],
  [1, "one second before it was sent: it tells versions apart"],
];
for (const [age, what] of seconds) {
  Deno.test(`the Last-Modified of a file is ${what}`, () => {
    const validators = { "last-modified": new Date(Date.parse(TODAY) - age * 1_000).toUTCString() };
    return saving(
      (start) => start > 0 ? rest(OLD, start, validators) : firstHalf(validators),
      async ({ get, starts, folder }) => {
        if (age > 0) {
          assertEquals(await get(), OLD);
          return assertEquals(starts, [0, HALF]);
        }
        assertEquals((await rejection(get())).code, "DOWNLOAD_BROKEN");
        assertEquals([starts, [...Deno.readDirSync(folder)]], [[0], []]);
      },
    );
  });
}

function twice(validators: Validators): [Validators, Validators] {
  return [validators, validators];
}

const refusals: [string, Response][] = [
  ["another ETag", unsatisfiable(`bytes */${HALF}`, { etag: `"2"` })],
  ["the same ETag", unsatisfiable(`bytes */${HALF}`, { etag: `"1"` })],
  ["no validator", unsatisfiable(`bytes */${HALF}`)],
];
for (const [what, refusal] of refusals) {
  Deno.test(`a 416 with a total below what was announced and ${what} makes no file whole`, () =>
    saving((start, count) => {
      if (count === 1) return firstHalf({ etag: `"1"` });
      return start > 0 ? refusal.clone() : whole(NEW, { etag: `"2"` });
    }, async ({ get, starts }) => {
      assertEquals(await get(), NEW);
      assertEquals(starts, [0, HALF, 0]);
    }));
}

/** Answers in chunks, without a length, that break off after their last byte. */
function inChunks(text: string, validators: Validators): Response {
  const { body } = firstHalf({});
  return new Response(
    body?.pipeThrough(
      new TransformStream({
        transform: (_, controller) => controller.enqueue(new TextEncoder().encode(text)),
      }),
    ) ?? null,
    { headers: { ...validators, date: TODAY } },
  );
}

for (
  const [what, validators, asked] of [
    ["the same version", { etag: `"1"` }, [0, OLD.length]],
    ["another version of this length", { etag: `"2"` }, [0, OLD.length, 0]],
    ["a version that it does not name", {}, [0, OLD.length, 0]],
  ] as [string, Validators, number[]][]
) {
  Deno.test(`a 416 after the last byte of an answer without a length counts for ${what}`, () =>
    saving((start, count) => {
      if (count === 1) return inChunks(OLD, { etag: `"1"` });
      return start > 0
        ? unsatisfiable(`bytes */${OLD.length}`, validators)
        : whole(NEW, validators);
    }, async ({ get, starts }) => {
      assertEquals(await get(), asked.length === 2 ? OLD : NEW);
      assertEquals(starts, asked);
    }));
}

/** Leaves a whole part, as a process does that is killed before it gives the part its name. */
async function leaveWholePart({ get, folder }: Saving): Promise<void> {
  await rejection(get());
  const [note, part] = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  assertMatch(`${note} ${part}`, /\.note .*\.part$/);
  Deno.writeTextFileSync(`${folder}/${part}`, OLD);
}

Deno.test("a part that is whole is not taken for the file that changed since", () =>
  saving((start, count, request) => {
    if (count === 1) return firstHalf({ etag: `"1"` });
    if (count === 2) return new Response("no", { status: 400 });
    const isSame = request.headers.get("if-range") === `"2"`;
    return start > 0 && isSame ? rest(NEW, start, {}) : whole(NEW, { etag: `"2"` });
  }, async (saving) => {
    await leaveWholePart(saving);
    assertEquals(await saving.get(), NEW);
    assertEquals(saving.starts.slice(2), [OLD.length - 1]);
  }));

Deno.test("a part that is whole is asked for with the token, and costs one byte", () =>
  saving((start, count) => {
    if (count === 1) return firstHalf({ etag: `"1"` });
    if (count <= 3) return new Response("no", { status: 403 });
    return rest(OLD, start, { etag: `"1"` });
  }, async (saving) => {
    await leaveWholePart(saving);
    // Who may no longer read the file does not get it from the part.
    assertEquals((await rejection(saving.get())).code, "API_STATUS");
    assertEquals(await saving.get(), OLD);
    assertEquals(saving.starts.slice(2), [OLD.length - 1, OLD.length - 1]);
    assertMatch(saving.world.called[3]?.authorization ?? "", /^bearer /);
  }));

Deno.test("a connection that breaks after the last byte announced leaves nothing to ask for", () =>
  saving((start) => {
    if (start > 0) return unsatisfiable(`bytes */${OLD.length}`);
    const chunks = inChunks(OLD, { etag: `"1"` });
    chunks.headers.set("content-length", `${OLD.length}`);
    return chunks;
  }, async ({ get, starts }) => {
    assertEquals(await get(), OLD);
    assertEquals(starts, [0]);
  }));
