/** Another user of the computer who leaves a `.env` where the search finds it receives no secret. */
import { assertEquals } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { ROOT_ONLY, testNeeding } from "../support/needs.ts";
import { variablesOf } from "../support/sandbox_env.ts";
import { record } from "../support/local_server.ts";

/** Prints the results of calls, and whether each error and the last warning name the other user. */
const SCRIPT = `
  import { accessToken, authFetch, login, status } from ${JSON.stringify(MOD_PATH)};
  const isReason = (text) => text.includes("belongs to another user");
  const print = (call) => call.then((it) => console.log(it.state ?? it.status),
    ({ code, message }) => console.log(code, isReason(message)));
  await print(accessToken());
  await print(login({ force: true }));
  await print(authFetch("/v1/whoami"));
  console.log(isReason(status().warnings.join()));`;

const STRANGER = 12_345;

/** The folder of the stranger's file, the folder where the user works, and the mark of a project. */
const PLACES: [what: string, folder: string, work: string, marker?: string][] = [
  ["in the working folder", "", ""],
  ["at the project root", "", "notebooks", "deno.json"],
  ["reached through a link", "notebooks/", "notebooks", ".git"],
];
for (const [what, folderOfFile, work, marker] of PLACES) {
  testNeeding(
    ROOT_ONLY,
    `no password or token is sent to the hosts in another user's .env ${what}`,
    async () => {
      await using sandbox = await startSandbox();
      await using evil = record();
      await inFolder(async (folder) => {
        await Deno.mkdir(`${folder}/${work}`, { recursive: true });
        if (marker) await Deno.writeTextFile(`${folder}/${marker}`, "{}");
        const text = `AUTH_URL=${evil.origin}\nAPI_BASE_URL=${evil.origin}\n` +
          `API_ALLOWED_ORIGINS=${evil.origin}\nAUTH_TIMEOUT_MS=1\n`;
        const path = `${folder}/${folderOfFile}.env`;
        const isLink = what.includes("link");
        const file = isLink ? `${folder}/theirs` : path;
        await Deno.writeTextFile(file, text);
        if (isLink) await Deno.symlink(file, path);
        await Deno.chown(file, STRANGER, STRANGER);
        const run = async (env: Record<string, string>) => {
          const options = { cwd: `${folder}/${work}`, flags: ["-A"], env };
          return (await runScript(SCRIPT, options)).stdout.trim().split("\n");
        };
        // The stranger's addresses are used neither alone nor together with the user's own.
        const { AUTH_URL = "", API_BASE_URL = "", ...account } = variablesOf(sandbox.settings);
        const missing = "MISSING_SETTINGS true";
        assertEquals(await run(account), ["NO_SESSION true", missing, missing, "true"]);
        const own = await run({ ...account, AUTH_URL, API_BASE_URL });
        assertEquals(own.slice(1), ["valid", "200", "true"]);
        assertEquals(evil.requests.length, 0);
        assertEquals(await Deno.readTextFile(file), text);
      });
    },
  );
}
