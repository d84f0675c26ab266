/**
 * Takes the picture of a notebook in the README, and records its words next to it:
 *
 *     deno task picture
 */
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { code, notebookOf } from "../kernel/notebook_builders.ts";
import { withoutAmounts } from "../kernel/compare_outputs.ts";
import { writeNotebook } from "../kernel/notebook.ts";
import { jupyterHome, startJupyter } from "../../support/jupyter.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import type { Browser } from "playwright-core";
import UPNG from "upng-js";
import { launchBrowser, openPage } from "../../support/browser.ts";
import { ClassicPage } from "./classic_page.ts";

const IMAGES = new URL("../../../docs/images/", import.meta.url);
const PICTURE = new URL("notebook.png", IMAGES);
/** The file with the words in the picture. */
export const WORDS = new URL("notebook.txt", IMAGES);

const CELLS = [
  `import { fetchJson, login } from "../mod.ts";
import { plot, show } from "../src/notebook/mod.ts";

await show(await login());`,
  `const week = "from=2025-07-07&to=2025-07-14";
const get = (id: string) => fetchJson(\`/v1/stations/\${id}/observations?\${week}\`);
const both = await Promise.all(["gull-harbor", "snow-pass"].map(get));
await plot({
  title: "A week in July, at the sea and on the pass",
  y: { label: "Temperature (°C)", grid: true, ticks: 5 },
  height: 240,
  marks: (Plot) => both.map(({ station, items }) =>
    Plot.lineY(items, { x: "time", y: "temperatureC", stroke: () => station })),
});`,
];

/** Copies the cell that signs in while its prompt is open. */
const COPY_PROMPT =
  `void (globalThis.asking = document.querySelector(".code_cell").cloneNode(true))`;

/** Shows the copy above that cell's card. Runs last, so that Jupyter does not find the copy earlier. */
const SHOW_PROMPT = `{
  const cell = document.querySelector(".code_cell");
  for (const part of cell.querySelectorAll(".input, .output_area")) {
    if (!part.querySelector("[role=group]")) part.remove();
  }
  cell.before(asking);
  document.activeElement.blur();
}`;

/** Shows the cells and nothing else, in the width of the README. */
const STYLE = `
  body { background: white !important }
  #header, #notebook > .end_space { display: none !important }
  #site { height: auto !important; overflow: visible !important }
  #notebook { padding: 0 !important }
  #notebook-container { width: 830px !important; margin: 0 !important; padding: 8px 12px !important;
    min-height: 0 !important; box-shadow: none !important }
  .cell, .cell.selected { border-color: transparent !important; padding: 2px 0 !important }
  .cell.selected::before { display: none !important }
  .prompt { min-width: 9ex !important }
`;

/** Signs in and plots in a real notebook, and returns its picture and the words in it. */
export async function takePicture(browser: Browser): Promise<{ png: Uint8Array; words: string }> {
  await using sandbox = await startSandbox();
  const user = { username: "ada", password: crypto.randomUUID() };
  sandbox.addUser(user);
  await using home = await jupyterHome();
  for (const name of ["mod.ts", "src"]) {
    await Deno.symlink(new URL(`../../../${name}`, import.meta.url), `${home.folder}/../${name}`);
  }
  await writeNotebook(`${home.folder}/week.ipynb`, notebookOf(...CELLS.map((cell) => code(cell))));
  const { USERNAME: _name, PASSWORD: _password, ...settings } = variablesOf(sandbox.settings);
  await writeEnv(home.folder, settings);
  await using server = await startJupyter(home, { USERNAME: "", PASSWORD: "" });
  const { page } = await openPage(browser, { deviceScaleFactor: 2 });
  await page.setViewportSize({ width: 900, height: 1400 });
  const notebook = await ClassicPage.open(page, `${server.url}notebooks/week.ipynb`);
  await page.addStyleTag({ content: STYLE });
  await notebook.start(0);
  await notebook.answer(0, "password", "");
  await notebook.answer(0, "text", user.username);
  await (await notebook.asked(0, "password")).fill("twelve dots.");
  await page.evaluate(COPY_PROMPT);
  await notebook.answer(0, "password", user.password);
  await notebook.card(0);
  await notebook.run(1);
  await notebook.cell(1).getByRole("img", { name: "A week in July" }).waitFor();
  await page.evaluate(SHOW_PROMPT);
  const shown = page.locator("#notebook-container");
  return { png: await shown.screenshot(), words: wordsOf(await shown.innerText()) };
}

/** The lines that contain words. Ports and times differ in each picture. */
function wordsOf(text: string): string {
  const lines = text.replaceAll("\u200b", "").split("\n").map((line) =>
    withoutAmounts(line).trim()
  );
  return lines.filter((line) => line !== "").join("\n") + "\n";
}

/** The same picture with a palette of 256 colors, which takes a third of the bytes. */
function withPalette(png: Uint8Array): Uint8Array {
  const image = UPNG.decode(png);
  const { width, height } = image;
  return new Uint8Array(UPNG.encode(UPNG.toRGBA8(image), width, height, 256));
}

if (import.meta.main) {
  await using browser = await launchBrowser();
  const { png, words } = await takePicture(browser);
  await Deno.writeFile(PICTURE, withPalette(png));
  await Deno.writeTextFile(WORDS, words);
}
