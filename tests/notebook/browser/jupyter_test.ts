import { assert, assertEquals, assertMatch } from "@std/assert";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { ClassicPage } from "./classic_page.ts";
import { assertReadable } from "../../support/contrast.ts";
import { SCREENSHOTS, SESSION_CELLS, signInWorld, walkThrough } from "./notebook_page.ts";
import { takePicture, WORDS } from "./notebook_picture.ts";
import { readNotebook } from "../kernel/notebook.ts";
import { scanForSecrets } from "../kernel/scan_for_secrets.ts";
import { noJupyter, startJupyter } from "../../support/jupyter.ts";

chromiumTest(
  "classic Jupyter masks the prompt of login(), shows cards, and saves no secret",
  async (browser) => {
    await using world = await signInWorld("cards.ipynb", SESSION_CELLS);
    const { home, path } = world;
    await using server = await startJupyter(home, world.variables);
    const { page } = await openPage(browser);
    const notebook = await ClassicPage.open(page, `${server.url}notebooks/cards.ipynb`);
    await walkThrough(notebook, world, async (index, name, words, color) => {
      const card = await notebook.card(index);
      await assertReadable(card.place, "light");
      if (SCREENSHOTS) await card.place.screenshot({ path: `${SCREENSHOTS}/card-${name}.png` });
      assertMatch(card.text, words);
      if (color) assertEquals(card.color, color);
    });
    const leftover = notebook.cell(1).getByText("A prompt is open");
    assertEquals(await leftover.count(), 0, "the line about the question is gone");
    const place = await notebook.cell(1).locator(".output_area").first().boundingBox();
    assert((place?.height ?? 99) < 12, "and leaves no empty line");
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/card-page.png` });

    await notebook.save();
    await world.assertNoSecret();
    const found = scanForSecrets(await readNotebook(path));
    assertEquals(found.filter((each) => /token|opaque/.test(each)), []);

    // Jupyter removes active content from an untrusted notebook, but keeps the text.
    await ClassicPage.open(page, `${server.url}notebooks/cards.ipynb`);
    const reopened = notebook.cell(3).locator(".output_html.output_result");
    await reopened.waitFor();
    assertMatch(
      (await reopened.innerText()).replace(/\s+/g, " "),
      /Signed in as ada .*automatically/,
    );
    if (SCREENSHOTS) await reopened.screenshot({ path: `${SCREENSHOTS}/card-untrusted.png` });
  },
  noJupyter("jupyter-notebook"),
);

chromiumTest(
  "the picture in the README shows the current prompt, card and plot",
  async (browser) => {
    const { words } = await takePicture(browser);
    assertEquals(words, await Deno.readTextFile(WORDS), "take it again: deno task picture");
  },
  noJupyter("jupyter-notebook"),
);
