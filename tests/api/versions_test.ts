import { assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { rejection, signedIn } from "../support/portless.ts";

const OLD = "0123456789";
const NEW = "abcdefghij";
const HALF = 5;
const DAY = "Sun, 01 Nov 2026 10:00:00 GMT";
const TODAY = "Sat, 21 Nov 2026 10:00:00 GMT";

type Validators = Record<string, string>;

/** A response whose connection breaks after the last byte of the text. */
function breaking(text: string, headers: Validators): Response {
  const body = ReadableStream.from((async function* () {
    yield new TextEncoder().encode(text);
    throw new TypeError("closed");
  })());
  return new Response(body, { headers: { date: TODAY, ...headers } });
}

/** The first half of the old version. */
const firstHalf = (validators: Validators) =>
  breaking(OLD.slice(0, HALF), { ...validators, "content-length": `${OLD.length}` });

/** The rest of a version, whatever `If-Range` asked for. */
function rest(text: string, start: number, validators: Validators): Response {
  const range = `bytes ${start}-${text.length - 1}/${text.length}`;
  const headers = { date: TODAY, "content-range": range, ...validators };
  return new Response(text.slice(start), { status: 206, headers });
}

const no = () => new Response("no", { status: 403 });

interface Saving {
  /** The first byte that each request asked for. */
  readonly starts: number[];
  readonly folder: string;
  get(): Promise<string>;
}

/** Downloads from an API that returns these responses in turn, and then the whole new version. */
async function saving(
  answers: Response[],
  use: (saving: Saving) => Promise<void>,
): Promise<void> {
  const starts: number[] = [];
  await using world = await signedIn({
    api({ headers }) {
      starts.push(Number(/^bytes=(\d+)-$/.exec(headers.get("range") ?? "")?.[1] ?? 0));
      return answers.shift() ?? new Response(NEW, { headers: { etag: `"2"`, date: TODAY } });
    },
  });
  await inFolder((folder) => {
    const file = `${folder}/data.csv`;
    const get = async () => {
      await world.session.download("/files/data", file);
      return await Deno.readTextFile(file);
    };
    return use({ starts, folder, get });
  });
}

const one = { etag: `"1"` };
/** The headers of the response with the rest, and whether they are of the same version. */
const rests: [string, after: Validators, isSame: boolean][] = [
  ["another ETag", { etag: `"2"` }, false],
  ["a weak ETag", { etag: `W/"1"` }, false],
  ["no ETag", {}, false],
  ["an unexpected first byte", { ...one, "content-range": "bytes 4-9/10" }, false],
  ["another total", { ...one, "content-range": "bytes 5-10/11" }, false],
  ["a range beyond the total", { ...one, "content-range": "bytes 5-10/10" }, false],
  ["a range that ends early", { ...one, "content-range": "bytes 5-8/10" }, false],
  ["a length that differs from its range", { ...one, "content-length": "4" }, false],
  ["no range that can be read", { ...one, "content-range": "bytes 5-/10" }, false],
  ["an unknown total", { ...one, "content-range": "bytes 5-9/*" }, false],
  ["a content-encoding", { ...one, "content-encoding": "gzip" }, false],
  ["the same ETag", one, true],
];
for (const [what, after, isSame] of rests) {
  Deno.test(`download() ${isSame ? "completes the file" : "starts over"} if the response with the rest has ${what}`, () =>
    saving(
      [firstHalf(one), rest(isSame ? OLD : NEW, HALF, after)],
      async ({ get, starts }) => {
        assertEquals(await get(), isSame ? OLD : NEW);
        assertEquals(starts, isSame ? [0, HALF] : [0, HALF, 0]);
      },
    ));
}

/** A response with status 200, or another one, and these headers. */
const sent = (text: string, headers: Validators, status = 200) =>
  new Response(text, { status, headers: { date: TODAY, ...headers } });

for (const range of ["bytes 5-9/10", "bytes 0-4/10", "bytes */10", "bytes=0-9/10"]) {
  Deno.test(`download() starts over if a 200 for the rest has the content-range ${range}`, () =>
    saving(
      [firstHalf(one), sent(OLD.slice(HALF), { ...one, "content-range": range })],
      async ({ get, starts }) => assertEquals([await get(), starts], [NEW, [0, HALF, 0]]),
    ));
}

for (const validators of [{ etag: `W/"1"` }, { "last-modified": DAY }]) {
  Deno.test(`download() does not resume a file that has only ${Object.keys(validators)} ${Object.values(validators)}`, () =>
    saving([firstHalf(validators), rest(OLD, HALF, validators)], async ({ get, folder }) => {
      assertEquals((await rejection(get())).code, "DOWNLOAD_BROKEN");
      assertEquals(namesIn(folder), []);
    }));
}

const half = OLD.slice(0, HALF);
const parts = "multipart/byteranges; boundary=x";
/** The first response, and the content of the saved file or the code of the error. */
const firsts: [what: string, Response, outcome: string][] = [
  ["a 203", sent(OLD, {}, 203), OLD],
  ["a 206 with all bytes", sent(OLD, { "content-range": "bytes 0-9/10" }, 206), OLD],
  ["a 200 with the range of all bytes", sent(OLD, { "content-range": "bytes 0-9/10" }), OLD],
  ["a 200 with a range of rows", sent(OLD, { "content-range": "items 0-9/500" }), OLD],
  ["a 200 with a range of some bytes", sent(half, { "content-range": "bytes 0-4/10" }), "BROKEN"],
  [
    "a 200 with a length that differs from its range",
    sent(half, { "content-range": "bytes 0-9/10", "content-length": "5" }),
    "BROKEN",
  ],
  ["a 200 with two ranges", sent(OLD, { "content-range": "bytes 0-9/10, bytes 0-9/10" }), "BROKEN"],
  ["a 206 with some bytes", sent(half, { "content-range": "bytes 0-4/10" }, 206), "BROKEN"],
  ["a 206 of unknown length", sent(half, { "content-range": "bytes 0-4/*" }, 206), "BROKEN"],
  ["a 206 without a range", sent(OLD, {}, 206), "BROKEN"],
  [
    "an encoded 206",
    sent(OLD, { "content-range": "bytes 0-9/10", "content-encoding": "gzip" }, 206),
    "BROKEN",
  ],
  ["a 206 with several parts", sent(OLD, { "content-type": parts }, 206), "BROKEN"],
  [
    "a 206 with more bytes than its range",
    sent(OLD, {
      "content-range": "bytes 0-4/5",
    }, 206),
    "BROKEN",
  ],
  ["a 201", sent(OLD, {}, 201), "API_BODY"],
  ["a 207", sent(OLD, {}, 207), "API_BODY"],
  ["a 226", sent(OLD, {}, 226), "API_BODY"],
];
for (const [what, first, outcome] of firsts) {
  const isSaved = outcome === OLD;
  Deno.test(`download() ${isSaved ? "saves" : "does not save"} ${what}`, () =>
    saving([first], async ({ get, folder }) => {
      const code = outcome === "BROKEN" ? "DOWNLOAD_BROKEN" : outcome;
      assertEquals(await get().catch((error) => error.code), code);
      assertEquals(namesIn(folder), isSaved ? ["data.csv"] : []);
    }));
}

Deno.test("the error for headers that contradict each other quotes these headers", () =>
  saving([sent(half, { "content-range": "bytes 0-4/10", "content-length": "5" })], async (all) => {
    const { message } = await rejection(all.get());
    assertMatch(message, /status 200, content-range bytes 0-4\/10, content-length 5\)/);
  }));

