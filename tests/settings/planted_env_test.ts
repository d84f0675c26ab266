/** A stranger who leaves a `.env` where the search may find it receives no secret. */
import { assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { ROOT_ONLY, subject } from "../support/needs.ts";
import { variablesOf } from "../support/sandbox_env.ts";
import { record } from "../support/raw_http.ts";

/** Logs in, calls the API, and prints the results. */
const SCRIPT = `
  import { accessToken, authFetch, login, status } from ${JSON.stringify(MOD_PATH)};
  const outcome = async (work) => await work().then((it) => it.state ?? it.status, ({ code, message }) =>
    code + (message.includes("belongs to another user") ? " (of another user)" : ""));
  const before = await outcome(accessToken);
  console.log(await outcome(() => login({ force: true })));
  console.log(await outcome(() => authFetch("/v1/whoami")));
  console.log(before);
  console.log(status().warnings.join());`;

const STRANGER = 12_345;

/** The path of the stranger's file, and the folder where the user works. */
interface Place {
  readonly planted: string;
  readonly work: string;
  readonly marker?: string;
  readonly owner?: number;
  /** Whether the file is behind a link. */
  readonly link?: true;
}

const places: Record<string, Place> = {
  "above the project root": { planted: "", work: "project/notebooks", marker: "project/.git" },
  "in a parent folder outside any project": { planted: "", work: "a/b" },
  "of another user in the working folder": { planted: "", work: "", owner: STRANGER },
  "of another user at the project root": {
    planted: "",
    work: "notebooks",
    marker: "deno.json",
    owner: STRANGER,
  },
  "of another user, reached through a link,": {
    planted: "notebooks/",
    work: "notebooks",
    marker: ".git",
    owner: STRANGER,
    link: true,
  },
};

const isForeign = (place: Place) => place.owner !== undefined;
const { owned = [], foreign = [] } = Object.groupBy(
  Object.entries(places),
  ([, place]) => isForeign(place) ? "foreign" : "owned",
);
for (const [what, place] of owned) plantedTest(Deno.test, what, place);
subject(ROOT_ONLY, "a planted .env of another user", (test) => {
  for (const [what, place] of foreign) plantedTest(test, what, place);
});

function plantedTest(test: typeof Deno.test, what: string, place: Place): void {
  test(`hosts in a planted .env ${what} receive neither password nor token`, async () => {
    await using sandbox = await startSandbox();
    await using evil = record();
    await inFolder(async (folder) => {
      await Deno.mkdir(`${folder}/${place.work}`, { recursive: true });
      if (place.marker) await Deno.writeTextFile(`${folder}/${place.marker}`, "{}");
      const text = `AUTH_URL=${evil.origin}\nAPI_BASE_URL=${evil.origin}\n` +
        `API_ALLOWED_ORIGINS=${evil.origin}\nAUTH_TIMEOUT_MS=1\n`;
      const path = `${folder}/${place.planted}.env`;
      const file = place.link ? `${folder}/theirs` : path;
      await Deno.writeTextFile(file, text);
      if (place.link) await Deno.symlink(file, path);
      if (place.owner !== undefined) await Deno.chown(file, place.owner, place.owner);
      const { AUTH_URL, API_BASE_URL, ...account } = variablesOf(sandbox.settings);
      const run = async (env: Record<string, string>) => {
        const options = { cwd: `${folder}/${place.work}`, flags: ["-A"], env };
        return (await runScript(SCRIPT, options)).stdout;
      };
      // The stranger's addresses are used neither alone nor together with the user's own.
      const why = isForeign(place) ? " (of another user)" : "";
      const codes = ["MISSING_SETTINGS", "MISSING_SETTINGS", "NO_SESSION"];
      assertEquals((await run(account)).split("\n").slice(0, 3), codes.map((code) => code + why));
      const own = await run({
        ...account,
        AUTH_URL: AUTH_URL ?? "",
        API_BASE_URL: API_BASE_URL ?? "",
      });
      assertMatch(own, /^valid\n200\n/);
      assertEquals(/belongs to another user/.test(own), isForeign(place));
      assertEquals(evil.requests.length, 0);
      assertEquals(await Deno.readTextFile(file), text);
    });
  });
}
