import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { codeCells, readNotebook, writeNotebook } from "../../notebook/kernel/notebook.ts";
import { code, notebookOf } from "../../notebook/kernel/notebook_builders.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { namesIn, outputOf } from "../../support/child_deno.ts";
import { codeBlocks, sectionOf } from "../../support/documented_flags.ts";
import { jupyterHome, noJupyter } from "../../support/jupyter.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { importing, variablesOf } from "../../support/sandbox_env.ts";

testNeeding(
  NO_SHELL ?? noJupyter("jupyter-nbconvert"),
  "the recipe for unattended notebooks runs, or fails instead of prompting",
  async () => {
    const [commands = ""] = codeBlocks("docs/notebooks.md", "Runs without a prompt");
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const { folder } = home;
    await writeNotebook(
      `${folder}/report.ipynb`,
      notebookOf(
        code(`${importing("authFetch, login")}\nawait login();`),
        // A file, because the kernel may send a displayed value too late for nbconvert.
        code('Deno.writeTextFileSync("status", `${(await authFetch("/v1/stations")).status}`);'),
      ),
    );
    const run = (variables: Record<string, string>) =>
      outputOf("bash", {
        args: ["-eu", "-c", commands],
        cwd: folder,
        env: { ...variables, ...home.env },
      });
    const reports = () => namesIn(folder).filter((name) => name.startsWith("report-"));
    const settings = variablesOf(sandbox.settings);
    const asked = await run({ ...settings, USERNAME: "", PASSWORD: "" });
    assertMatch(asked.stderr, /Cannot log in: missing USERNAME, PASSWORD/);
    assertEquals([asked.code, reports(), sandbox.requests.length], [1, [], 0]);

    const ran = await run(settings);
    assertEquals(ran.code, 0, ran.stderr);
    const [report = ""] = reports();
    assertMatch(report, /^report-\d{4}-\d{2}-\d{2}\.ipynb$/);
    assertEquals(await Deno.readTextFile(`${folder}/status`), "200");
    const text = JSON.stringify(await readNotebook(`${folder}/${report}`));
    const { password, clientSecret } = sandbox.settings;
    assertEquals(repeatedPart(text, [password, clientSecret]), undefined);
    assertEquals(text.includes("eyJ"), false);
  },
);

/** Line breaks and commas before a bracket do not matter. */
const bare = (text: string) => text.replace(/\s+/g, "").replace(/,(?=[}\])])/g, "");

Deno.test("notebook 04 contains the code of each row in the table for pandas users", async () => {
  const table = sectionOf("docs/notebooks.md", "Coming from pandas");
  const rows = [...table.matchAll(/^\| `.*` +\| (.*`.*) +\|$/gm)].map(([, here = ""]) => here);
  assert(rows.length > 12, `${rows.length} rows`);
  const notebook = await readNotebook(
    new URL("../../../notebooks/04_explore_data.ipynb", import.meta.url),
  );
  const cells = codeCells(notebook).map(({ cell }) => cell.source).join("\n");
  const pieces = rows.flatMap((here) => [...here.matchAll(/`([^`]+)`/g)])
    .map(([, piece = ""]) => piece);
  const missing = pieces.filter((piece) => {
    // "…" stands for anything.
    const pattern = bare(piece).split("…").map(RegExp.escape).join(".*");
    return piece !== ".env" && !new RegExp(pattern).test(bare(cells));
  });
  assertEquals(missing, []);
});
