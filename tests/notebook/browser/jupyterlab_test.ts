import { assertEquals, assertMatch } from "@std/assert";
import { basename } from "node:path";
import { listNotebooks } from "../kernel/run_notebooks.ts";
import {
  codeCells,
  compareOutputs,
  hasTag,
  readNotebook,
  scanForSecrets,
} from "../kernel/notebook.ts";
import { notebooksHome } from "../../support/jupyter.ts";
import { chromiumTest, openPage } from "../../support/browser.ts";
import { assertReadable } from "../../support/contrast.ts";
import { LabPage, noJupyterLab, startJupyterLab, type Theme } from "./jupyterlab.ts";
import { SCREENSHOTS, SESSION_CELLS, signInWorld, walkThrough } from "./notebook_page.ts";

const THEMES: [Theme, "light" | "dark"][] = [["Light", "light"], ["Dark", "dark"]];

/** A picture of a cell, in pixels that people see. */
async function picture(lab: LabPage, index: number, name: string): Promise<void> {
  if (SCREENSHOTS) await lab.cell(index).screenshot({ path: `${SCREENSHOTS}/lab-${name}.png` });
}

/** A file that stops in the middle until it is released. */
function heldFile(): AsyncDisposable & { readonly origin: string; release(): void } {
  const released = Promise.withResolvers<void>();
  const half = new Uint8Array(50_000);
  const headers = { "content-length": "100000", "content-type": "application/octet-stream" };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    const halves = async function* () {
      yield half;
      await released.promise;
      yield half;
    };
    return new Response(ReadableStream.from(halves()), { headers });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    release: () => released.resolve(),
    async [Symbol.asyncDispose]() {
      released.resolve();
      await server.shutdown();
    },
  };
}

const CELLS = [
  ...SESSION_CELLS,
  `await authFetch("/v1/stations").catch((error) => error.code)`,
  "status()",
  // By this clock a second passes at each look, so that every piece is shown.
  `let ticks = 0;
configure({ monotonic: () => ticks += 1_000 });
await download(Deno.env.get("HELD_FILE"), "data.bin")`,
];

chromiumTest(
  "in JupyterLab, light and dark: login() asks, masked; cards; Stop; restart; a download's progress",
  async (browser) => {
    await using world = await signInWorld("session.ipynb", CELLS);
    const { home, sandbox } = world;
    await using file = heldFile();
    const variables = { API_ALLOWED_ORIGINS: file.origin, HELD_FILE: `${file.origin}/data.bin` };
    await using server = await startJupyterLab(home, { ...world.variables, ...variables });
    const { page, problems } = await openPage(browser);
    await page.setViewportSize({ width: 1200, height: 900 });
    const lab = await LabPage.open(page, server);
    await lab.openNotebook("session.ipynb");
    await walkThrough(lab, world, async (index, name, words, color) => {
      for (const [theme, ground] of THEMES) {
        await lab.changeTheme(theme);
        const card = await lab.card(index);
        await assertReadable(card.place, ground);
        await picture(lab, index, `${theme}-card-${name}`);
        assertMatch(card.text, words);
        if (color) assertEquals(card.color, color, theme);
      }
    });

    const hanging = { at: "api" as const, delayMs: 600_000, times: 1 };
    sandbox.failures.push(hanging);
    await lab.start(5);
    while (hanging.times > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    sandbox.failures.length = 0;
    await lab.menu("notebook:interrupt-kernel");
    await lab.ended(5);
    assertMatch(await lab.shown(5), /INTERRUPTED/);
    await lab.run(6);
    assertMatch((await lab.card(6)).text, /Signed in as ada/, "Stop left the kernel its names");

    await lab.restart();
    await lab.run(0);
    assertMatch((await lab.card(0)).text, /Signed in as ada/);
    await lab.run(5);
    assertMatch(await lab.shown(5), /200|Response/);
    const logins = sandbox.requests.filter(({ authFlow }) => authFlow === "USER_PASSWORD_AUTH");
    assertEquals(logins.length, 1, "the restart needed no login");

    await lab.start(7);
    await lab.output(7).getByText(/data\.bin {2}█+░+ 50 % {2}50\.0 kB of 100\.0 kB/).waitFor();
    for (const [theme, ground] of THEMES) {
      await lab.changeTheme(theme);
      await assertReadable(lab.output(7), ground);
      await picture(lab, 7, `${theme}-progress-middle`);
    }
    file.release();
    await lab.ended(7);
    assertMatch((await lab.card(7)).text, /data\.bin .*saved.*100\.0 kB/);
    assertEquals(await lab.output(7).getByText(/[█░]/).count(), 0, "the bar is gone");
    await picture(lab, 7, "progress-end");

    await lab.save();
    await world.assertNoSecret();
    assertEquals(problems.filter((it) => it.startsWith("http")), [], "no host but loopback");
  },
  noJupyterLab,
);

/** The outputs that are wider than their place, and the pictures that do not show. */
const MISFITS = `[...document.querySelectorAll(".jp-NotebookPanel .jp-OutputArea-output")]
  .filter((place) => place.scrollWidth > place.clientWidth ||
    [...place.querySelectorAll("img")].some(({ complete, naturalWidth }) => !complete || !naturalWidth))
  .map((place) => place.innerText)`;

/** The notebooks with plots, tables and progress are run; the others are only shown. */
const RUN = ["04_explore_data.ipynb", "07_downloads.ipynb"];

chromiumTest(
  "in JupyterLab the notebooks show what their files show, on a light and on a dark page",
  async (browser, t) => {
    const paths = await listNotebooks();
    await using home = await notebooksHome(paths);
    await using server = await startJupyterLab(home);
    const { page } = await openPage(browser);
    await page.setViewportSize({ width: 1200, height: 900 });
    const lab = await LabPage.open(page, server);
    const outputs = page.locator(".jp-NotebookPanel .jp-OutputArea-output");
    const rich = outputs.filter({ has: page.locator("[role=group], figure, table, progress") });
    for (const path of paths) {
      const name = basename(path);
      await t.step(name, async () => {
        const committed = codeCells(await readNotebook(path));
        const isRun = RUN.includes(name);
        if (isRun) {
          await lab.openNotebook(name);
          await lab.menu("editmenu:clear-all");
          await lab.menu("notebook:run-all-cells");
        } else await lab.show(name);
        await lab.ended(committed.length - 1);
        await page.waitForFunction("[...document.images].every(({ complete }) => complete)");
        for (const [theme, ground] of THEMES) {
          await lab.changeTheme(theme);
          assertEquals(await page.evaluate(MISFITS), [], theme);
          for (const [index, place] of (await rich.all()).entries()) {
            // Tables have stripes, but words alone stand on the page.
            await assertReadable(place, ground);
            const file = `${SCREENSHOTS}/lab-${theme}-${name.slice(0, 2)}-${index + 1}.png`;
            if (SCREENSHOTS) await place.screenshot({ path: file });
          }
        }
        if (!isRun) return;
        await lab.save();
        const executed = await readNotebook(`${home.folder}/${name}`);
        const different = codeCells(executed).flatMap(({ cell, number }, index) => {
          const unstable = hasTag(cell, "unstable-output");
          return compareOutputs(committed[index]?.cell.outputs ?? [], cell.outputs, { unstable })
            .map((message) => `[${number}] ${message}`);
        });
        assertEquals(different, []);
        assertEquals(scanForSecrets(executed), []);
      });
    }
  },
  noJupyterLab,
);
