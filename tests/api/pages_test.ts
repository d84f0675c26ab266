import { assertEquals, assertMatch } from "@std/assert";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { signedIn } from "../support/portless.ts";

const BODY = "<title>Company</title><form>Sign in</form>";

/** A body in pieces of `size` bytes. */
function inPieces(bytes: Uint8Array<ArrayBuffer>, size: number): ReadableStream {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at += size));
    },
  }, { highWaterMark: 0 });
}

/** Downloads a text in pieces of `size` bytes; returns the saved text, or why it was not saved. */
async function saved(text: string, type: string, size: number, name = "data.csv"): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  await using world = await signedIn({
    api: () => new Response(inPieces(bytes, size), { headers: { "content-type": type } }),
  });
  return await inFolder(async (folder) => {
    const file = `${folder}/${name}`;
    try {
      await world.session.download("/files/data", file);
      return await Deno.readTextFile(file);
    } catch (error) {
      assertEquals(namesIn(folder), []);
      return (error as Error).message;
    }
  });
}

const pages: [string, string][] = [
  ["a doctype", `<!DOCTYPE html>${BODY}`],
  ["an XML declaration and a doctype", `<?xml version="1.0"?>\n<!DOCTYPE html SYSTEM "x">${BODY}`],
  ["comments and blanks", `\n<!----> <!-->\t<!-- x --><!doctype  html>${BODY}`],
  ["a BOM, blanks and a declaration", `\uFEFF \r\n<?xml version="1.0"?> <!-- x --><HTML>${BODY}`],
  ["a long comment", `<!-- ${"x".repeat(3_000)} --><!doctype html>${BODY}`],
  ["a title", BODY],
];
for (const [what, page] of pages) {
  Deno.test(`download() refuses to save a login page as CSV (starts with ${what})`, async () => {
    for (const size of [1, 100_000]) {
      assertMatch(
        await saved(page, "text/html; charset=utf-8", size),
        /it is an HTML page with the title "Company", and was not saved/,
      );
    }
  });
}

Deno.test("download() saves an HTML page as a file with the extension .HTM", async () => {
  const [, page = ""] = pages[0] ?? [];
  assertEquals(await saved(page, "text/html", 100, "page.HTM"), page);
});

Deno.test("download() refuses to save an XHTML page as a file without an extension", async () => {
  const page = pages[1]?.[1] ?? "";
  assertMatch(
    await saved(page, "application/xhtml+xml", 100, "stations"),
    /an HTML page .* was not saved; .*to save a page, give the file a name that ends in .html/,
  );
});

const measurements = [
  "time,height\n10:00,1.2\n",
  "<5,6\n",
  "\n\n",
  "<?xml version='1.0'?><!-- of today --><stations/>",
  "<!doctype stations><stations/>",
];
for (const text of measurements) {
  Deno.test(`download() saves data with the content type text/html: ${JSON.stringify(text)}`, async () => {
    for (const size of [1, 100_000]) {
      assertEquals(await saved(text, "text/html", size), text);
    }
  });
}
