import { assertEquals } from "@std/assert";
import { noJupyter } from "../../support/jupyter.ts";
import { chromiumTest } from "../../support/browser.ts";
import { takePicture, WORDS } from "./notebook_picture.ts";

chromiumTest(
  "the picture in the README shows today's prompt, card and plot",
  async (browser) => {
    const { words } = await takePicture(browser);
    assertEquals(words, await Deno.readTextFile(WORDS), "take it again: deno task picture");
  },
  noJupyter("jupyter-notebook"),
);
