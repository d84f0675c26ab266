import { assertEquals } from "@std/assert";
import { chromiumTest } from "../../support/browser.ts";
import { noJupyter } from "../../support/jupyter.ts";
import { takePicture, WORDS } from "./notebook_picture.ts";

chromiumTest(
  "classic Jupyter masks the prompts of login(), and shows the prompt, card and plot of the README",
  async (browser) => {
    const { words } = await takePicture(browser);
    assertEquals(words, await Deno.readTextFile(WORDS), "take it again: deno task picture");
  },
  noJupyter("jupyter-notebook"),
);
