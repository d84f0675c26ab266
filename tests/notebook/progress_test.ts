import { assert, assertEquals, assertMatch } from "@std/assert";
import { downloadsText, downloadText } from "../../src/show/progress.ts";
import { assertHides, canaries } from "../support/canaries.ts";
import { inFolder } from "../support/child_deno.ts";
import { signedIn } from "../support/portless.ts";

const MB = 1_000_000;
const BAR_42 = "████████░░░░░░░░░░░░ 42 %  126.0 MB of 300.0 MB";
const BAR_100 = "████████████████████ 100 %";

const PROGRESS: [bytes: number, total: number | undefined, first: number, ms: number, string][] = [
  [126 * MB, 300 * MB, 0, 10_000, `${BAR_42}  12.6 MB/s  14 s left`],
  // This call resumed at 100 MB, so its rate counts only the later bytes.
  [126 * MB, 300 * MB, 100 * MB, 10_000, `${BAR_42}  2.6 MB/s  67 s left`],
  [0, 500, 0, 1_000, "░░░░░░░░░░░░░░░░░░░░ 0 %  0 bytes of 500 bytes  0 bytes/s"],
  [500, 500, 0, 1_000, `${BAR_100}  500 bytes of 500 bytes  500 bytes/s  0 s left`],
  [2_500, undefined, 0, 500, "2.5 kB  5.0 kB/s"],
  // The API sent more bytes than it announced.
  [600, 500, 0, 1_000, `${BAR_100}  600 bytes of 500 bytes  600 bytes/s  0 s left`],
];

Deno.test("the progress of a file shows a bar, bytes, rate and time left", () => {
  for (const [bytes, total, first, ms, text] of PROGRESS) {
    assertEquals(downloadText({ bytes, ...(total && { total }) }, ms, { bytes: first }), text);
  }
});

Deno.test("the progress of many files shows files, failures, rate and time left", () => {
  const text = (files: number, total: number, kept: number, failed: number) =>
    downloadsText({ files, total, kept, failed, bytes: 60 * MB }, 10_000);
  // Kept files take no time, so the rate is 100 files in 10 seconds.
  assertEquals(
    text(150, 200, 50, 0),
    "███████████████░░░░░ 75 %  150 of 200 files  60.0 MB  6.0 MB/s  5 s left",
  );
  assertEquals(
    text(150, 200, 150, 0),
    "███████████████░░░░░ 75 %  150 of 200 files  60.0 MB  6.0 MB/s",
  );
  assertEquals(
    text(200, 200, 0, 3),
    "████████████████████ 100 %  200 of 200 files, 3 failed  60.0 MB  6.0 MB/s  0 s left",
  );
  assertEquals(text(0, 0, 0, 0), "░░░░░░░░░░░░░░░░░░░░ 0 %  0 of 0 files  60.0 MB  6.0 MB/s");
});

Deno.test("the card of a download contains no secret", async () => {
  await using world = await signedIn({
    api() {
      const answer = new Response("a,b\n", { headers: { "content-type": "text/csv<b>" } });
      // The final address after a redirect, with a signature that is a secret.
      const url = `https://store.example/f?sig=${canaries.clientSecret}`;
      return Object.defineProperties(answer, { url: { value: url }, redirected: { value: true } });
    },
  });
  await inFolder(async (folder) => {
    const path = `/files/data?sig=${canaries.clientSecret}`;
    // Windows does not allow "<" and ">" in a file name.
    const name = Deno.build.os === "windows" ? "&i.csv" : "<i>.csv";
    const saved = await world.session.download(path, `${folder}/${name}`);
    assertEquals(Object.keys(saved), [
      ...["file", "bytes", "resumedFrom", "contentType", "milliseconds"],
    ]);
    const shown = await Reflect.get(saved, Symbol.for("Jupyter.display")).call(saved);
    assertMatch(
      shown["text/plain"],
      /^● .*(<i>|&i)\.csv · saved, 4 bytes in under 1 s\n {2}type: text\/csv<b>$/,
    );
    assertMatch(shown["text/html"], /(&lt;i&gt;|&amp;i)\.csv/);
    assertEquals(/<[ib]>/.test(shown["text/html"]), false);
    await assertHides(saved, "the record");
    assert(!JSON.stringify(shown).includes(await world.session.accessToken()));
  });
});
