import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { code, notebookOf } from "../kernel/notebook_builders.ts";
import { codeCells, readNotebook, writeNotebook } from "../kernel/notebook.ts";
import { jupyterHome, nbconvert, noJupyter } from "../../support/jupyter.ts";
import { testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { rounds } from "../../support/property.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";

const MODULE = new URL("../../../src/notebook/mod.ts", import.meta.url);
const VALUES = Array.from({ length: rounds(10, 100) }, (_, number) => `value ${number}`);

testNeeding(
  noJupyter("jupyter-nbconvert"),
  "nbconvert saves the output of each show() in its cell",
  async () => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const path = `${home.folder}/cards.ipynb`;
    const notebook = notebookOf(
      code(`${importing("createSession, login")}\nimport { show } from "${MODULE}";`),
      code("await show(await login());"),
      // The pause stands for a call. After it, nbconvert loses up to half of the values that a cell
      // returns without show().
      ...VALUES.map((value) =>
        code(`await new Promise((resolve) => setTimeout(resolve, 5));\nawait show("${value}");`)
      ),
      // nbconvert cannot prompt, so the error lists what is missing.
      code(
        `for (const name of ["USERNAME", "PASSWORD"]) Deno.env.set(name, "");
        await createSession({ envFile: false }).login();`,
        [],
        ["raises-exception"],
      ),
    );
    await writeNotebook(path, notebook);
    const converted = async () => {
      await nbconvert(home, "cards.ipynb", settingsEnvironment(sandbox.settings));
      const cells = codeCells(await readNotebook(path)).slice(1);
      return cells.map(({ cell }) => cell.outputs);
    };
    let outputs = await converted();
    // On a busy machine, even an output of show() may be lost. That is not so in each of three runs.
    for (let run = 2; run <= 3 && outputs.some(({ length }) => length === 0); run++) {
      outputs = await converted();
    }
    const [login = [], ...others] = outputs;
    assertMatch(String(login[0]?.data?.["text/html"]), /Signed in as student/);
    assertStringIncludes(JSON.stringify(others.pop()), "MISSING_SETTINGS");
    assertEquals(
      others.map((shown) => shown.map(({ data }) => data?.["text/plain"])),
      VALUES.map((value) => [value]),
    );
    const { password, clientSecret } = sandbox.settings;
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const secrets = [password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
    assertEquals(repeatedPart(await Deno.readTextFile(path), secrets), undefined);
  },
);
