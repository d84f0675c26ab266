import { assert, assertEquals } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { jupyterHome, nbconvert, noJupyter } from "../../support/jupyter.ts";
import { testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { writeNotebook } from "../kernel/notebook.ts";
import { code, notebookOf } from "../kernel/notebook_builders.ts";

// nbconvert may lose the output of a cell on a busy machine, so the cells write what is compared.
testNeeding(
  noJupyter("jupyter-nbconvert"),
  "a notebook of nbconvert logs in, never prompts, and saves no secret",
  async () => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using home = await jupyterHome();
    const path = `${home.folder}/cards.ipynb`;
    const notebook = notebookOf(
      code(importing("createSession, login")),
      code("await login();"),
      code(
        `for (const name of ["USERNAME", "PASSWORD"]) Deno.env.set(name, "");
        await createSession({ envFile: false }).login().catch(({ code }) =>
          Deno.writeTextFile("code.txt", code));`,
      ),
    );
    await writeNotebook(path, notebook);
    await nbconvert(home, "cards.ipynb", settingsEnvironment(sandbox.settings));
    assertEquals(await Deno.readTextFile(`${home.folder}/code.txt`), "MISSING_SETTINGS");
    const { password, clientSecret } = sandbox.settings;
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const secrets = [password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
    assertEquals(repeatedPart(await Deno.readTextFile(path), secrets), undefined);
  },
);
