/** `platform-auth fetch --list`. */
import { assertEquals, assertMatch } from "@std/assert";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";

const CSV = "/v1/stations/gull-harbor/observations.csv";

/** The files in a folder and below it, without the `.env`. */
function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`).map((each) => `${name}/${each}`) : [name]
  ).filter((name) => !name.startsWith(".env")).sort();
}

/** A signed-in user with this list in `urls.txt`, which `fetch` saves in the folder `data`. */
function inListWorld(
  list: string,
  use: (
    world: CliWorld & { fetch(...more: string[]): ReturnType<CliWorld["run"]> },
  ) => Promise<void>,
): Promise<void> {
  return inCliWorld(async (world) => {
    await world.signIn();
    await Deno.writeTextFile(`${world.folder}/urls.txt`, list);
    const fetch = (...more: string[]) =>
      world.run(["fetch", "--list", "urls.txt", "--output-dir", "data", ...more]);
    await use({ ...world, fetch });
  });
}

Deno.test("fetch --list saves the listed files, keeps existing ones, and reports failures", () =>
  inListWorld(
    `\ufeff# stations\r\n${CSV}\r\n  /v1/stations\tby name/all stations.json \n\n/v1/no%20such?key=hidden\n`,
    async ({ folder, fetch }) => {
      const { code, stdout, stderr } = await fetch();
      assertEquals([code, stderr], [1, ""]);
      const [headline = "", failure = "", ...more] = stdout.trimEnd().split("\n");
      assertMatch(headline, /^◐ 2 files saved, 1 failed · .* in /);
      assertMatch(
        failure,
        /^✗ failed: \/v1\/no%20such → data\/no such: Cannot GET .* responded with 404/,
      );
      assertEquals(more.at(-1), "  next: run the download again; existing files are kept");
      assertEquals(stdout.includes("hidden"), false);
      const files = ["data/by name/all stations.json", "data/observations.csv", "urls.txt"];
      assertEquals(filesBelow(folder), files);

      const again = await fetch("--json", "--concurrency", "1");
      const found = JSON.parse(again.stdout);
      assertEquals([again.code, again.stderr], [1, ""]);
      assertEquals(found.counts, { saved: 0, kept: 2, failed: 1 });
      assertEquals(found.failed[0].error.code, "API_STATUS");
      assertEquals(found.failed[0].input, "/v1/no%20such");
      const strict = await fetch("--if-exists", "error", "--json");
      assertEquals(JSON.parse(strict.stdout).counts, { saved: 0, kept: 0, failed: 3 });
    },
  ));

Deno.test("fetch --list - reads the list from standard input", () =>
  inCliWorld(async ({ run, folder, signIn }) => {
    await signIn();
    const saved = await run(["fetch", "--list", "-"], { stdin: `${CSV} here.csv` });
    assertEquals([saved.code, saved.stderr], [0, ""]);
    assertMatch(saved.stdout, /^● 1 file saved · 3\d\d\.\d kB in /);
    assertEquals(filesBelow(folder), ["here.csv"]);
  }));

const wrong: [string, string][] = [
  ["an address without a file name", "/v1/stations/\n"],
  ["a file outside the folder", "/v1/stations ../x\n"],
  ["an absolute path", "/v1/stations /tmp/x\n"],
  ["a hidden file", "/v1/stations .env\n"],
  ["an address that would become a hidden file", "/v1/%2eenv\n"],
];
for (const [what, list] of wrong) {
  Deno.test(`fetch --list reports ${what} before anything is sent`, () =>
    inListWorld(list, async ({ folder, fetch, sandbox }) => {
      const { code, stdout, stderr } = await fetch();
      assertEquals([code, stdout], [2, ""]);
      assertMatch(
        stderr,
        /Line 1 of urls\.txt has no file name, or one that is hidden or outside data; add the file/,
      );
      assertEquals(filesBelow(folder), ["urls.txt"]);
      assertEquals(sandbox.apiRequests, []);
    }));
}

Deno.test("fetch --list reports two addresses with the same file name before anything is sent", () =>
  inListWorld("/v1/stations?day=1\n/v1/stations?day=2\n", async ({ folder, fetch, sandbox }) => {
    const { code, stderr } = await fetch();
    assertEquals(code, 2);
    assertMatch(stderr, /Lines 1 and 2 of urls\.txt are both saved as stations/);
    assertEquals(filesBelow(folder), ["urls.txt"]);
    assertEquals(sandbox.apiRequests, []);
  }));

Deno.test("fetch --list stays fast with many blanks in a line", () =>
  inListWorld(
    `/v1/stations${" ".repeat(500_000)}a b${" ".repeat(9)}\n`,
    async ({ folder, fetch }) => {
      const { code, stderr } = await fetch();
      assertEquals([code, stderr], [0, ""]);
      assertEquals(filesBelow(folder), ["data/a b", "urls.txt"]);
    },
  ));

Deno.test("fetch --list stays inside the folder if an address contains an encoded ../", () =>
  inListWorld("/v1/a%2f..%2f..%2fx\n/v1/b%5c%2e%2e%5cy\n", async ({ fetch }) => {
    const { failed } = JSON.parse((await fetch("--json")).stdout);
    const files = failed.map(({ file }: { file: string }) => file).sort();
    assertEquals(files, ["data/a_.._.._x", "data/b_.._y"]);
  }));
