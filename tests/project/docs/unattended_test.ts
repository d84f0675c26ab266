import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { code, notebookOf } from "../../notebook/kernel/notebook_builders.ts";
import { readNotebook, writeNotebook } from "../../notebook/kernel/notebook.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder, outputOf } from "../../support/child_deno.ts";
import { childEnvironment } from "../../support/cli_world.ts";
import { documentText } from "../../support/documented_flags.ts";
import { REFUSING } from "../../support/free_port.ts";
import { jupyterHome, noJupyter } from "../../support/jupyter.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, variablesOf, writeEnv } from "../../support/sandbox_env.ts";

const CLI = fileURLToPath(new URL("../../../src/cli.ts", import.meta.url));

/** The code blocks in a section of a page. */
function blocksOf(path: string, section: string): string[] {
  const [, text = ""] = documentText(path).split(`## ${section}\n`);
  const [own = ""] = text.split(/^## /m);
  return [...own.matchAll(/^```.*\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
}

testNeeding(
  NO_SHELL,
  "the cron recipe works in the environment of cron",
  () =>
    inFolder(async (you) => {
      await using sandbox = await startSandbox();
      const [table = "", script = ""] = blocksOf("docs/recipes.md", "cron")
        .map((block) => block.replaceAll("/home/you", you));
      const job = `${you}/job`;
      const root = `${you}/.deno`;
      await Deno.mkdir(job);
      await Deno.mkdir(`${root}/bin`, { recursive: true });
      await Deno.symlink(Deno.execPath(), `${root}/bin/deno`);
      await outputOf(Deno.execPath(), {
        args: ["install", "-g", "-A", "--quiet", "--root", root, "-n", "platform-auth", CLI],
        env: childEnvironment(),
      });
      await writeEnv(job, variablesOf(sandbox.settings));
      await Deno.writeTextFile(`${job}/job.sh`, script, { mode: 0o755 });
      const lines = table.trimEnd().split("\n");
      const variables = lines.flatMap((line) => {
        const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(line) ?? [];
        return name === "" ? [] : [[name, value]];
      });
      const [, command = ""] = /^[\d*]+(?: [\d*]+){4} (.*)$/.exec(lines.at(-1) ?? "") ?? [];
      // cron sets only a home folder, a shell and the variables of the crontab.
      const env = { ...childEnvironment({ HOME: you }), ...Object.fromEntries(variables) };
      const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
      const run = async () =>
        (await outputOf("/bin/sh", {
          args: ["-c", command],
          cwd: you,
          env: { ...env, DENO_DIR },
          clearEnv: true,
        })).code;
      const log = () => Deno.readTextFile(`${job}/job.log`);

      assertEquals([await run(), await run()], [0, 0], await log());
      const [file] = [...Deno.readDirSync(`${job}/data`)];
      assertMatch(await Deno.readTextFile(`${job}/data/${file?.name}`), /^time,temperatureC/);
      assertEquals(sandbox.apiRequests.length, 1, "the second run sends nothing");
      const tokens = linesOf(`${job}/.env`);

      await Deno.remove(`${job}/data`, { recursive: true });
      const ada = { username: "ada", password: "in-two-steps" };
      sandbox.addUser({ ...ada, challenge: "SMS_MFA", phone: "+15555550100" });
      const { username: USERNAME, password: PASSWORD } = ada;
      await writeEnv(job, { ...variablesOf(sandbox.settings), USERNAME, PASSWORD });
      assertEquals(await run(), 3, await log());
      assertMatch(await log(), /a login is needed: platform-auth login --env-file .*job\/\.env\n$/);
      await writeEnv(job, { ...variablesOf(sandbox.settings), API_BASE_URL: REFUSING });
      assertEquals(await run(), 1);
      assertMatch(await log(), /failed with 1; the next run resumes\n$/);
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "", APP_CLIENT_SECRET = "" } = tokens;
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
      const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, APP_CLIENT_SECRET, ada.password];
      assertEquals(repeatedPart(await log(), secrets), undefined);
    }),
);

testNeeding(
  NO_SHELL ?? noJupyter("jupyter-nbconvert"),
  "the recipe for unattended notebooks runs, or fails instead of prompting",
  async () => {
    const [commands = ""] = blocksOf("docs/notebooks.md", "Runs without a prompt");
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const { folder } = home;
    await writeNotebook(
      `${folder}/report.ipynb`,
      notebookOf(
        code(`${importing("authFetch, login")}\nawait login();`),
        // A file, because the kernel may send a displayed value too late for nbconvert.
        code(
          'const { status } = await authFetch("/v1/stations");\n' +
            'Deno.writeTextFileSync("rows.txt", `${status} ${Deno.env.get("STATION")}`);',
        ),
      ),
    );
    const run = (variables: Record<string, string>) =>
      outputOf("bash", {
        args: ["-eu", "-c", commands],
        cwd: folder,
        env: { ...variables, ...home.env, STATION: "oak-valley" },
      });
    const settings = variablesOf(sandbox.settings);
    const asked = await run({ ...settings, USERNAME: "", PASSWORD: "" });
    assertEquals(asked.code, 1, asked.stderr);
    assertMatch(asked.stderr, /Cannot log in: missing USERNAME, PASSWORD/);
    const reports = () =>
      [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
        name.startsWith("report-")
      );
    assertEquals([reports(), sandbox.requests.length], [[], 0]);

    const { code: status, stderr } = await run(settings);
    assertEquals(status, 0, stderr);
    const [report = ""] = reports();
    assertMatch(report, /^report-\d{4}-\d{2}-\d{2}\.ipynb$/);
    const text = JSON.stringify(await readNotebook(`${folder}/${report}`));
    assertEquals(await Deno.readTextFile(`${folder}/rows.txt`), "200 oak-valley");
    assertEquals(
      repeatedPart(text, [sandbox.settings.password, sandbox.settings.clientSecret]),
      undefined,
    );
    assertEquals(text.includes("eyJ"), false);
    // nbconvert and `jupyter execute` each log in, because no file contains the session.
    assertEquals(sandbox.requests.map(({ status }) => status), [200, 200]);
  },
);