Deno.test("download() discards the file if the rest is longer than its range", () => {
  const long = sent("567890", { ...one, "content-range": "bytes 5-9/10" }, 206);
  return saving([firstHalf(one), long], async ({ get, folder }) => {
    assertEquals((await rejection(get())).code, "DOWNLOAD_BROKEN");
    assertEquals(namesIn(folder), []);
  });
});

Deno.test("download() checks the digest against the whole file, including the bytes of an earlier call", () => {
  const digest = `sha-256=:${createHash("sha256").update(OLD).digest("base64")}:`;
  const last = rest(OLD, HALF - 1, { ...one, "repr-digest": digest });
  return saving([firstHalf(one), no(), last], async ({ get, folder }) => {
    await rejection(get());
    const part = namesIn(folder).find((name) => name.endsWith(".part"));
    Deno.writeTextFileSync(`${folder}/${part}`, "false");
    assertEquals((await rejection(get())).code, "DOWNLOAD_BROKEN");
    assertEquals([namesIn(folder), await get()], [[], NEW]);
  });
});

Deno.test("when download() starts over, it saves the new ETag in the .note", () => {
  const other = new Response(null, { status: 416 });
  const second = breaking(NEW.slice(0, HALF), { etag: `"2"`, "content-length": "10" });
  return saving([firstHalf(one), other, second, no()], async ({ get, folder }) => {
    assertEquals((await rejection(get())).code, "API_STATUS");
    const note = namesIn(folder).find((name) => name.endsWith(".note"));
    assertEquals(Deno.readTextFileSync(`${folder}/${note}`), `"2"`);
  });
});

Deno.test("download() starts over after a 416, because the file is now shorter", () =>
  saving([firstHalf(one), new Response(null, { status: 416 })], async ({ get, starts }) => {
    assertEquals([await get(), starts], [NEW, [0, HALF, 0]]);
  }));

/** Leaves a complete .part file, as if a process was killed before it renamed the file. */
async function leaveWholePart({ get, folder }: Saving): Promise<void> {
  await rejection(get());
  const part = [...Deno.readDirSync(folder)].find(({ name }) => name.endsWith(".part"));
  Deno.writeTextFileSync(`${folder}/${part?.name}`, OLD);
}

const wholeParts: [string, Response[], text: string][] = [
  ["requests only the last byte if its .part file is already complete", [
    rest(OLD, OLD.length - 1, { etag: `"1"` }),
  ], OLD],
  ["starts over if its .part file is complete, but the file has changed at the API", [], NEW],
];
for (const [what, answers, text] of wholeParts) {
  Deno.test(`download() ${what}`, () =>
    saving([firstHalf(one), no(), no(), ...answers], async (saving) => {
      await leaveWholePart(saving);
      // Even if the .part file is complete, a refusal by the API is an error.
      assertEquals((await rejection(saving.get())).code, "API_STATUS");
      assertEquals(await saving.get(), text);
      assertEquals(saving.starts.slice(2), [OLD.length - 1, OLD.length - 1]);
    }));
}

Deno.test("download() completes a file whose length is only in the response with the rest", () =>
  saving([breaking(OLD.slice(0, HALF), one), rest(OLD, HALF, one)], async ({ get }) => {
    assertEquals(await get(), OLD);
  }));
