import { assertEquals, assertMatch } from "@std/assert";
import { basename } from "node:path";
import type { Locator } from "playwright-core";
import { listNotebooks } from "../kernel/run_notebooks.ts";
import { codeCells, readNotebook } from "../kernel/notebook.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { assertReadable } from "../../support/contrast.ts";
import { LabPage, noJupyterLab, startJupyterLab, type Theme } from "./jupyterlab.ts";
import { SCREENSHOTS, SESSION_CELLS, signInWorld, walkThrough } from "./notebook_page.ts";
import { serveLocal } from "../../support/local_server.ts";
import { until } from "../../support/until.ts";

const GROUNDS = { Light: "light", Dark: "dark" } as const;

/** Asserts that each of these outputs can be read in this theme, and takes its picture. */
async function assertReadableIn(
  lab: LabPage,
  theme: Theme,
  outputs: Record<string, Locator>,
): Promise<void> {
  await lab.changeTheme(theme);
  for (const [name, place] of Object.entries(outputs)) {
    await assertReadable(place, GROUNDS[theme]);
    const path = `${SCREENSHOTS}/lab-${theme}-${name}.png`;
    if (SCREENSHOTS) await place.screenshot({ path });
  }
}

/** A server that sends the second half of a file only after `release()`. */
function heldFile(): AsyncDisposable & { readonly origin: string; release(): void } {
  const released = Promise.withResolvers<void>();
  const half = new Uint8Array(50_000);
  const headers = { "content-length": "100000", "content-type": "application/octet-stream" };
  const server = serveLocal(() => {
    const halves = async function* () {
      yield half;
      await released.promise;
      yield half;
    };
    return new Response(ReadableStream.from(halves()), { headers });
  });
  return {
    origin: server.origin,
    release: () => released.resolve(),
    async [Symbol.asyncDispose]() {
      released.resolve();
      await server[Symbol.asyncDispose]();
    },
  };
}

const CELLS = [
  ...SESSION_CELLS,
  `await authFetch("/v1/stations").catch((error) => error.code)`,
  "status()",
  // This clock advances a second each time it is read, so that all progress is shown.
  `let ticks = 0;
configure({ monotonic: () => ticks += 1_000 });
await download(Deno.env.get("HELD_FILE"), "data.bin")`,
];

/** The outputs that are wider than their cell, and the pictures that are not displayed. */
const MISFITS = `[...document.querySelectorAll(".jp-NotebookPanel .jp-OutputArea-output")]
  .filter((place) => place.scrollWidth > place.clientWidth ||
    [...place.querySelectorAll("img")].some(({ complete, naturalWidth }) => !complete || !naturalWidth))
  .map((place) => place.innerText)`;

chromiumTest(
  "JupyterLab runs a session and shows every notebook",
  async (browser, t) => {
    await using world = await signInWorld("session.ipynb", CELLS);
    const { home, sandbox } = world;
    await using file = heldFile();
    const variables = { API_ALLOWED_ORIGINS: file.origin, HELD_FILE: `${file.origin}/data.bin` };
    await using server = await startJupyterLab(home, { ...world.variables, ...variables });
    const { page, problems } = await openPage(browser);
    await page.setViewportSize({ width: 1200, height: 900 });
    const lab = await LabPage.open(page, server);
    await lab.openNotebook("session.ipynb");

    await t.step("login() prompts with a masked box, and cards are readable", async () => {
      const cards: Record<string, Locator> = {};
      await walkThrough(lab, world, async (index, name, words, color) => {
        const card = await lab.card(index);
        assertMatch(card.text, words);
        if (color) assertEquals(card.color, color);
        cards[`card-${name}`] = card.place;
      });
      await assertReadableIn(lab, "Light", cards);
      await assertReadableIn(lab, "Dark", cards);
    });

    await t.step("Stop ends a call and keeps the variables", async () => {
      const hanging = { at: "api" as const, delayMs: 600_000, times: 1 };
      sandbox.failures.push(hanging);
      await lab.start(5);
      await until(() => hanging.times === 0);
      sandbox.failures.length = 0;
      await lab.menu("notebook:interrupt-kernel");
      await lab.ended(5);
      assertMatch(await lab.shown(5), /INTERRUPTED/);
      await lab.run(6);
      assertMatch((await lab.card(6)).text, /Signed in as ada/);
    });

    await t.step("a restarted kernel needs no login", async () => {
      await lab.restart();
      await lab.run(0);
      assertMatch((await lab.card(0)).text, /Signed in as ada/);
      await lab.run(5);
      assertMatch(await lab.shown(5), /200|Response/);
      const logins = sandbox.requests.filter(({ authFlow }) => authFlow === "USER_PASSWORD_AUTH");
      assertEquals(logins.length, 1);
    });

    await t.step("a download shows its progress, then a card", async () => {
      await lab.start(7);
      await lab.output(7).getByText(/data\.bin {2}█+░+ 50 % {2}50\.0 kB of 100\.0 kB/).waitFor();
      await assertReadableIn(lab, "Dark", { progress: lab.output(7) });
      await assertReadableIn(lab, "Light", { progress: lab.output(7) });
      file.release();
      await lab.ended(7);
      assertMatch((await lab.card(7)).text, /data\.bin .*saved.*100\.0 kB/);
      assertEquals(await lab.output(7).getByText(/[█░]/).count(), 0, "the bar is gone");
    });

    await t.step("the saved file contains no secret", async () => {
      await lab.save();
      await world.assertNoSecret();
    });

    const outputs = page.locator(".jp-NotebookPanel .jp-OutputArea-output");
    const rich = outputs.filter({ has: page.locator("[role=group], figure, table, progress") });
    let themes: Theme[] = ["Light", "Dark"];
    for (const path of await listNotebooks()) {
      const name = basename(path);
      await t.step(`${name} fits the page and is readable`, async () => {
        await Deno.copyFile(path, `${home.folder}/${name}`);
        await lab.show(name);
        await lab.ended(codeCells(await readNotebook(path)).length - 1);
        await page.waitForFunction("[...document.images].every(({ complete }) => complete)");
        for (const theme of themes) {
          const places = (await rich.all()).map((
            place,
            at,
          ) => [`${name.slice(0, 2)}-${at}`, place]);
          await assertReadableIn(lab, theme, Object.fromEntries(places));
          assertEquals(await page.evaluate(MISFITS), [], theme);
        }
        themes = themes.toReversed();
      });
    }
    assertEquals(problems.filter((it) => it.startsWith("http")), [], "no host but loopback");
  },
  noJupyterLab,
);
