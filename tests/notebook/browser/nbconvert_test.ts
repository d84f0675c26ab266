import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { code, notebookOf } from "../kernel/notebook_builders.ts";
import { codeCells, readNotebook, writeNotebook } from "../kernel/notebook.ts";
import { jupyterHome, nbconvert, noJupyter } from "../../support/jupyter.ts";
import { testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { rounds } from "../../support/property.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";

const lack = noJupyter("jupyter-nbconvert");

const RUNS = rounds(10, 100);

const PAUSE = "await new Promise((resolve) => setTimeout(resolve, 5));";

testNeeding(
  lack,
  `nbconvert keeps what show() shows, and cards, in their own cells, ${RUNS} times`,
  async () => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const path = `${home.folder}/cards.ipynb`;
    const show = new URL("../../../src/notebook/mod.ts", import.meta.url);
    const logins = Array.from({ length: RUNS }, () => code("await login({ force: true })"));
    // As after a call: this is where a plain value is lost in up to half of the cells.
    const shows = Array.from(
      { length: RUNS },
      (_, number) => code(`${PAUSE}\nawait show("value ${number}");`),
    );
    const first = code(`${importing("createSession, login")}\nimport { show } from "${show}";`);
    // nbconvert cannot prompt: the error lists what is missing. Text that a cell prints may arrive
    // after its end, so the error is thrown.
    const asking = `for (const name of ["USERNAME", "PASSWORD"]) Deno.env.set(name, "");
      await createSession({ envFile: false }).login();`;
    const last = code(asking, [], ["raises-exception"]);
    await writeNotebook(path, notebookOf(first, ...logins, ...shows, last));
    await nbconvert(home, "cards.ipynb", settingsEnvironment(sandbox.settings));
    const outputs = codeCells(await readNotebook(path)).map(({ cell }) => cell.outputs);
    const [imports, ...values] = outputs.slice(0, -1);
    assertEquals(imports, []);
    const texts = values.map((shown) => {
      const [value, ...others] = shown;
      assertEquals(others, []);
      return value && "data" in value ? value.data : {};
    });
    const cards = texts.slice(0, RUNS).filter((data) =>
      "text/html" in data && "text/plain" in data
    );
    // On a busy machine a kernel may lose the value of a cell, see docs/notebooks.md.
    assert(cards.length >= RUNS * 0.8, `of ${RUNS} cards, ${cards.length} are shown`);
    const shown = texts.slice(RUNS).map((data) => data["text/plain"]);
    assertEquals(shown, Array.from({ length: RUNS }, (_, number) => `value ${number}`));
    const missing = JSON.stringify(outputs.at(-1));
    assertStringIncludes(missing, "ConfigError: Cannot log in: missing USERNAME, PASSWORD");
    assertStringIncludes(missing, "MISSING_SETTINGS");
    const { password, clientSecret } = sandbox.settings;
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const secrets = [password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
    assertEquals(repeatedPart(await Deno.readTextFile(path), secrets), undefined);
    assertEquals(sandbox.requests.map(({ status }) => status), Array(RUNS).fill(200));
  },
);
