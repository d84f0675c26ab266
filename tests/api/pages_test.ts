import { assertEquals, assertMatch } from "@std/assert";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { signedIn } from "../support/portless.ts";

const PAGE = "<!DOCTYPE html><title>Company</title><form>Sign in</form>";

/** Downloads a text that arrives byte by byte; returns the saved text, or why it was not saved. */
async function saved(text: string, name: string): Promise<string> {
  const bytes = [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte));
  const headers = { "content-type": "text/html; charset=utf-8" };
  await using world = await signedIn({
    api: () => new Response(ReadableStream.from(bytes), { headers }),
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

const pages: [what: string, page: string][] = [
  ["a doctype", PAGE],
  ["a BOM, blanks and comments", `\uFEFF \r\n<!-- x --><HTML><title>Company</title>`],
  ["a title", "<title>Company</title><form>Sign in</form>"],
];
for (const [what, page] of pages) {
  Deno.test(`download() refuses to save a login page as CSV (starts with ${what})`, async () => {
    assertMatch(
      await saved(page, "data.csv"),
      /it is an HTML page with the title "Company", and was not saved; .* ends in \.html/,
    );
  });
}

const files: [name: string, text: string][] = [
  ["page.HTM", PAGE],
  ["data.csv", "<5,6\n"],
];
for (const [name, text] of files) {
  Deno.test(`download() saves a ${name} with the content type text/html: ${JSON.stringify(text)}`, async () => {
    assertEquals(await saved(text, name), text);
  });
}
