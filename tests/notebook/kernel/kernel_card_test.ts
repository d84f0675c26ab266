import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder } from "../../support/child_deno.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { type CellResult, kernelTest, startKernel } from "./kernel.ts";

/** The one output of a cell: a card. */
function cardIn(result: CellResult): string {
  assertEquals(result.outputs.length, 1, JSON.stringify(result));
  const output = result.outputs[0];
  if (output?.output_type !== "execute_result") throw new Error(JSON.stringify(output));
  assertEquals(output.execution_count, result.executionCount);
  assertEquals(Object.keys(output.data).sort(), ["text/html", "text/plain"]);
  assertMatch(
    String(output.data["text/plain"]),
    /^● Signed in as student at 127\.0\.0\.1 · as of .*\n/,
  );
  assertStringIncludes(String(output.data["text/html"]), "Signed in as student at 127.0.0.1");
  return JSON.stringify(output);
}

/** The text of the line that a cell showed last, and of the card below it. */
function lineAndCardIn({ outputs }: CellResult): [line: string, card: string, html: string] {
  const [line, card] = outputs;
  assertEquals(outputs.length, 2, JSON.stringify(outputs));
  if (line?.output_type !== "display_data") throw new Error(JSON.stringify(line));
  if (card?.output_type !== "execute_result") throw new Error(JSON.stringify(card));
  const text = String(card.data["text/plain"]);
  return [String(line.data["text/plain"]), text, String(card.data["text/html"])];
}

kernelTest(
  "cards and progress show in their own cell, as HTML and as text, without a secret",
  () =>
    inFolder(async (folder) => {
      await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
      const env = settingsEnvironment(sandbox.settings);
      await using kernel = await startKernel({ cwd: folder, env });
      const names = "configure, doctor, download, downloadAll, fetchJson, login, status";
      await kernel.execute(importing(names));
      const shown: string[] = [];
      for (let run = 1; run <= 10; run++) {
        const one = await kernel.execute(`await login({ force: ${run % 2 === 0} })`);
        const two = await kernel.execute("status()");
        for (const result of [one, two]) shown.push(cardIn(result));
      }
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${folder}/.env`);
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
      const { password, clientSecret } = sandbox.settings;
      const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, password, clientSecret];
      assertEquals(repeatedPart(shown.join("\n"), secrets), undefined);

      const runtime = await kernel.execute("(await doctor()).checks[0].message");
      assertMatch(JSON.stringify(runtime.outputs), /login\(\) can prompt/);

      // By this clock a second passes at each look, so that every piece is shown.
      await kernel.execute("let ticks = 0; configure({ monotonic: () => ticks += 1_000 });");
      const path = (id: string) => `/v1/stations/${id}/observations.csv`;
      const download = `await download("${path("gull-harbor")}", "data.csv")`;
      const [line, card] = lineAndCardIn(await kernel.execute(download));
      assertEquals(line, "", "the line of progress is gone");
      assertMatch(
        card,
        /^● data\.csv · saved, \d{3}\.\d kB in (under 1|\d+) s\n {2}type: text\/csv/,
      );
      const quiet = download.replace('data.csv"', 'more.csv", { onProgress: () => {} }');
      assertEquals((await kernel.execute(quiet)).outputs.length, 1);

      const items = ["gull-harbor", "mill-plain", "nowhere"].map((
        id,
      ) => [path(id), `data/${id}.csv`]);
      const many = await kernel.execute(`await downloadAll(${JSON.stringify(items)})`);
      const [lineOfMany, cardOfMany, html] = lineAndCardIn(many);
      assertEquals(lineOfMany, "");
      assertMatch(cardOfMany, /^◐ 2 files saved, 1 failed · \d{3}\.\d kB in /);
      assertMatch(html, /2 files saved, 1 failed.*nowhere/s);

      // A prompt instead of the pause, so that the test can see what is on the screen meanwhile.
      await kernel.execute(`configure({ sleep: () => Promise.resolve(prompt("paused")) });`);
      sandbox.failures.push({ at: "api", status: 503, headers: { "retry-after": "5" }, times: 1 });
      const paused: string[] = [];
      const { outputs } = await kernel.execute(`(await fetchJson("/v1/stations")).length`, {
        onInput: async (_, __, outputs) => {
          while (outputs.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
          paused.push(JSON.stringify(outputs));
          return "";
        },
      });
      assertEquals(paused.length, 1);
      assertMatch(paused[0] ?? "", /Trying again in 5 s \(the API responded with 503\)/);
      const [pause, value] = outputs;
      assertEquals([pause && "data" in pause && pause.data, value?.output_type], [
        { "text/plain": "", "text/html": "" },
        "execute_result",
      ]);
    }),
);
