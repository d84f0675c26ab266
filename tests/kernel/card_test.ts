import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { repeatedPart } from "../support/canaries.ts";
import { inFolder } from "../support/child_deno.ts";
import { linesOf } from "../support/portless.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";
import { type CellResult, type Kernel, startKernel } from "./kernel.ts";

/** A kernel in an empty folder, with the settings of a sandbox in its environment. */
function onKernel(
  work: (kernel: Kernel, sandbox: Sandbox, folder: string) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    const env = settingsEnvironment(sandbox.settings);
    await using kernel = await startKernel({ cwd: folder, env });
    await work(kernel, sandbox, folder);
  });
}

Deno.test("status() and login() show as HTML and as text in their own cell, 20 times", () =>
  onKernel(async (kernel, sandbox, folder) => {
    const shown: string[] = [];
    await kernel.execute(importing("login, status"));
    for (let run = 1; run <= 20; run++) {
      const one = await kernel.execute(`await login({ force: ${run % 2 === 0} })`);
      const two = await kernel.execute("status()");
      for (const result of [one, two]) shown.push(cardIn(result));
    }
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const { password, clientSecret } = sandbox.settings;
    const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, password, clientSecret];
    assertEquals(repeatedPart(shown.join("\n"), secrets), undefined);
  }));

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

/** By this clock a second passes at each look, so that every piece is shown. */
const loginOnFastClock = (names: string) =>
  `${importing(names)}
  let ticks = 0;
  configure({ monotonic: () => ticks += 1_000 });
  await login();`;

Deno.test("a download shows one line, which is updated in place, and then its card", () =>
  onKernel(async (kernel) => {
    await kernel.execute(loginOnFastClock("configure, download, login"));
    const path = "/v1/stations/gull-harbor/observations.csv";
    const result = await kernel.execute(`await download("${path}", "data.csv")`);
    const [line, card] = lineAndCardIn(result);
    assertEquals(line, "", "the line is gone: the card says the rest");
    assertMatch(card, /^● data\.csv · saved, \d{3}\.\d kB in (under 1|\d+) s\n {2}type: text\/csv/);
    const quiet = `await download("${path}", "more.csv", { onProgress: () => {} })`;
    assertEquals((await kernel.execute(quiet)).outputs.length, 1);
  }));

Deno.test("many downloads show one line, which is updated in place, and then one card", () =>
  onKernel(async (kernel) => {
    await kernel.execute(loginOnFastClock("configure, downloadAll, login"));
    const result = await kernel.execute(`await downloadAll(
      ["gull-harbor", "mill-plain", "nowhere"]
        .map((id) => [\`/v1/stations/\${id}/observations.csv\`, \`data/\${id}.csv\`]),
    )`);
    const [line, card, html] = lineAndCardIn(result);
    assertEquals(line, "");
    assertMatch(card, /^◐ 2 files saved, 1 failed · \d{3}\.\d kB in /);
    assertMatch(html, /2 files saved, 1 failed.*nowhere/s);
  }));

Deno.test("a long pause shows one line under its cell, which is gone when it is over", () =>
  onKernel(async (kernel, sandbox) => {
    // A question in place of the pause: what is on the screen meanwhile can be looked at.
    await kernel.execute(`${importing("configure, fetchJson, login")}
      configure({ sleep: () => Promise.resolve(prompt("paused")) });
      await login();`);
    sandbox.failures.push({ at: "api", status: 503, headers: { "retry-after": "5" }, times: 1 });
    const seen: string[] = [];
    const result = await kernel.execute(`(await fetchJson("/v1/stations")).length`, {
      onInput: async (_, __, outputs) => {
        while (outputs.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
        seen.push(JSON.stringify(outputs));
        return "";
      },
    });
    assertMatch(seen.join(), /Trying again in 5 s \(the API answered 503\)/);
    assertEquals(seen.length, 1);
    const [line, value] = result.outputs;
    assertEquals([line && "data" in line && line.data, value?.output_type], [
      { "text/plain": "", "text/html": "" },
      "execute_result",
    ]);
  }));
