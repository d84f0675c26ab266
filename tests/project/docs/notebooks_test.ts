import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { codeCells, readNotebook, writeNotebook } from "../../notebook/kernel/notebook.ts";
import { code, notebookOf } from "../../notebook/kernel/notebook_builders.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { outputOf } from "../../support/child_deno.ts";
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

Deno.test("notebook 04 contains the code of each row in the table for pandas users", async () => {
  const table = sectionOf("docs/notebooks.md", "Coming from pandas");
  const rows = [...table.matchAll(/^\| `.*` +\| (.*`.*) +\|$/gm)].map(([, here = ""]) => here);
  assert(rows.length > 12, `${rows.length} rows`);
  const notebook = await readNotebook(
    new URL("../../../notebooks/04_explore_data.ipynb", import.meta.url),
  );
  const code = codeCells(notebook).map(({ cell }) => cell.source).join("\n");
  const lines = rows.flatMap((here) => [...here.matchAll(/`([^`]+)`/g)].map(([, text]) => text));
  const missing = lines.filter((text = "") => text !== ".env" && !isPartOf(text, code));
  assertEquals(missing, []);
  const packages = (text: string) =>
    [...text.matchAll(/from "(npm:[^"]+)"/g)].map(([, name]) => name).sort();
  assertEquals(packages(table), packages(code), "the page imports the notebook's versions");
  assertEquals(isPartOf("await plot({ … marks: (Plot) => Plot.barY(", code), false);
});

/** Whether `code` contains `text`, in which "…" stands for anything. Line breaks do not matter. */
function isPartOf(text: string, code: string): boolean {
  const bare = (words: string) => words.replace(/\s+/g, "").replace(/,(?=[}\])])/g, "");
  let at = 0;
  return text.split("…").map(bare).every((piece) => {
    const found = bare(code).indexOf(piece, at);
    at = found + piece.length;
    return found >= 0;
  });
}
