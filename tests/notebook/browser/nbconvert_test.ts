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

const RUNS = rounds(10, 100);

testNeeding(
  noJupyter("jupyter-nbconvert"),
  "nbconvert saves the output of each show() in its cell",
  async () => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const path = `${home.folder}/cards.ipynb`;
    const show = new URL("../../../src/notebook/mod.ts", import.meta.url);
    // The pause stands for a call. After it, nbconvert loses up to half of the values that a cell
    // returns without show().
    const shows = Array.from(
      { length: RUNS },
      (_, number) =>
        code(`await new Promise((resolve) => setTimeout(resolve, 5));
        await show("value ${number}");`),
    );
    // nbconvert cannot prompt, so the error lists what is missing.
    const prompting = code(
      `for (const name of ["USERNAME", "PASSWORD"]) Deno.env.set(name, "");
      await createSession({ envFile: false }).login();`,
      [],
      ["raises-exception"],
    );
    const first = code(`${importing("createSession, login")}\nimport { show } from "${show}";`);
    const login = code("await show(await login());");
    await writeNotebook(path, notebookOf(first, login, ...shows, prompting));
    await nbconvert(home, "cards.ipynb", settingsEnvironment(sandbox.settings));
    const outputs = codeCells(await readNotebook(path)).map(({ cell }) => cell.outputs);
    const card = outputs[1]?.[0]?.data?.["text/html"];
    assertMatch(String(card), /Signed in as student/, JSON.stringify(outputs[1]));
    assertEquals(
      outputs.slice(2, -1).map((shown) => shown.map(({ data }) => data?.["text/plain"])),
      Array.from({ length: RUNS }, (_, number) => [`value ${number}`]),
    );
    assertStringIncludes(JSON.stringify(outputs.at(-1)), "MISSING_SETTINGS");
    const { password, clientSecret } = sandbox.settings;
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const secrets = [password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
    assertEquals(repeatedPart(await Deno.readTextFile(path), secrets), undefined);
  },
);
