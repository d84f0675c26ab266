import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { basename } from "node:path";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { repeatedPart } from "../support/canaries.ts";
import { code, notebookOf } from "../notebooks/notebook_builders.ts";
import {
  codeCells,
  compareOutputs,
  hasTag,
  type Notebook,
  readNotebook,
  scanForSecrets,
  writeNotebook,
} from "../notebooks/notebook.ts";
import { listNotebooks } from "../notebooks/main.ts";
import { jupyterHome, nbconvert, noJupyter, notebooksHome } from "../support/jupyter.ts";
import { testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { rounds, SOAK } from "../support/property.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";

const lack = noJupyter("jupyter-nbconvert");

const CARDS = rounds(10, 100);

/** The MIME types of each value that a cell of the executed notebook shows, cell by cell. */
function valuesOf(notebook: Notebook): string[][] {
  return codeCells(notebook).map(({ cell }) =>
    cell.outputs.map((output) =>
      "data" in output ? Object.keys(output.data).sort().join(" ") : output.output_type
    )
  );
}

testNeeding(
  lack,
  `nbconvert keeps the card of login() in its own cell, ${CARDS} times`,
  async () => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const path = `${home.folder}/cards.ipynb`;
    const cells = Array.from({ length: CARDS }, () => code("await login({ force: true })"));
    await writeNotebook(path, notebookOf(code(importing("login")), ...cells));
    await nbconvert(home, "cards.ipynb", settingsEnvironment(sandbox.settings));
    const executed = await readNotebook(path);
    assertEquals(valuesOf(executed), [
      [],
      ...Array.from({ length: CARDS }, () => ["text/html text/plain"]),
    ]);
    const { password, clientSecret } = sandbox.settings;
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const secrets = [password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
    const file = await Deno.readTextFile(path);
    assertEquals(repeatedPart(file, secrets), undefined);
    assertEquals(sandbox.requests.length, CARDS);
    assert(sandbox.requests.every(({ status }) => status === 200));
  },
);

testNeeding(lack, `nbconvert keeps what show() shows in its own cell, ${CARDS} times`, async () => {
  await using home = await jupyterHome();
  const path = `${home.folder}/values.ipynb`;
  const show = new URL("../../src/notebook/mod.ts", import.meta.url);
  // As after a call: this is where a plain value is lost in up to half of the cells.
  const pause = "await new Promise((resolve) => setTimeout(resolve, 5));";
  const texts = Array.from({ length: CARDS }, (_, number) => `value ${number}`);
  const cells = texts.map((text) => code(`${pause}\nawait show("${text}");`));
  const first = code(`import { show } from "${show}";`);
  await writeNotebook(path, notebookOf(first, ...cells, code("const end = 1;")));
  await nbconvert(home, "values.ipynb");
  const shown = codeCells(await readNotebook(path))
    .map(({ cell }) => cell.outputs.map((output) => "data" in output && output.data["text/plain"]));
  assertEquals(shown, [[], ...texts.map((text) => [text]), []]);
});

testNeeding(
  lack,
  "nbconvert, which cannot ask, shows what is missing",
  async () => {
    await using sandbox = await startSandbox();
    await using home = await jupyterHome();
    const path = `${home.folder}/asking.ipynb`;
    // The error itself, not a text that the cell prints: what is printed may arrive after the cell's
    // end, when nbconvert has stopped listening.
    await writeNotebook(
      path,
      notebookOf(code(importing("login")), code("await login()", [], ["raises-exception"])),
    );
    const variables = settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD");
    await nbconvert(home, "asking.ipynb", variables);
    const [, asking] = codeCells(await readNotebook(path));
    const shown = JSON.stringify(asking?.cell.outputs);
    assertStringIncludes(shown, "ConfigError: Cannot log in: missing USERNAME, PASSWORD");
    assertStringIncludes(shown, "MISSING_SETTINGS");
  },
);

const RUNS = Math.ceil(20 * SOAK);

for (const path of SOAK > 0 ? await listNotebooks() : []) {
  const name = basename(path);
  testNeeding(lack, `nbconvert executes ${name} as its file shows it, ${RUNS} times`, async () => {
    const committed = codeCells(await readNotebook(path));
    for (let run = 0; run < RUNS; run++) {
      // Copies: the committed file stays as it is.
      await using home = await notebooksHome([path]);
      await nbconvert(home, name);
      const executed = await readNotebook(`${home.folder}/${name}`);
      const different = codeCells(executed).flatMap(({ cell, number }, index) => {
        const unstable = hasTag(cell, "unstable-output");
        return compareOutputs(committed[index]?.cell.outputs ?? [], cell.outputs, { unstable })
          .map((message) => `[${number}] ${message}`);
      });
      assertEquals(different, [], `run ${run + 1}`);
      assertEquals(scanForSecrets(executed), []);
    }
  });
}
