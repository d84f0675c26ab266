/** `platform-auth fetch --list`. */
import { assertEquals, assertMatch } from "@std/assert";
import type { ChildResult } from "../support/child_deno.ts";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { inOwnProcess } from "./own_process.ts";

const CSV = "/v1/stations/gull-harbor/observations.csv";

/** The files in a folder and below it, without the `.env`. */
function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`).map((each) => `${name}/${each}`) : [name]
  ).filter((name) => !name.startsWith(".env")).sort();
}

/** A signed-in user with a list of addresses, which `fetch` saves in the folder `data`. */
function withList(
  list: string,
  use: (world: CliWorld, fetch: (...more: string[]) => Promise<ChildResult>) => Promise<void>,
): Promise<void> {
  return inOwnProcess(async (world) => {
    await world.signIn();
    const command = ["fetch", "--list", "-", "--output-dir", `${world.folder}/data`];
    await use(world, (...more) => world.run([...command, ...more], { stdin: list }));
  });
}

Deno.test("fetch --list saves the listed files, keeps existing ones, and reports failures", () =>
  withList(
    `\ufeff# stations\r\n${CSV}\r\n  /v1/stations\tby name/all stations.json \n\n/v1/no%20such?key=hidden\n`,
    async ({ folder }, fetch) => {
      const { code, stdout, stderr } = await fetch();
      assertEquals([code, stderr], [1, ""]);
      const [headline = "", failure = "", ...more] = stdout.trimEnd().split("\n");
      assertMatch(headline, /^◐ 2 files saved, 1 failed · .* in /);
      assertMatch(failure, /^✗ failed: \/v1\/no%20such → .*no such: Cannot GET .* with 404/);
      assertEquals(more.at(-1), "  next: run the download again; existing files are kept");
      assertEquals(stdout.includes("hidden"), false);
      const files = ["data/by name/all stations.json", "data/observations.csv"];
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

Deno.test("fetch --list reads a file, and saves in the working folder", () =>
  inCliWorld(async ({ folder, run, signIn }) => {
    await signIn();
    await Deno.writeTextFile(`${folder}/urls.txt`, `${CSV} here.csv`);
    const saved = await run(["fetch", "--list", "urls.txt"]);
    assertEquals([saved.code, saved.stderr], [0, ""]);
    assertMatch(saved.stdout, /^● 1 file saved · 3\d\d\.\d kB in /);
    assertEquals(filesBelow(folder), ["here.csv", "urls.txt"]);
  }));

const UNUSABLE = /Line 1 of standard input has no file name, or one that is hidden or outside/;
const wrong: [what: string, list: string, said: RegExp][] = [
  ["an address without a file name", "/v1/stations/\n", UNUSABLE],
  ["a file outside the folder", "/v1/stations ../x\n", UNUSABLE],
  ["an absolute path", "/v1/stations /tmp/x\n", UNUSABLE],
  ["a hidden file", "/v1/stations .env\n", UNUSABLE],
  ["an address that would become a hidden file", "/v1/%2eenv\n", UNUSABLE],
  [
    "two addresses with the same file name",
    "/v1/stations?day=1\n/v1/stations?day=2\n",
    /Lines 1 and 2 of standard input are both saved as stations/,
  ],
];
for (const [what, list, said] of wrong) {
  Deno.test(`fetch --list reports ${what} before anything is sent`, () =>
    withList(list, async ({ folder, sandbox }, fetch) => {
      const { code, stdout, stderr } = await fetch();
      assertEquals([code, stdout], [2, ""]);
      assertMatch(stderr, said);
      assertEquals([filesBelow(folder), sandbox.apiRequests], [[], []]);
    }));
}

Deno.test("fetch --list stays inside the folder if an address contains an encoded ../", () =>
  withList("/v1/a%2f..%2f..%2fx\n/v1/b%5c%2e%2e%5cy\n", async ({ folder }, fetch) => {
    const { failed } = JSON.parse((await fetch("--json")).stdout);
    const files = failed.map(({ file }: { file: string }) => file.replace(folder, "")).sort();
    assertEquals(files, ["/data/a_.._.._x", "/data/b_.._y"]);
  }));
