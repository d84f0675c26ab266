/** Which responses a download writes, if the file may have changed since the first one. */
import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { rejection, signedIn } from "../support/portless.ts";

const OLD = "0123456789";
const NEW = "abcdefghij";

function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers });
}

/** The first half of a version. Then the connection breaks. */
function half(text: string, headers: Record<string, string>): Response {
  const body = ReadableStream.from((async function* () {
    yield new TextEncoder().encode(text.slice(0, 5));
    throw new TypeError("closed");
  })());
  return new Response(body, { headers });
}

const firstHalf = () => half(OLD, { etag: '"1"', "content-length": "10" });

const REST = { etag: '"1"', "content-range": "bytes 5-9/10" };

/** The rest of the old version, if these headers do not say otherwise. */
function rest(headers: Record<string, string> = {}, text = "56789"): Response {
  return answer(206, text, { ...REST, ...headers });
}

const refusal = () => answer(403, "no");

interface Saving {
  /** The first byte that each request asked for. */
  readonly starts: number[];
  readonly folder: string;
  get(): Promise<string>;
  /** The path of the .part or .note file. */
  left(ending: string): string;
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
      return answers.shift() ?? answer(200, NEW, { etag: '"2"' });
    },
  });
  await inFolder((folder) => {
    const file = `${folder}/data.csv`;
    const get = async () => {
      await world.session.download("/files/data", file);
      return await Deno.readTextFile(file);
    };
    const left = (ending: string) =>
      `${folder}/${namesIn(folder).find((name) => name.endsWith(ending))}`;
    return use({ starts, folder, get, left });
  });
}

const rests: [what: string, Response, isUsed: boolean][] = [
  ["the same ETag", rest(), true],
  ["another ETag", rest({ etag: '"2"' }), false],
  ["a weak ETag", rest({ etag: 'W/"1"' }), false],
  ["no ETag", rest({ etag: "" }), false],
  ["an unexpected first byte", rest({ "content-range": "bytes 4-9/10" }), false],
  ["another total", rest({ "content-range": "bytes 5-10/11" }), false],
  ["a range that ends early", rest({ "content-range": "bytes 5-8/10" }), false],
  ["a length that differs from its range", rest({ "content-length": "4" }), false],
  ["an unknown total", rest({ "content-range": "bytes 5-9/*" }), false],
  ["a content-encoding", rest({ "content-encoding": "gzip" }), false],
  ["the status 200", answer(200, "56789", REST), false],
  ["the status 416, because the file is now shorter", answer(416, ""), false],
];
for (const [what, response, isUsed] of rests) {
  Deno.test(`download() ${isUsed ? "completes the file" : "starts over"} if the response with the rest has ${what}`, () =>
    saving([firstHalf(), response], async ({ get, starts }) => {
      assertEquals([await get(), starts], isUsed ? [OLD, [0, 5]] : [NEW, [0, 5, 0]]);
    }));
}

const ALL = { "content-range": "bytes 0-9/10" };
const SOME = { "content-range": "bytes 0-4/10" };
const BROKEN = "DOWNLOAD_BROKEN";
/** The first response, and the content of the saved file or the code of the error. */
const firsts: [what: string, Response, outcome: string][] = [
  ["a 203", answer(203, OLD), OLD],
  ["a 206 with all bytes", answer(206, OLD, ALL), OLD],
  ["a 200 with the range of all bytes", answer(200, OLD, ALL), OLD],
  ["a 200 with a range of rows", answer(200, OLD, { "content-range": "items 0-9/500" }), OLD],
  ["a 200 with a range of some bytes", answer(200, "01234", SOME), BROKEN],
  ["a 206 with some bytes", answer(206, "01234", SOME), BROKEN],
  ["a 206 of unknown length", answer(206, OLD, { "content-range": "bytes 0-9/*" }), BROKEN],
  ["a 206 without a range", answer(206, OLD), BROKEN],
  ["an encoded 206", answer(206, OLD, { ...ALL, "content-encoding": "gzip" }), BROKEN],
  ["a 206 with more bytes than its range", answer(206, `${OLD}0`, ALL), BROKEN],
  ["a 201", answer(201, OLD), "API_BODY"],
  ["a 204", new Response(null, { status: 204 }), "API_BODY"],
];
for (const [what, first, outcome] of firsts) {
  const isSaved = outcome === OLD;
  Deno.test(`download() ${isSaved ? "saves" : "does not save"} ${what}`, () =>
    saving([first], async ({ get, folder }) => {
      assertEquals(await get().catch((error) => error.code), outcome);
      assertEquals(namesIn(folder), isSaved ? ["data.csv"] : []);
    }));
}

Deno.test("download() discards the file if the rest is longer than its range", () =>
  saving([firstHalf(), rest({}, "567890")], async ({ get, folder }) => {
    assertEquals((await rejection(get())).code, BROKEN);
    assertEquals(namesIn(folder), []);
  }));

Deno.test("download() completes a file whose length is only in the response with the rest", () =>
  saving([half(OLD, { etag: '"1"' }), rest()], async ({ get }) => {
    assertEquals(await get(), OLD);
  }));

Deno.test("download() checks the digest against the whole file, including the bytes of an earlier call", () => {
  const digest = `sha-256=:${createHash("sha256").update(OLD).digest("base64")}:`;
  const last = { "content-range": "bytes 4-9/10", "repr-digest": digest };
  return saving([firstHalf(), refusal(), rest(last, "456789")], async ({ get, folder, left }) => {
    await rejection(get());
    Deno.writeTextFileSync(left(".part"), "false");
    assertEquals((await rejection(get())).code, BROKEN);
    assertEquals([namesIn(folder), await get()], [[], NEW]);
  });
});

Deno.test("when download() starts over, it saves the new ETag in the .note", () => {
  const second = half(NEW, { etag: '"2"', "content-length": "10" });
  return saving([firstHalf(), answer(416, ""), second, refusal()], async ({ get, left }) => {
    assertEquals((await rejection(get())).code, "API_STATUS");
    assertEquals(Deno.readTextFileSync(left(".note")), '"2"');
  });
});
