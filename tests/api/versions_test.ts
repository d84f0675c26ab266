import { assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { rejection, signedIn } from "../support/portless.ts";

const OLD = "0123456789";
const NEW = "abcdefghij";
const HALF = 5;
const DAY = "Sun, 01 Nov 2026 10:00:00 GMT";
const NEXT_DAY = "Mon, 02 Nov 2026 10:00:00 GMT";
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

const unsatisfiable = (total: number, validators: Validators = {}) =>
  new Response(null, {
    status: 416,
    headers: { ...validators, "content-range": `bytes */${total}` },
  });

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

const weak = { etag: `W/"1"`, "last-modified": DAY };
const strong = { etag: `"1"`, "last-modified": DAY };
/** The headers of a first response and of the rest, and whether they are of the same version. */
const rests: [string, before: Validators, after: Validators, isSame: boolean][] = [
  ["another ETag", { etag: `"1"` }, { etag: `"2"` }, false],
  ["another date", { "last-modified": DAY }, { "last-modified": NEXT_DAY }, false],
  ["no ETag, unlike the first half", { etag: `"1"` }, {}, false],
  ["no date, unlike the first half", { "last-modified": DAY }, {}, false],
  ["another weak ETag and the same date", weak, { ...weak, etag: `W/"2"` }, false],
  ["a new ETag and the same date", { "last-modified": DAY }, strong, false],
  [
    "an unexpected first byte",
    { etag: `"1"` },
    { etag: `"1"`, "content-range": "bytes 4-9/10" },
    false,
  ],
  ["a content-encoding", { etag: `"1"` }, { etag: `"1"`, "content-encoding": "gzip" }, false],
  ["the same date", { "last-modified": DAY }, { "last-modified": DAY }, true],
  ["the same weak ETag and date", weak, weak, true],
  // RFC 9110, 15.3.7: after If-Range, a response need not repeat the date.
  ["only the strong ETag", strong, { etag: `"1"` }, true],
];
for (const [what, before, after, isSame] of rests) {
  Deno.test(`download() ${isSame ? "completes the file" : "starts over"} if the response with the rest has ${what}`, () =>
    saving(
      [firstHalf(before), rest(isSame ? OLD : NEW, HALF, after)],
      async ({ get, starts }) => {
        assertEquals(await get(), isSame ? OLD : NEW);
        assertEquals(starts, isSame ? [0, HALF] : [0, HALF, 0]);
      },
    ));
}

const ends: [string, first: Response, total: number, Validators, isSame: boolean][] = [
  [
    "the same version of the file",
    breaking(OLD, { etag: `"1"` }),
    OLD.length,
    { etag: `"1"` },
    true,
  ],
  [
    "another version of the file",
    breaking(OLD, { etag: `"1"` }),
    OLD.length,
    { etag: `"2"` },
    false,
  ],
  ["a file of half the length", firstHalf({ etag: `"1"` }), HALF, { etag: `"1"` }, false],
];
for (const [what, first, total, after, isSame] of ends) {
  Deno.test(`download() ${isSame ? "completes the file" : "starts over"} after a 416 for ${what}`, () =>
    saving([first, unsatisfiable(total, after)], async ({ get }) => {
      assertEquals(await get(), isSame ? OLD : NEW);
    }));
}

for (const age of [0, 1]) {
  Deno.test(`download() ${age ? "resumes" : "does not resume"} a file that changed ${age} s before the response`, () => {
    const modified = { "last-modified": new Date(Date.parse(TODAY) - age * 1_000).toUTCString() };
    return saving([firstHalf(modified), rest(OLD, HALF, modified)], async ({ get }) => {
      if (age > 0) assertEquals(await get(), OLD);
      else assertEquals((await rejection(get())).code, "DOWNLOAD_BROKEN");
    });
  });
}

/** Leaves a complete .part file, as if a process was killed before it renamed the file. */
async function leaveWholePart({ get, folder }: Saving): Promise<void> {
  await rejection(get());
  const part = [...Deno.readDirSync(folder)].find(({ name }) => name.endsWith(".part"));
  Deno.writeTextFileSync(`${folder}/${part?.name}`, OLD);
}

const no = () => new Response("no", { status: 403 });
const wholeParts: [string, Response[], text: string][] = [
  ["requests only the last byte if its .part file is already complete", [
    rest(OLD, OLD.length - 1, { etag: `"1"` }),
  ], OLD],
  ["starts over if its .part file is complete, but the file has changed at the API", [], NEW],
];
for (const [what, answers, text] of wholeParts) {
  Deno.test(`download() ${what}`, () =>
    saving([firstHalf({ etag: `"1"` }), no(), no(), ...answers], async (saving) => {
      await leaveWholePart(saving);
      // Even if the .part file is complete, a refusal by the API is an error.
      assertEquals((await rejection(saving.get())).code, "API_STATUS");
      assertEquals(await saving.get(), text);
      assertEquals(saving.starts.slice(2), [OLD.length - 1, OLD.length - 1]);
    }));
}

Deno.test("download() completes a file whose length is only in its 206 responses", () => {
  const etag = { etag: `"1"` };
  const headers = { ...etag, "content-range": "bytes 5-7/10" };
  const middle = new Response("567", { status: 206, headers });
  const answers = [breaking(OLD.slice(0, HALF), etag), middle, rest(OLD, 8, etag)];
  return saving(answers, async ({ get }) => assertEquals(await get(), OLD));
});
