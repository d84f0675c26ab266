/** `platform-auth fetch --list`. */
import { assertEquals, assertMatch } from "@std/assert";
import type { ChildResult } from "../support/child_deno.ts";
import { commandTest, type CommandWorld } from "./own_process.ts";

const CSV = "/v1/stations/gull-harbor/observations.csv";

/** The files in a folder and below it, without the `.env`. */
function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`).map((each) => `${name}/${each}`) : [name]
  ).filter((name) => !name.startsWith(".env")).sort();
}

/** Registers a test with a list of addresses, which `fetch` saves in the folder `data`. */
function listTest(
  name: string,
  list: string,
  use: (world: CommandWorld, fetch: (...more: string[]) => Promise<ChildResult>) => Promise<void>,
): void {
  commandTest(name, async (world) => {
    await world.signIn();
    const command = ["fetch", "--list", "-", "--output-dir", `${world.folder}/data`];
    await use(world, (...more) => world.run([...command, ...more], { stdin: list }));
  });
}

listTest(
  "fetch --list saves the listed files, keeps existing ones, and reports failures",
  `\ufeff# stations\r\n${CSV}\r\n  /v1/stations\tby name/all stations.json \n\n/v1/no%20such?key=hidden\n`,
  async ({ folder }, fetch) => {
    const { code, stdout, stderr } = await fetch();
    assertEquals([code, stderr], [1, ""]);
    const [headline = "", failure = "", ...more] = stdout.trimEnd().split("\n");
    assertMatch(headline, /^◐ 2 files saved, 1 failed · .* in /);
    assertMatch(failure, /^✗ failed: \/v1\/no%20such → .*no such: Cannot GET .* with 404/);
    assertEquals(more.at(-1), "  next: run the download again; existing files are kept");
    assertEquals(stdout.includes("hidden"), false);
    assertEquals(filesBelow(folder), ["data/by name/all stations.json", "data/observations.csv"]);

    const again = await fetch("--json", "--concurrency", "1");
    const { counts, failed } = JSON.parse(again.stdout);
    assertEquals([again.code, again.stderr], [1, ""]);
    assertEquals(counts, { saved: 0, kept: 2, failed: 1 });
    assertEquals([failed[0].error.code, failed[0].input], ["API_STATUS", "/v1/no%20such"]);
    const strict = await fetch("--if-exists", "error", "--json");
    assertEquals(JSON.parse(strict.stdout).counts, { saved: 0, kept: 0, failed: 3 });
  },
);

commandTest(
  "fetch --list reads a file, and saves in the working folder",
  async ({ folder, runSeparately, signIn }) => {
    await signIn();
    await Deno.writeTextFile(`${folder}/urls.txt`, `${CSV} here.csv`);
    const saved = await runSeparately(["fetch", "--list", "urls.txt"]);
    assertEquals([saved.code, saved.stderr], [0, ""]);
    assertEquals(filesBelow(folder), ["here.csv", "urls.txt"]);
  },
);

const UNUSABLE = /Line 1 of standard input has no file name, or one that is hidden or outside/;
const wrong: [what: string, list: string, said: RegExp][] = [
  ["an address without a file name", "/v1/stations/\n", UNUSABLE],
  ["a file outside the folder", "/v1/stations ../x\n", UNUSABLE],
  ["an absolute path", "/v1/stations /tmp/x\n", UNUSABLE],
  ["an address that would become a hidden file", "/v1/%2eenv\n", UNUSABLE],
  ["two addresses with the same file name", "/a/x?day=1\n/a/x?day=2\n", /Lines 1 and 2 of .* as x/],
];
for (const [what, list, said] of wrong) {
  listTest(
    `fetch --list reports ${what} before anything is sent`,
    list,
    async ({ folder, sandbox }, fetch) => {
      const { code, stderr } = await fetch();
      assertEquals(code, 2);
      assertMatch(stderr, said);
      assertEquals([filesBelow(folder), sandbox.apiRequests], [[], []]);
    },
  );
}

listTest(
  "fetch --list stays inside the folder if an address contains an encoded ../",
  "/v1/a%2f..%2f..%2fx\n/v1/b%5c%2e%2e%5cy\n",
  async ({ folder }, fetch) => {
    const { failed } = JSON.parse((await fetch("--json")).stdout);
    const files = failed.map(({ file }: { file: string }) => file.replace(folder, "")).sort();
    assertEquals(files, ["/data/a_.._.._x", "/data/b_.._y"]);
  },
);
